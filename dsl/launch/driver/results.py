"""The results of calls (CUresult), and the result of what went wrong. Most are also numbers of cudaError_t."""

from __future__ import annotations

from dsl.exceptions import outcome_of
from dsl.launch.devices.protocol import DeviceError
from dsl.launch.driver import tables

SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED = 0, 1, 2, 3
NO_DEVICE, INVALID_DEVICE, INVALID_IMAGE, INVALID_CONTEXT = 100, 101, 200, 201
NO_BINARY, INVALID_PTX, FILE_NOT_FOUND, INVALID_HANDLE, NOT_FOUND = 209, 218, 301, 400, 500
LAUNCH_FAILED, COOPERATIVE_TOO_LARGE, NOT_SUPPORTED, UNKNOWN = 719, 720, 801, 999
ASSERT = 710
_OF_KERNELS = {  # what a GPU notices too, by the kind of a fault
    "out_of_bounds": 700,
    "deadlock": 702,
    "assert": ASSERT,
    "trap": 715,
    "illegal": 715,
    "misaligned": 716,
}


def of_call(error: BaseException) -> int | None:
    """The result of a call that was refused, by what was raised; None if a kernel failed."""
    name = error.name if isinstance(error, DeviceError) else getattr(error, "cuda_error", None)
    return tables.error_codes().get(name, LAUNCH_FAILED) if name is not None else None


def of_kernel(error: BaseException) -> int:
    """The error that a GPU would have. A kernel that a check ended failed too: it has not written everything."""
    outcome = outcome_of(error) or {}
    if (outcome.get("finding") or {}).get("message", "").startswith("assertion failed: "):
        return ASSERT
    return _OF_KERNELS.get(outcome.get("kind") or outcome.get("outcome", ""), LAUNCH_FAILED)


def of(error: BaseException) -> int:
    """The result of a launch that raised this."""
    refused = of_call(error)
    return of_kernel(error) if refused is None else refused
