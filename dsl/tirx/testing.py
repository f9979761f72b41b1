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
    """numpy's assert_allclose, which also compares shapes."""
    got, wanted = _array(actual), _array(desired)
    np.testing.assert_equal(got.shape, wanted.shape)
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol, verbose=verbose)


def _array(value: object) -> np.ndarray:
    to_numpy = getattr(value, "numpy", None)
    return np.asarray(value) if to_numpy is None else to_numpy()


class env:
    """The capabilities of the machine. The device that programs run on counts as a GPU."""

    @staticmethod
    def has_cuda() -> bool:
        return True

    has_gpu = has_cuda

    @staticmethod
    def has_cuda_compute(major: int, minor: int = 0) -> bool:
        """Whether the device has at least this compute capability."""
        have = cuda().compute_version.split(".")
        return (int(have[0]), int(have[1])) >= (major, minor)
