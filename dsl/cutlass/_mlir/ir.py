"""`cutlass._mlir.ir`: the bindings' own classes, which are the same objects under both names."""

from typing import Any

from dsl.core.diagnosis.unsupported_names import RefusedWhenUsed as _RefusedWhenUsed
from dsl.core.ir import mlir as _mlir


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    value = getattr(_mlir.ir, name, None)
    return (
        _RefusedWhenUsed(f"cutlass._mlir.ir.{name}", "use a class that MLIR's own bindings have")
        if (value is None)
        else value
    )
