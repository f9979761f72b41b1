"""tvm.testing, as far as TVM's own tests of this subset use it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dsl.tirx.runtime import cuda


def run_with_gpu_lock(function: Callable, *arguments: object) -> object:
    """`function()`: this process alone uses the device."""
    return function(*arguments)


def assert_allclose(
    actual: object, desired: object, rtol: float = 1e-7, atol: float = 1e-7, verbose: bool = True
) -> None:
    """numpy's, which compares shapes too."""
    actual, desired = (value.numpy() if hasattr(value, "numpy") else np.asarray(value) for value in (actual, desired))
    np.testing.assert_equal(actual.shape, desired.shape)
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=verbose)


class env:
    """What the machine has: the device that programs run on counts as a GPU."""

    @staticmethod
    def has_cuda() -> bool:
        return True

    has_gpu = has_cuda

    @staticmethod
    def has_cuda_compute(major: int, minor: int = 0) -> bool:
        """Whether the device has at least this compute capability."""
        have = cuda().compute_version.split(".")
        return (int(have[0]), int(have[1])) >= (major, minor)
