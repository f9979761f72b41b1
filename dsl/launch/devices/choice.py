"""Which device a run is on, by the name a user gives it. A device's module is imported when it is chosen."""

from __future__ import annotations

from dsl.launch.devices.protocol import Device


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
