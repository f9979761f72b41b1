"""`cutlass._mlir_helpers`: modules that are only places of names."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from dsl.cutlass import base_dsl as _base_dsl, stand_ins as _stand_ins
from dsl.cutlass.cute import math
from dsl.primitives import vector as _vector


def _dialect_proxy(dialect: ModuleType) -> ModuleType:
    """A dialect whose builders take numbers and pointers: ours do so without."""
    return dialect


def _of_math(name: str) -> Any:
    return getattr(math, name)


_OWN = {"dialect_proxy": {"DialectAutoConvertProxy": _dialect_proxy}, "vector": vars(_vector)}


def _names_of(module: str) -> Any:
    if module == "math":
        return _of_math
    own = _OWN.get(module, {})
    return lambda name: own[name] if name in own else _base_dsl.attribute(f"cutlass._mlir_helpers.{module}", name)


for _module in ("arith", "dialect_proxy", "gpu", "lru_cache_ir", "math", "op", "vector"):
    globals()[_module] = _stand_ins.module(f"cutlass._mlir_helpers.{_module}", _names_of(_module))
