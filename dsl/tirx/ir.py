"""tvm.ir, as far as TVM's own tests of this subset use it."""

from __future__ import annotations

import re

from dsl.tirx.build import IRModule, _prim_func
from dsl.tirx.syntax.function import PrimFunc

_LOCATION = re.compile(r" ?loc\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|^#loc.*\n", re.MULTILINE)
_NAMES = re.compile(r"(?:, )?dsl\.names = \"[^\"]*\"(?:, )?")


def structural_text(function: PrimFunc) -> str:
    """The code of a function without names and places."""
    text = _NAMES.sub("", _LOCATION.sub("", function.traced.host_mlir + function.traced.device_mlir))
    return re.sub(rf"@(?:kernel_)?{re.escape(function.traced.name)}\w*", "@f", text)


def assert_structural_equal(lhs: object, rhs: object, map_free_vars: bool = False) -> None:
    """Raises ValueError where two functions, or two modules of them, are not traced to the same code."""
    if isinstance(lhs, IRModule) and isinstance(rhs, IRModule):
        if lhs.functions.keys() != rhs.functions.keys():
            raise ValueError(
                f"StructuralEqual check failed: functions {sorted(lhs.functions)} and {sorted(rhs.functions)}"
            )
        for name in lhs.functions:
            assert_structural_equal(lhs[name], rhs[name])
        return
    left, right = (structural_text(_prim_func(function)) for function in (lhs, rhs))
    if left != right:
        raise ValueError(f"StructuralEqual check failed: the first is\n{left}\nand the second\n{right}")


def structural_equal(lhs: object, rhs: object, map_free_vars: bool = False) -> bool:
    """Whether two functions are traced to the same code."""
    try:
        assert_structural_equal(lhs, rhs)
    except ValueError:
        return False
    return True


__all__ = ["IRModule", "assert_structural_equal", "structural_equal"]
