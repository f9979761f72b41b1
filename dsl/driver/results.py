"""The CUresult of what went wrong in the helper."""

from __future__ import annotations

from dsl.exceptions import outcome_of

SUCCESS, INVALID_VALUE, INVALID_IMAGE, INVALID_PTX, NOT_FOUND = 0, 1, 200, 218, 500
ASSERT, LAUNCH_FAILED, NOT_SUPPORTED = 710, 719, 801
_NAMES = {
    "CUDA_ERROR_INVALID_VALUE": INVALID_VALUE,
    "CUDA_ERROR_NOT_SUPPORTED": NOT_SUPPORTED,
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": 720,
    "CUDA_ERROR_INVALID_PTX": INVALID_PTX,
}
_OF_KERNELS = {  # what a GPU notices too, by the kind of a fault
    "out_of_bounds": 700,
    "deadlock": 702,
    "trap": 715,
    "illegal": 715,
    "misaligned": 716,
}


def of_call(error: BaseException) -> int | None:
    """The result of a call that was refused, by what was raised; None if a kernel failed."""
    name = getattr(error, "name", None) or getattr(error, "cuda_error", None)
    return _NAMES.get(name, LAUNCH_FAILED) if name is not None else None


def of_kernel(error: BaseException) -> int:
    """The error that a GPU would have. A kernel that a check ended failed too: it has not written everything."""
    outcome = outcome_of(error) or {}
    if (outcome.get("finding") or {}).get("message", "").startswith("assertion failed: "):
        return ASSERT
    return _OF_KERNELS.get(outcome.get("kind") or outcome.get("outcome", ""), LAUNCH_FAILED)
