"""`cutlass._mlir.extras.types`, which kernels call `T`: functions that make MLIR types, `T.i32()`."""

from __future__ import annotations

import functools
from typing import Any

from dsl.core.ir import bindings as _bindings, mlir as _mlir


def __getattr__(name: str) -> Any:
    value = getattr(_bindings.generated("extras.types"), name)
    return value if isinstance(value, type) or not callable(value) else _in_context(value)


def _in_context(make):
    @functools.wraps(make) if hasattr(make, "__name__") else (lambda build: build)
    def build(*arguments, **keywords):
        with _mlir.unknown:
            return make(*arguments, **keywords)

    return build
