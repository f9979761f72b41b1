"""`cutlass.cutlass_dsl`: the names of `cutlass` and `cutlass.base_dsl`, and `T`, which makes MLIR types.

A name of upstream's that is not here may be imported, and is refused where it is used.
"""

from __future__ import annotations

from typing import Any

from dsl.cutlass import base_dsl as _base_dsl
from dsl.cutlass._mlir.extras import types as T
from dsl.cutlass.base_dsl import Arch, BaseDSL, CuTeDSL, dsl_user_op

__all__ = ["Arch", "BaseDSL", "CuTeDSL", "T", "dsl_user_op"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _base_dsl.attribute("cutlass.cutlass_dsl", name)
