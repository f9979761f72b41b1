"""The emulator as a device. Device memory is host memory."""

from __future__ import annotations

import atexit
import ctypes
import functools
import math
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dsl import environment_variables as variables, gpu_models, native_library
from dsl.core.trace import COOPERATIVE, PROGRAMMATIC
from dsl.launch import disk_cache, tilelang_programs, triton_variables
from dsl.launch.devices import native_launch
from dsl.launch.devices.exploration import Exploration
from dsl.launch.devices.host_memory import HostMemory, Storage
from dsl.launch.devices.orders import Orders
from dsl.launch.devices.protocol import INVALID_LAUNCH, Device, DeviceError, DeviceMissing, Launch
from dsl.launch.devices.redundancy import BUDGET_S, Redundancy
from dsl.launch.devices.torch_mapping import torch_cuda

if TYPE_CHECKING:
    from dsl import emulator
    from dsl.emulator.check.accesses import Accesses
    from dsl.perturbation.perturbation import Perturbation


CHECKS = ("race", "undefined")


class Emulated(Device):
    """PTX run on this CPU; an H100 to programs that ask, or the model of Blackwell that is chosen. Raises
    native_library.BuildError where its C++ cannot run."""

    kind = "emulator"
    capsules_say_cuda = False  # whether DLPack capsules of mapped tensors name a CUDA device

    def __init__(self):
        native_library.here()
        self._undo_torch = None
        self._undo_variables: Callable[[], None] = lambda: None
        self._earlier: dict[int, Any] = {}  # by stream, of its last launch if the next one may overlap it
        self._seed = self._launches = 0
        self._decisions: emulator.Decisions | None = None
        self.orders: Orders | None = None  # while launches are noted
        self._checks = checks_of(variables.value(variables.CHECK))
        self.gpu_model = _gpu_model(variables.value(variables.GPU_MODEL))
        self._is_model_chosen = bool(variables.value(variables.GPU_MODEL))
        if not self._is_model_chosen:
            self.gpu_model = gpu_models.model_for(os.environ.get("CUTE_DSL_ARCH", ""))
        self._of_modules: str | None = None  # of Blackwell, that the last module needed
        self.limits = gpu_models.limits_of(self.gpu_model)
        self.arch = self.limits.arch
        self._arrays: Any = None  # the Arrays of the run, where open results are followed
        self._kept: dict[str, frozenset] = {}  # by program: what of its machine code the disk cache has
        self.host_memory = HostMemory()
        self._captured: Callable[[Callable[[], None]], None] | None = None
        self.exploration: Exploration | None = None  # of the outcomes of launches, where they are explored
        self.redundancy: Redundancy | None = None  # while synchronisation is sought that nothing needs
        # of each launch that is checked for races: the program, the entry, its accesses
        self.accessed: Callable[[emulator.Program, str, Accesses], None] | None = None

    @functools.cached_property
    def memory(self) -> emulator.Memory:
        """The memory that kernels may touch. Made on first use: a program that only compiles needs no emulator."""
        from dsl import emulator

        emulator.keep_in(disk_cache.current)
        memory = emulator.Memory()
        memory.watch(self._is_watched)
        return memory

    def facts(self) -> dict:
        """The facts of every device, and `gpu_model`: the GPU whose arithmetic this one follows."""
        model = self._of_modules or self.gpu_model
        arch = gpu_models.limits_of(self._of_modules).arch if self._of_modules else self.arch
        about = {"kind": self.kind, "name": _named(model), "driver": None, "arch": arch}
        return about | {"gpu_model": model or gpu_models.DEFAULT}

    @property
    def name(self) -> str:
        return _named(self.gpu_model)

    @property
    def half_sums(self) -> tuple[int, int]:
        """How many products of halves the tensor cores sum at once, and the fraction bits that aligned terms keep."""
        from dsl.emulator.tensor_core import tensor_core

        core = tensor_core.of_gpu(self.gpu_model or gpu_models.DEFAULT)
        return (8 if core.splits else 16), core.fraction_bits

    def install(self) -> None:
        """Map torch's cuda device to host memory, and answer cuda.bindings."""
        if self._undo_torch is None:
            if self.gpu_model:  # the driver's C++ reads it
                self._undo_variables = variables.replaced({variables.GPU_MODEL: self.gpu_model})
            self._undo_torch = torch_cuda.install(self, self.capsules_say_cuda)
            self._undo_driver = _answer_driver_calls(self)

    def uninstall(self) -> None:
        if self._undo_torch is not None:
            self._undo_driver()
            self._undo_torch()
            self._undo_torch = None
            self._undo_variables()
        self._undo_variables: Callable[[], None] = lambda: None

    def schedule(self, seed: int) -> None:
        """Run blocks, warps and lanes of later launches in an order that the seed chooses; 0: as is fastest."""
        self._seed, self._launches, self._decisions, self._earlier = seed, 0, None, {}
        self._watch()

    def follow(self, schedule: str) -> None:
        """Run them by a schedule: a seed, and which of its decisions count. Raises ValueError."""
        from dsl import emulator

        decisions = emulator.Decisions.of(schedule)
        self.schedule(decisions.seed)
        self._decisions = decisions

    @property
    def followed(self) -> str:
        return str(self._decisions) if self._decisions is not None else ""

    @property
    def turns(self) -> int:
        return self._decisions.taken if self._decisions is not None else 0

    @property
    def checks(self) -> tuple[str, ...]:
        """The mistakes that are looked for in launches."""
        return self._checks

    def look_for(self, checks: str) -> None:
        """Look for these in later launches (see `checks_of`). Raises ValueError."""
        self._checks = checks_of(checks)
        self._watch()

    def perturb(self, perturbation: Perturbation) -> None:
        """Put delays into programs and run threads in the order of the perturbation. A delay is counted in accesses of
        other threads."""
        super().perturb(perturbation)
        self.schedule(perturbation.order)

    def _watch(self) -> None:
        """Let Python make each launch that is checked or has a seed."""
        if "memory" in vars(self):
            self.memory.watch(self._is_watched)

    @property
    def _is_watched(self) -> bool:
        is_perturbed = self.perturbation is not None
        is_asked = self._seed or self._checks or self._captured or self.exploration or self.orders or self.redundancy
        return bool(is_asked or self._arrays is not None or is_perturbed)

    @property
    def captured(self) -> Callable[[Callable[[], None]], None] | None:
        """A function that gets each launch, as a function that makes it, in place of making it; None: it is made."""
        return self._captured

    @captured.setter
    def captured(self, steps: Callable[[Callable[[], None]], None] | None) -> None:
        self._captured = steps
        self._watch()

    @property
    def can_capture(self) -> bool:
        return type(self).launch is Emulated.launch

    def explore(self, bound: int) -> Exploration:
        self.exploration = Exploration(bound)
        self._watch()
        return self.exploration

    def note_orders(self) -> Orders:
        self.orders = Orders()
        self._watch()
        return self.orders

    def seek_redundancy(self) -> None:
        self.redundancy = Redundancy(BUDGET_S, lambda: self.announce)
        self._watch()

    def report_redundancy(self) -> None:
        found, self.redundancy = self.redundancy, None
        if found is not None:
            found.report()

    def follow_open_results(self) -> None:

        from dsl.emulator.dependence.arrays import Arrays

        self._arrays = Arrays()
        self._watch()

    def open_results(self, address: int | None, size_bytes: int) -> list[dict] | None:
        return None if self._arrays is None else [each.as_table() for each in self._arrays.of(address, size_bytes)]

    def open_decisions(self) -> list[dict]:
        return [] if self._arrays is None else self._arrays.decisions()

    def alloc(self, nbytes: int, label: str) -> int:
        return self.memory.alloc(nbytes, label)

    def free(self, address: int) -> None:
        self.memory.free(address)

    def copy(self, destination: int, source: int, nbytes: int) -> None:
        ctypes.memmove(destination, source, nbytes)

    def register(self, address: int, nbytes: int, label: str) -> None:
        """The last label counts: a torch tensor is called as the parameter it is passed for, while it is."""
        self.memory.register(address, nbytes, label)

    def unregister(self, address: int) -> None:
        self.memory.unregister(address)

    def lend(self, storages: Sequence[Storage]) -> list[Storage]:
        return self.host_memory.lend(storages, self.memory)

    def take_back(self, lent: Sequence[Storage]) -> None:
        self.host_memory.take_back(lent)

    def react_to_host_memory(self, reaction: int) -> None:
        self.host_memory.reaction = reaction

    def load(self, ptx: str) -> emulator.Program:
        self._check_target(ptx)
        if self.perturbation is not None:
            return self._load(self.delayed(ptx))
        disk = disk_cache.current()
        if disk is None:
            return self._load(ptx)
        from_disk: bytes | None = None

        def stored() -> bytes | None:
            nonlocal from_disk
            from_disk = disk.get(self._key(ptx))
            return from_disk

        program = self._load(ptx, stored)
        if from_disk is not None:
            self._kept[program.sha256] = program.compiled
        return program

    def _check_target(self, ptx: str) -> None:
        """Raise DeviceError for a module of another architecture; tell of a model that the module chose."""
        model = self._model_of(ptx)
        refused = gpu_models.refusal(ptx, gpu_models.limits_of(model).arch)
        if refused:
            raise DeviceError("CUDA_ERROR_INVALID_PTX", refused)
        if model in gpu_models.BLACKWELL and not self._is_model_chosen and model != self._of_modules:
            self._of_modules = model
            if self.announce is not None:
                target = gpu_models.target_of(ptx)
                self.announce(f"the program is built for {target} and runs on a {model}; --gpu-model chooses another")

    def _model_of(self, ptx: str) -> str | None:
        """The model that a module runs on: the chosen one, or one that has its .target."""
        if self._is_model_chosen:
            return self.gpu_model
        return gpu_models.model_for(gpu_models.target_of(ptx)) or self.gpu_model

    def _load(self, ptx: str, stored: Callable[[], bytes | None] = lambda: None) -> emulator.Program:
        from dsl import emulator

        return emulator.load(ptx, stored, self._model_of(ptx) or gpu_models.DEFAULT)

    def _key(self, ptx: str) -> bytes:
        """The key of a program's machine code in the disk cache."""
        from dsl import emulator

        return b"emulator\0" + emulator.object_key(ptx, self._model_of(ptx) or gpu_models.DEFAULT).encode()

    def _keep(self, program: emulator.Program) -> None:
        """Put machine code that was made here into the disk cache, once every entry of the module has some."""
        if self.perturbation is not None:
            return
        compiled = program.compiled
        runs = program.entries.keys() - program.refused
        if self._kept.get(program.sha256) != compiled and {name for name, *_ in compiled} == runs:
            self._kept[program.sha256] = compiled
            disk = disk_cache.current()
            if disk is not None:
                disk.put(self._key(program.ptx), program.object_bytes())

    def param_bytes(self, program: emulator.Program, entry: str) -> list[int]:
        """The size of each parameter."""
        return [param.size_bytes for param in program.entries[entry].params]

    def launch(self, program: emulator.Program, entry: str, launch: Launch, params: Sequence[bytes]) -> None:
        if self._captured is None:
            self._launch(program, entry, launch, params)
        else:
            self._captured(functools.partial(self._launch, program, entry, launch, params))

    def check(self, program: emulator.Program, entry: str, launch: Launch, params: Sequence[bytes]) -> None:
        """Raise DeviceError for a launch that a GPU would refuse."""
        from dsl import emulator

        self._check_resident(program, entry, launch)
        row = program.entries[entry]
        try:
            emulator.check_shape(
                row, launch.grid, launch.block, launch.cluster, params, launch.smem_bytes, program.limits
            )
        except ValueError as error:
            raise _invalid(entry, error) from None

    def _check_resident(self, program: emulator.Program, entry: str, launch: Launch) -> None:
        from dsl import emulator

        if launch.flags & COOPERATIVE:
            smem_bytes = program.entries[entry].static_smem_bytes + launch.smem_bytes
            blocks, most = math.prod(launch.grid), emulator.resident_blocks(launch.block, smem_bytes, program.limits)
            if blocks > most:
                raise DeviceError(
                    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
                    f"launch of `{entry}`: {blocks} blocks are to run at once; of this shape the device holds {most}",
                    INVALID_LAUNCH,
                )

    def _launch(self, program: emulator.Program, entry: str, launch: Launch, params: Sequence[bytes]) -> None:
        self._check_resident(program, entry, launch)
        self.host_memory.look(entry, params, self.memory)
        if self.exploration is not None:
            return self.exploration.launch(program, entry, launch, params, self.memory)
        self._launches += 1
        if self.orders is not None:
            self.orders.launch(program, entry, launch)
            program = self.orders.chosen(program)
        if self._arrays is not None:
            self._arrays.launch(program, entry, params, self.memory)
        run = functools.partial(self._run, entry=entry, launch=launch, params=params)
        if self.redundancy is not None:
            self.redundancy.launch(program, entry, launch, self.memory, run)
        seed = self._seed * 1_000_003 + self._launches if self._seed else 0
        try:
            self._run(
                program,
                seed,
                entry=entry,
                launch=launch,
                params=params,
                announce=self.announce,
                checks=self._checks,
                gives_way=self.perturbation is not None,
                decisions=self._decisions,
                earlier=self._overlapped(launch),
                leaves=self._leaves(program, entry, launch),
                accessed=functools.partial(self.accessed, program, entry) if self.accessed else None,
            )
        except ValueError as error:
            raise _invalid(entry, error) from None
        finally:
            if self.orders is None or not self.orders.peeks_fail:
                self._keep(program)
        if self._arrays is not None:
            self._arrays.ended(program, entry)
        for event in filter(None, launch.events):
            _record(event, launch.stream)

    def _run(
        self, program: emulator.Program, seed: int, write: Callable[[str], None] | None = None, *, entry: str,
        launch: Launch, params: Sequence[bytes], checks: tuple[str, ...] = CHECKS, **more: Any,
    ) -> None:  # fmt: skip
        from dsl import emulator

        emulator.launch(
            program,
            entry,
            launch.grid,
            launch.block,
            list(params),
            self.memory,
            smem_bytes=launch.smem_bytes,
            cluster=launch.cluster,
            write=write,
            seed=seed,
            checks=checks,
            cooperative=bool(launch.flags & COOPERATIVE),
            **more,
        )

    def _overlapped(self, launch: Launch) -> Any:
        """The footprint of the last launch in the stream if this one may overlap it."""
        earlier = self._earlier.pop(launch.stream, None)
        return earlier if launch.flags & PROGRAMMATIC else None

    def _leaves(self, program: emulator.Program, entry: str, launch: Launch) -> Callable[[Any], None] | None:
        """A function that keeps the footprint of the launch if its kernel lets the next one begin."""
        if entry not in program.letting_next_begin:
            return None
        return functools.partial(self._earlier.__setitem__, launch.stream)

    # --- launches that machine code makes (native_launch): those that are kept ready to be made again ---

    @functools.cached_property
    def launch_entry(self) -> int | None:
        """The address of machine code that launches; None for a kind of device that does more at each launch."""
        if not self.can_capture:
            return None
        self._native = native_launch.entry_by_handle()
        return self._native[0]

    def function(self, program: emulator.Program, entry: str, launch: Launch) -> tuple[int, int]:
        """The handle of a kernel that was launched like this (0: none), and the shared memory it is for, in bytes."""
        from dsl import emulator

        if launch.flags & COOPERATIVE:  # each launch starts with a fresh workspace
            return 0, launch.smem_bytes
        sizes = tuple(self.param_bytes(program, entry))
        shape = entry, launch.grid, launch.block, launch.cluster, launch.smem_bytes, sizes
        return emulator.handle(program, shape, self.memory), launch.smem_bytes

    def refused(self, code: int) -> BaseException:
        """The error of a failed launch that machine code made."""
        from dsl import emulator

        return emulator.failure_of(code)

    def sync(self) -> None:
        """Nothing to wait for: a launch returns when its kernel has."""


def _record(event: int, stream: int) -> None:
    """Record an event of a launch that has ended. Raises DeviceError if it is not an event."""
    from cuda.bindings import driver

    (status,) = driver.cuEventRecord(driver.CUevent(event), driver.CUstream(stream))
    if status.value:
        raise DeviceError(status.name, "a launch has an event that is none")


def _named(model: str | None) -> str:
    return f"PTX emulator ({model})" if model else "PTX emulator"


def _gpu_model(name: str) -> str | None:
    """The GPU whose tensor cores the emulator computes as; None: an H100. Raises DeviceMissing for an unknown one."""
    if not name:
        return None
    from dsl.emulator.tensor_core import tensor_core

    try:
        tensor_core.of_gpu(name)
    except ValueError as error:
        raise DeviceMissing(str(error)) from None
    return None if name == gpu_models.DEFAULT else name


@functools.cache
def _end_with_python() -> None:
    """Let machine code take the driver over at exit. Functions that the program registers run before that: it asks here
    before the program can."""

    def end() -> None:
        libraries: Any = sys.modules.get("dsl.launch.driver.library")
        if libraries is not None:
            libraries.end()

    atexit.register(end)


def _answer_driver_calls(device: Emulated) -> Callable[[], None]:
    """Let what calls the driver use a device, now or when it is imported; returns what ends that."""
    _end_with_python()
    undo: list[Callable[[], None]] = []

    @functools.cache
    def driver() -> None:
        from dsl.launch.driver import library

        undo.append(library.install(device))

    def bindings(_: object) -> None:
        driver()

    def of_triton(_: object) -> None:
        driver()
        undo.append(triton_variables.prepare(disk_cache.folder()))

    def of_tilelang(_: object) -> None:
        driver()
        undo.append(tilelang_programs.prepare(disk_cache.folder()))

    for name, use in (("cuda.bindings", bindings), ("triton", of_triton), (tilelang_programs.PACKAGE, of_tilelang)):
        if name in sys.modules:
            use(None)
        else:
            finder = torch_cuda.AfterImport(name, use)
            sys.meta_path.insert(0, finder)
            undo.append(functools.partial(_remove, finder))

    def end() -> None:
        while undo:
            undo.pop()()

    return end


def _remove(finder: torch_cuda.AfterImport) -> None:
    if finder in sys.meta_path:
        sys.meta_path.remove(finder)


def _invalid(entry: str, error: ValueError) -> DeviceError:
    return DeviceError("CUDA_ERROR_INVALID_VALUE", f"launch of `{entry}`: {error}", INVALID_LAUNCH)


def checks_of(text: str) -> tuple[str, ...]:
    """The checks that a text names: `race,undefined`, `all` or `none` (so does an empty text). Raises ValueError."""
    names = [each.strip() for each in text.split(",") if each.strip()]
    if names in ([], ["none"]):
        return ()
    if names == ["all"]:
        return CHECKS
    wrong = [each for each in names if each not in CHECKS]
    if wrong:
        raise ValueError(f"unknown check `{wrong[0]}`; write all, none, or some of {', '.join(CHECKS)}")
    return tuple(each for each in CHECKS if each in names)
