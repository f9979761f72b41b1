"""The base class of devices, which execute PTX, a launch, and errors of devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from dsl import gpu_models
from dsl.exceptions import KernelFault, OutcomeError

if TYPE_CHECKING:
    from dsl.launch.devices.exploration import Exploration
    from dsl.launch.devices.orders import Orders
    from dsl.perturbation.perturbation import Perturbation


@dataclass(frozen=True)
class Launch:
    """One launch, as cuLaunchKernelEx takes it: extents in blocks and threads, dynamic shared memory in bytes."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int] = (1, 1, 1)
    smem_bytes: int = 0
    stream: int = 0
    flags: int = 0  # COOPERATIVE | PROGRAMMATIC | EVENTS of core.trace
    events: tuple[int, int] = (0, 0)  # handles: when all blocks run, when all have let dependent kernels start; 0: none


class Device:
    """A device. Addresses are those kernels see; on the emulator they are host addresses.

    The first part is every device's (by default there is nothing to map and to register); what follows is optional.
    """

    kind: str  # "emulator" | "cuda"
    arch: str  # the target of kernels unless the program names another
    limits = gpu_models.limits_of(gpu_models.DEFAULT)

    def facts(self) -> dict:
        """{"kind", "name", "driver", "arch"}, as the harness records it."""
        raise NotImplementedError

    def install(self) -> None:
        """Make the process ready for programs that use device="cuda"."""

    def uninstall(self) -> None:
        """Undo `install`."""

    def alloc(self, nbytes: int, label: str) -> int:
        """The address of new memory, whose name in reports is `label`."""
        raise NotImplementedError

    def free(self, address: int) -> None:
        """Give back what `alloc` returned."""
        raise NotImplementedError

    def copy(self, destination: int, source: int, nbytes: int) -> None:
        """Copy between host and device, either way or within."""
        raise NotImplementedError

    def register(self, address: int, nbytes: int, label: str) -> None:
        """Kernels may touch this memory, until as many calls of `unregister`."""

    def unregister(self, address: int) -> None:
        """Take back one `register` of that address."""

    def load(self, ptx: str) -> Any:
        """A program to launch entries of."""
        raise NotImplementedError

    def launch(self, program: Any, entry: str, launch: Launch, params: Sequence[bytes]) -> None:
        """Run `entry`; `params` are the bytes of each parameter. Errors may surface at `sync` only."""
        raise NotImplementedError

    def sync(self) -> None:
        """Wait for every launch. Raises the error of any."""
        raise NotImplementedError

    def lend(self, storages: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
        """Hear of memory (address, bytes, parameter) that a program passes without a copy; returns what of it is
        pageable memory of the host, until `take_back`."""
        return []

    def take_back(self, lent: Sequence[tuple[int, int, str]]) -> None:
        """The call is over that `lend` was for."""

    def react_to_host_memory(self, reaction: int) -> None:
        """Set how to react if a kernel gets such memory (host_memory), if the device can access it."""

    # --- what a program that launches through CUDA's own functions does not see ---------------------------------------

    failure: BaseException | None = None  # what such a function failed of; the program got the number of an error
    stopped_at = ""  # where the warps of a launch were that a signal ended, whose handler runs later

    def failed(self, error: BaseException) -> None:
        """Note why a function failed. The first kernel that failed counts: a GPU's context is lost after it."""
        if not isinstance(self.failure, KernelFault):
            self.failure = error

    printed: BaseException | None = None  # the last error whose text the program's stderr has

    # --- optional: what a run may ask of a device ---------------------------------------------------------------------

    capsules_say_cuda = False  # whether DLPack capsules of mapped tensors name a CUDA device
    wants_storages = True  # whether `register` has to hear of the device's own tensors
    perturbation: Perturbation | None = None  # the delays of a run
    hears: Callable[[str, Any, Launch], None] | None = None  # of each launch by a function of the driver
    announce: Callable[[str], None] | None = None  # what gets a sentence of a kernel that runs for long

    def schedule(self, seed: int) -> None:
        """Run the threads of later launches in an order that the seed chooses; 0: as is fastest."""

    def follow(self, schedule: str) -> None:
        """Run the threads of later launches by a schedule (`7: 0-4 19`). Raises ValueError."""
        raise ValueError("a GPU runs threads in no order that can be chosen; use --device emulator")

    @property
    def followed(self) -> str:
        """The schedule that is followed, with the decisions of launches so far; "" where none is."""
        return ""

    @property
    def turns(self) -> int:
        """The number of decisions that the schedule had so far; 0 where none is followed."""
        return 0

    def perturb(self, perturbation: Perturbation) -> None:
        """Put delays into the programs that are loaded from now on."""
        self.perturbation = perturbation

    def delayed(self, ptx: str) -> str:
        """The program to load for a PTX text. Raises DeviceError where delays cannot be put into it."""
        if self.perturbation is None:
            return ptx
        try:
            return self.perturbation.applied(ptx)
        except ValueError as error:
            raise DeviceError("DELAYS", str(error), {"outcome": "infra"}) from None

    def look_for(self, checks: str) -> None:
        """Look for these mistakes in later launches: `race,undefined`, `all` or `none`. Raises ValueError."""

    def explore(self, bound: int) -> Exploration:
        """Run later launches by the PTX memory model; see exploration.py. Raises ValueError where nothing can."""
        raise ValueError("a GPU shows one outcome a run; the emulator finds all: leave out --device cuda")

    def note_orders(self) -> Orders:
        """Note of later launches whether they may do another thing in another order of their threads. Raises ValueError
        if the device does not choose who runs."""
        raise ValueError("a GPU orders threads by itself; the emulator can try orders: leave out --device cuda")

    def seek_redundancy(self) -> None:
        """Find synchronisation that later launches do not need; see redundancy.py. Raises ValueError where nothing can
        leave it out."""
        raise ValueError("only the emulator can leave synchronisation out: leave out --notes or --device cuda")

    def report_redundancy(self) -> None:
        """End that, and warn of what was found."""

    def follow_open_results(self) -> None:
        """Follow in later launches what the PTX ISA leaves open, where the device computes by its own choice there."""

    def open_results(self, address: int | None, size_bytes: int) -> list[dict] | None:
        """The instructions on whose open results this memory depends; for None what the host may have read.

        Each is {"instruction", "file", "line", "bound", "relative", "absolute"}, the last two the largest error or
        None. None if the device does not follow them: its results are the results of the chip.
        """
        return None

    def open_decisions(self) -> list[dict]:
        """The places in which kernels decided by such results: {"what": "branch" | "loop" | "address" | "count",
        "instruction", "file", "line", "through"}, the last as of open_results."""
        return []

    def param_bytes(self, program: Any, entry: str) -> list[int]:
        """The size of each parameter of a kernel."""
        raise NotImplementedError

    def multiprocessors(self) -> int:
        return self.limits.multiprocessors

    def l2_cache_bytes(self) -> int:
        return self.limits.l2_bytes

    # --- optional: launches by machine code, see native_launch --------------------------------------------------------

    launch_entry: int | None = None  # the address of machine code that launches; None: each launch calls Python
    native_calls: tuple[int, int, int] | None = None  # what machine code calls for `begin` (address, argument), `sync`
    ends_launches_later = False  # whether it has use for `begin`, `launched` and `unread`
    unread: Any = None  # given: the last call's frame, whose `note` tells of launches the device has not heard of

    def begin(self) -> None:
        """Before machine code launches."""

    def launched(self, entry: str, launch: Launch) -> None:
        """Hear of a launch that machine code made."""

    def refused(self, code: int) -> BaseException:
        """The error of the last launch, which machine code made and which returned `code`."""
        raise NotImplementedError

    def function(self, program: Any, entry: str, launch: Launch) -> tuple[int, int]:
        """What `launch_entry` launches a kernel by that was launched like this (0: nothing yet), and the dynamic shared
        memory it may have, in bytes. It is valid as long as the program."""
        raise NotImplementedError


# The outcome of a launch no GPU can run; a claim may be that it is refused.
INVALID_LAUNCH = {"outcome": "fault", "kind": "invalid_launch", "file": None, "line": None}


# Objects that launch without Python: `settle` notes such launches, `retire` does before the device goes.
with_machine_code: WeakSet[Any] = WeakSet()


class DeviceError(OutcomeError):
    """A device refused or failed; `name` is CUDA's name, `repro_outcome` is set if a kernel failed while running."""

    def __init__(self, name: str, text: str, repro_outcome: dict | None = None):
        super().__init__(f"{name}: {text}")
        self.name = name
        if repro_outcome:
            self.repro_outcome = repro_outcome | {"text": str(self)}

    @property
    def error_code(self) -> Any:
        """The error as `cudaError_t` of cuda.bindings.runtime, which has the numbers of the driver."""
        from cuda.bindings import driver, runtime

        own = getattr(runtime.cudaError_t, self.name, None)
        return runtime.cudaError_t(getattr(driver.CUresult, self.name).value) if own is None else own


class DeviceMissing(Exception):
    """No such device on this machine; the text names what is missing."""
