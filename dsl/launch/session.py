"""A run observed: the device in use, and every kernel that was compiled and launched."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dsl.core.errors import DSLUserCodeError
from dsl.core.phrase import shown
from dsl.core.syntax import coverage
from dsl.exceptions import KernelFault
from dsl.interrupts import undisturbed
from dsl.launch import machine_code
from dsl.launch.devices import host_memory
from dsl.launch.devices.choice import choose
from dsl.launch.devices.exploration import Exploration
from dsl.launch.devices.protocol import Device, DeviceError, Launch, with_machine_code
from dsl.launch.every_order import Search, Standby, Tried
from dsl.lower import sass
from dsl.lower.ptx_identity import ptx_sha256

_CUDA_ERROR = re.compile(r"CUDA_ERROR_|cudaError")


@dataclass
class KernelRecord:
    """One compiled kernel: the text of its module at each stage, and its launches."""

    name: str
    arch: str
    mlir: str
    llvm: str
    ptx: str
    noted: list[dict] = field(default_factory=list)  # of the launches that Python knows of

    @property
    def launches(self) -> list[dict]:
        """Grid, block and shared memory of each launch, in order."""
        settle()
        return self.noted

    @property
    def sass(self) -> str:
        return machine_code.disassembly(machine_code.cubin(self.ptx, self.arch))

    @property
    def cuda(self) -> str:
        """The module as CUDA C++ to read. Raises DSLUserCodeError for what has no spelling there yet."""
        from dsl.launch.call.compiling.readable_text import cuda_source

        return cuda_source(self.mlir)

    def launched(self, grid: tuple, block: tuple, smem_bytes: int) -> None:
        """Note a launch of `grid` blocks of `block` threads."""
        self.noted.append({"grid": list(grid), "block": list(block), "smem_bytes": smem_bytes})


@dataclass
class Session:
    """The device programs run on, and the kernels they compiled, in order."""

    device: Device
    kernels: list[KernelRecord] = field(default_factory=list)
    elsewhere: Callable[[], KernelFault | None] | None = None  # gives a failure of another process
    _perturbation: Any = None  # the perturbation.Perturbation of the run
    _coverage: Any = None  # the coverage.Record of the run
    _orders: Any = None  # the orders.Orders of its launches
    _loaded: dict[tuple[str, str], KernelRecord] = field(default_factory=dict)  # by name and PTX

    def compiler_facts(self) -> dict:
        """Name and versions of the compiler."""
        return compiler_facts()

    def facts(self, sass: bool = False) -> dict:
        """The facts that a harness records: device, compiler and kernels, as JSON-able data.

        With `sass` also their machine code, and the version of the ptxas that made it; needs ptxas and nvdisasm.
        """
        table = {
            "device": self.device.facts(),
            "compiler": self.compiler_facts(),
            "kernels": [_kernel_facts(kernel, sass) for kernel in self.kernels],
        }
        return table | {"ptxas": self.ptxas()} if sass and self.kernels else table

    def ptxas(self) -> str:
        """The version of what makes machine code of our PTX. Raises ToolMissing."""
        return sass.version("ptxas")

    def launched_by_driver(self, name: str, program: Any, launch: Launch) -> None:
        """Note a launch of a kernel that another compiler made and the program loaded."""
        known = self._loaded.get((name, program.ptx))
        if known is None:
            known = self._loaded[name, program.ptx] = KernelRecord(name, self.device.arch, "", "", program.ptx)
            self.kernels.append(known)
        known.launched(launch.grid, launch.block, launch.smem_bytes)

    def compiled_elsewhere(self, names: list[str], ptx: str) -> None:
        """Note the kernels of a program that another process runs; nothing is known of its launches."""
        self.kernels += [KernelRecord(name, self.device.arch, "", "", ptx) for name in names]

    def cause(self, error: BaseException) -> BaseException:
        """The cause of an exception that left the program: the kernel that failed, or the exception itself, with the
        place of the warps where a signal stopped them."""
        failure = self._failure()
        if isinstance(error, KeyboardInterrupt):
            if self.device.stopped_at:
                error.add_note(self.device.stopped_at)
            return error
        if isinstance(failure, KernelFault) or (isinstance(failure, DeviceError) and failure.name in str(error)):
            return failure
        if failure is not None and _CUDA_ERROR.search(str(error)):
            error.add_note(str(failure))
        return error

    def schedule(self, seed: int) -> None:
        """Let threads run in an order that the seed chooses, where the device can; 0: as is fastest."""
        self.device.schedule(seed)

    def follow(self, schedule: str) -> None:
        """Let threads run by a schedule: a seed, and which of its decisions count (`7: 0-4 19`).

        Raises ValueError if the text is not a schedule, or if the device does not choose who runs.
        """
        self.device.follow(schedule)

    @property
    def followed(self) -> str:
        """The schedule that is followed, with the decisions of launches so far; "" where none is."""
        return self.device.followed

    @property
    def turns(self) -> int:
        """The number of decisions that the schedule had so far, of launches so far; 0 where none is followed."""
        return self.device.turns

    def perturb(self, text: str) -> None:
        """Put delays into the kernels that are loaded from now on: the delays of `seed 5`, or of a list.

        Raises ValueError for a list that cannot be read, or for a device that cannot perturb kernels.
        """
        from dsl.perturbation import perturbation

        self._perturbation = perturbation.of(text)
        self.device.perturb(self._perturbation)

    def perturbed(self) -> dict | None:
        """{"sites", "delays"}: how many places for delays the kernels have that were loaded, and the delays, a line
        each. None where no kernel was loaded, or no delays were asked for."""
        used = self._perturbation
        return None if used is None or not used.modules else {"sites": used.sites, "delays": used.described()}

    def announce(self, write: Callable[[str], None]) -> None:
        """Let `write` get a sentence of each kernel that runs for long, where the device can tell."""
        self.device.announce = write

    def look_for(self, checks: str) -> None:
        """Set what the device looks for in later launches, if it can: `race,undefined`, `all` or `none`.

        Raises ValueError for a check that there is not.
        """
        self.device.look_for(checks)

    def warn_of_host_memory(self) -> None:
        """Let the device warn where a kernel gets pageable memory of the host, which a GPU cannot access."""
        self.device.react_to_host_memory(host_memory.WARNED)

    def refuse_host_memory(self) -> None:
        """Let such launches fail, as they do on a GPU."""
        self.device.react_to_host_memory(host_memory.REFUSED)

    def explore(self, bound: int) -> Exploration:
        """Let later launches give each outcome that the PTX memory model allows. Raises ValueError: only the emulator
        can."""
        return self.device.explore(bound)

    def note_orders(self) -> None:
        """Note of later launches whether they may do another thing in another order of their threads.

        Raises ValueError: only the emulator can."""
        self._orders = self.device.note_orders()

    def other_orders(
        self, call: Callable[[], Any], first: Any, kind: Callable[[BaseException], str], seconds: float, seed: int
    ) -> Tried:
        """Run the program in other orders of its threads: see every_order.Search, whose arguments these are."""
        return Search(self, self._orders, call, first, kind).run(seconds, seed)

    def standby(self, work: Callable[[], bool]) -> Standby:
        """A process that can run the program once more; see every_order.Standby."""
        return Standby(self._orders, work)

    def seek_redundancy(self) -> None:
        """Find synchronisation that later launches do not need. Raises ValueError: only the emulator can."""
        self.device.seek_redundancy()

    def report_redundancy(self) -> None:
        """End that, and warn of what was found."""
        self.device.report_redundancy()

    def follow_open_results(self) -> None:
        """Let the device follow what the PTX ISA leaves open, where it can."""
        self.device.follow_open_results()

    def open_results(self, address: int | None, size_bytes: int) -> list[dict] | None:
        """On which open results this memory depends (see Device.open_results)."""
        return self.device.open_results(address, size_bytes)

    def open_decisions(self) -> list[dict]:
        """The places in which kernels decided by open results (see Device.open_decisions)."""
        return self.device.open_decisions()

    def cover(self, source: str, file: str) -> Any:
        """Record which lines and branches of functions run that are compiled from now on; returns what Python has to
        compile in the place of `source`."""
        self._coverage = coverage.begin()
        self.device.register(self._coverage.address, self._coverage.size_bytes, "the notes of --coverage")
        return coverage.program_with_notes(source, file)

    def covered(self) -> dict[str, dict[str, list[int]]]:
        """The lines that ran so far, by file (see coverage.Record.reached)."""
        return self._coverage.reached()

    def check(self) -> None:
        """Raises what a launch raised and the program did not let through."""
        failure = self._failure()
        if isinstance(failure, KernelFault):
            raise failure

    def _failure(self) -> BaseException | None:
        return (self.elsewhere and self.elsewhere()) or self.device.failure

    def swallowed(self) -> KernelFault | None:
        """The last failure of a kernel that the program knows of and went on after."""
        return KernelFault.last

    def has_printed(self, error: BaseException) -> bool:
        """Whether the program's stderr has the text of this error."""
        return error is self.device.printed

    def close(self) -> None:
        """Undo the device's mappings."""
        self.device.uninstall()

    def show(self, stage: str) -> str:
        """Text of `stage` (mlir, cuda, llvm, ptx, sass) of every module, each once."""
        return texts(self.kernels, stage)


def texts(kernels: list[KernelRecord], stage: str) -> str:
    """Text of `stage` of the modules of `kernels`, each once."""
    lines = dict.fromkeys(getattr(kernel, stage) for kernel in kernels)
    return "\n".join(lines) if lines else f"no kernel was compiled, so there is no {stage}"


def _kernel_facts(kernel: KernelRecord, sass: bool) -> dict:
    return {
        "name": kernel.name,
        "arch": kernel.arch,
        "ptx": kernel.ptx,
        "ptx_sha256": ptx_sha256(kernel.ptx),
        "sass": kernel.sass if sass else None,
        "launches": kernel.launches,
    }


def compiler_facts() -> dict:
    """Name and versions of this compiler and of what it is made of."""
    return {
        "name": "ours",
        "version": _version("gpu-repro"),
        "llvm": f"llvmlite {_version('llvmlite')}",
        "mlir": f"torch-mlir {_version('torch-mlir')}",
    }


@functools.cache
def _version(package: str) -> str:
    import importlib.metadata  # a tenth of the time that starting takes

    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


_current: list[Session] = []


def settle() -> None:
    """Note the launches that machine code made since anybody looked."""
    for function in list(with_machine_code):
        function.settle()


def _retire() -> None:
    """Drop what machine code keeps of the running session's device."""
    for function in list(with_machine_code):
        function.retire()


def start(device: str | None = None) -> Session:
    """Begin observing with device "emulator", "cuda" or None (a CUDA device where there is one).

    On the emulator torch's cuda device is mapped to host memory until `stop`.
    """
    stop()
    return begin(Session(choose(device)))


def begin(run: Session) -> Session:
    """Observe with this session, whose device's mappings hold until `stop`."""
    _retire()
    undisturbed(_begin, run)
    return run


def _begin(run: Session) -> None:
    _current.append(run)
    run.device.hears = run.launched_by_driver
    run.device.install()


def stop() -> None:
    """End the session, if there is one, and undo the device's mappings."""
    _retire()
    while _current:
        undisturbed(lambda: _current.pop().close())


def current() -> Session:
    """The running session; one on the default device is started where there is none."""
    return _current[-1] if _current else start(None)


def is_current(run: Session) -> bool:
    """Whether `run` is the running session."""
    return bool(_current) and _current[-1] is run


# --- the driver, as far as host programs touch it -------------------------------------------------------------------


class CUstream(int):
    """A stream's handle."""


def initialize_cuda_context(device_id: int = 0, flags: int = 0) -> None:
    """Choose the device, where none is chosen yet. There is one: `device_id` 0."""
    refuse_other_device(device_id)
    current()


def refuse_other_device(device_id: int) -> None:
    if device_id != 0:
        raise DSLUserCodeError(
            f"device_id must be 0, got {shown(device_id)}: there is one device here", fix="device_id=0"
        )


def default_stream() -> CUstream:
    """The stream that launches go to."""
    return CUstream(0)


def torch_stream() -> CUstream:
    """The stream that torch launches its own kernels to."""
    import torch

    return CUstream(torch.cuda.current_stream().cuda_stream if torch.cuda.is_available() else 0)


def stream_sync(stream: Any = None) -> None:
    """Wait for every launch."""
    current().device.sync()
