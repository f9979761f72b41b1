"""What executes PTX: the protocol, and the choice between its implementations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Launch:
    """One launch, as cuLaunchKernelEx takes it: extents in blocks and threads, dynamic shared memory in bytes."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int] = (1, 1, 1)
    smem_bytes: int = 0
    stream: int = 0
    flags: int = 0  # COOPERATIVE | PROGRAMMATIC of core.trace


class Device(Protocol):
    """A device. Addresses are those kernels see; on the emulator they are host addresses.

    One that launches by machine code has also `launch_entry` and `native_calls` (addresses, as `cuda.Cuda` says), and
    `unread`, which it is given: who tells it, by `note()`, of launches it has not heard of.
    """

    kind: str  # "emulator" | "cuda"
    arch: str  # what kernels are compiled for unless the program says otherwise
    wants_storages: bool  # whether `register` has to hear of the device's own tensors (the default)

    def facts(self) -> dict:
        """{"kind", "name", "driver", "arch"}, as the harness records it."""

    def install(self) -> None:
        """Make the process ready for programs that say device="cuda"."""

    def uninstall(self) -> None:
        """Undo `install`."""

    def alloc(self, nbytes: int, label: str) -> int:
        """The address of new memory, whose name in reports is `label`."""

    def free(self, address: int) -> None:
        """Give back what `alloc` returned."""

    def copy(self, destination: int, source: int, nbytes: int) -> None:
        """Copy between host and device, either way or within."""

    def register(self, address: int, nbytes: int, label: str) -> None:
        """Kernels may touch this memory, until as many calls of `unregister`."""

    def unregister(self, address: int) -> None:
        """Take back one `register` of that address."""

    def load(self, ptx: str) -> Any:
        """A program to launch entries of."""

    def launch(self, program: Any, entry: str, launch: Launch, params: Sequence[bytes]) -> None:
        """Run `entry`; `params` are the bytes of each parameter. Errors may surface at `sync` only."""

    def sync(self) -> None:
        """Wait for every launch. Raises the error of any."""


# The outcome of a launch no GPU can run; a claim may be that it is refused.
INVALID_LAUNCH = {"outcome": "fault", "kind": "invalid_launch", "file": None, "line": None}


class DeviceError(Exception):
    """A device refused or failed; `name` is CUDA's, `repro_outcome` is set where a kernel failed while running."""

    def __init__(self, name: str, text: str, repro_outcome: dict | None = None):
        super().__init__(f"{name}: {text}")
        self.name = name
        if repro_outcome:
            self.repro_outcome = repro_outcome | {"text": str(self)}


class DeviceMissing(Exception):
    """No such device on this machine; the text says what is missing."""


def choose(kind: str | None = None) -> Device:
    """The device "emulator" or "cuda", or for None a CUDA device where there is one.

    "recording:ARCH:FOLDER" is the emulator, writing what it does into FOLDER; "playback:FOLDER" repeats what a GPU did
    with such a recording. Raises DeviceMissing for "cuda" on a machine without a driver or a GPU.
    """
    what, _, rest = (kind or "").partition(":")
    if what == "recording":
        from dsl.launch.devices.recording import Recording

        return Recording(*rest.split(":", 1))
    if what == "playback":
        from dsl.launch.devices.playback import Playback

        return Playback(rest)
    if kind in (None, "cuda"):
        from dsl.launch.devices import cuda

        if kind == "cuda" or cuda.present():
            return cuda.Cuda()
    if kind in (None, "emulator"):
        from dsl.launch.devices.emulated import Emulated

        return Emulated()
    raise ValueError(f"unknown device {kind!r}; known: emulator, cuda")
