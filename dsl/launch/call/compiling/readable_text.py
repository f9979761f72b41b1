"""A traced module as CUDA C++ to read, for people: what it cannot spell is the author's error."""

from __future__ import annotations

from dsl.core.errors import DSLUserCodeError
from dsl.readable_cuda.printer import Unsupported, to_cuda


def cuda_source(device_mlir: str) -> str:
    """The kernels of a traced device module as CUDA C++, "" without any. Raises DSLUserCodeError naming what has no
    spelling there yet, at the author's line."""
    if not device_mlir:
        return ""
    try:
        return to_cuda(device_mlir)
    except Unsupported as error:
        raise DSLUserCodeError(
            str(error), id="Unsupported", place=error.place, fix="look at the kernel with --show mlir or --show ptx"
        ) from None
