"""A launch that a device refuses when the program runs: the author's line, what is wrong, and the fix."""

from __future__ import annotations

import re

from dsl import span
from dsl.core.traced_program import Kernel
from dsl.exceptions import finding
from dsl.launch.call.limits.launch_limits import wrong_extents
from dsl.launch.devices.protocol import INVALID_LAUNCH, DeviceError, Launch
from dsl.span import Span

_FIXES = {
    "CUDA_ERROR_INVALID_VALUE": "print the extents and `smem` of the launch, and compare them with the device's limits",
    "CUDA_ERROR_INVALID_CLUSTER_SIZE": "at most 8 blocks a cluster, and a grid that is a multiple of it",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": "fewer threads a block, or max_number_threads= to bound the registers",
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": "a smaller grid: all blocks of a cooperative launch run at once",
}


class LaunchRefused(DeviceError):
    """A refused launch, at the author's line. `kernel`: its name in the message; `allowed`: the extents that GPUs have,
    if they are what is wrong."""

    def __init__(self, name: str, place: Span, message: str, fix: str, kernel: str, allowed: str = ""):
        super().__init__(name, message)
        self.place, self.message, self.fix, self.kernel, self.allowed = place, message, fix, kernel, allowed
        about = finding(name, message, fix, place)
        self.repro_outcome = INVALID_LAUNCH | {
            "file": place.file, "line": place.line, "text": str(self), "finding": about,
        }  # fmt: skip

    def __str__(self) -> str:
        return span.render(self.place, self.name, self.message, self.fix)


def located(error: BaseException, kernel: Kernel, launch: Launch | None) -> BaseException:
    """`error` of a launch as a LaunchRefused, if the device refused it; else as it is."""
    if not isinstance(error, DeviceError) or error.name not in _FIXES or kernel.place is None:
        return error
    name = re.sub(r"^kernel_(.*)_\d+$", r"\1", kernel.name)
    said, fix = str(error).removeprefix(f"{error.name}: ").replace(f"`{kernel.name}`", f"`{name}`"), _FIXES[error.name]
    allowed = ""
    if "shared memory" in said:
        fix = "leave `smem` out: the launch takes what the kernel allocates; or allocate less"
    if launch is not None:
        if launch.smem_bytes < 0:
            said, fix = f"`smem` of `{name}` is {launch.smem_bytes} bytes", "leave `smem` out"
        extents = {"grid": launch.grid, "block": launch.block, "cluster": launch.cluster}
        if wrong := wrong_extents(name, extents):
            said, allowed = wrong
            fix = allowed
        if 0 in launch.grid:
            fix += ": round up, `cute.ceil_div(n, tile)`, or launch under `if n > 0`"
    return LaunchRefused(error.name, kernel.place, said, fix, name, allowed)
