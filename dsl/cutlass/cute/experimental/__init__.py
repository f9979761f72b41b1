"""`cutlass.cute.experimental`: kernels whose copies stop at the end of a parameter, and the marks for a profiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsl.core.diagnosis.author_traceback import guard as _guard
from dsl.core.number.pointer import AddressSpace
from dsl.cutlass.cute.decorators import ExperimentalKernel, compile, jit, kernel_of
from dsl.cutlass.cute.experimental import iket
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.tile.tensor.bounded import (
    allocate,
    copy,
    elementwise,
    partition,
    partition_and_copy,
    predicated_tensor_origin,
    simt_auto_vec_copy,
)

__all__ = [
    "AddressSpace",
    "allocate",
    "compile",
    "copy",
    "elementwise",
    "iket",
    "jit",
    "kernel",
    "partition",
    "partition_and_copy",
    "predicated_tensor_origin",
    "simt_auto_vec_copy",
]


def kernel(function: Any = None, **_options: Any) -> ExperimentalKernel | Callable:
    """A GPU kernel, as @cute.kernel, whose tensors in global memory are origins: see `copy`."""
    return kernel if function is None else kernel_of(ExperimentalKernel, function)


__getattr__ = _refuser("cutlass.cute.experimental")

_guard(globals())
