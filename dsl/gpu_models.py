"""The GPUs whose limits the device can have: an H100, unless a model of Blackwell is chosen.

Sources: CUDA C++ Programming Guide, compute capabilities; the numbers of multiprocessors and the caches as drivers
report them. dsl/driver/device.inc has the same for programs that ask the CUDA driver.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DEFAULT = "h100"
_ARCH = re.compile(r"sm_(\d+)(\d)([af]?)")
_TARGET = re.compile(r"^\s*\.target\s+([\w$]+)", re.MULTILINE)


@dataclass(frozen=True)
class GpuModel:
    """The limits of a GPU. `sm_...` are of one multiprocessor, `smem_bytes` is the most that a block may have."""

    arch: str
    multiprocessors: int
    l2_bytes: int
    sm_threads: int = 2048
    sm_blocks: int = 32
    sm_smem_bytes: int = 228 << 10
    smem_bytes: int = 227 << 10
    most_cluster: int = 16

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability: (10, 3) of sm_103a."""
        return capability_of(self.arch)


_H100 = GpuModel("sm_90a", 132, 50 << 20)
BLACKWELL = {
    "b200": GpuModel("sm_100a", 148, 132_644_864),
    "b300": GpuModel("sm_103a", 148, 132_644_864),
    "rtx5090": GpuModel("sm_120a", 170, 96 << 20, 1536, 24, 100 << 10, 99 << 10, 8),
}


def limits_of(name: str | None) -> GpuModel:
    """The limits of a GPU model; models before Blackwell change only how tensor cores compute, on an H100."""
    return BLACKWELL.get(name or DEFAULT, _H100)


def capability_of(arch: str) -> tuple[int, int]:
    major, minor, _ = _parts(arch)
    return major, minor


def runs(target: str, arch: str) -> bool:
    """Whether a GPU of this architecture takes a module with this .target: `a` runs on its own chip alone, `f` on later
    ones of its family too, the others on every later chip. One that is not sm_... is taken. PTX ISA: .target."""
    if not _ARCH.fullmatch(target):
        return True
    major, minor, feature = _parts(target)
    mine = capability_of(arch)
    if feature == "a":
        return (major, minor) == mine
    return (major, minor) <= mine and (feature != "f" or major == mine[0])


def refusal(ptx: str, arch: str) -> str:
    """Why a GPU of this architecture cannot take a module, where its .target tells, and a fix; "" if it can."""
    target = target_of(ptx)
    if runs(target, arch):
        return ""
    whose = {"a": " alone", "f": " and later ones of its family"}.get(target[-1], " and later")
    return (
        f"the PTX is for {target}{whose}, but this GPU is {arch.rstrip('af')}\nfix: compile for it: --gpu-arch {arch}"
    )


def target_of(ptx: str) -> str:
    """The architecture that a module names in .target; "" if it names none."""
    match = _TARGET.search(ptx)
    return match[1] if match else ""


def model_for(target: str) -> str | None:
    """The model of Blackwell that takes a module with this .target; None if the default takes it, or none does."""
    if runs(target, _H100.arch):
        return None
    return next((name for name, model in BLACKWELL.items() if runs(target, model.arch)), None)


def _parts(arch: str) -> tuple[int, int, str]:
    match = _ARCH.fullmatch(arch)
    if match is None:
        raise ValueError(f"{arch!r} is not an architecture such as sm_90a")
    return int(match[1]), int(match[2]), match[3]
