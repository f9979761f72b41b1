"""`cutlass._mlir.dialects`: the dialects of MLIR's own bindings, and by name those that are NVIDIA's alone.

Names that a module here does not have may be imported, and are refused where they are used.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from dsl.core import trace as _trace
from dsl.core.diagnosis.unsupported_names import RefusedWhenUsed as _RefusedWhenUsed
from dsl.core.ir import builders as _builders
from dsl.core.number.dtypes import numeric as _numeric
from dsl.core.number.ssa_number import with_operators as _with_operators
from dsl.cutlass import stand_ins as _stand_ins
from dsl.cutlass._mlir.dialects import upstream_only as _upstream_only
from dsl.gpu.arithmetic import functions as _functions

_MLIRS = ("arith", "builtin", "cf", "func", "gpu", "llvm", "math", "nvgpu", "nvvm", "scf", "ub", "vector")
_NVIDIAS = ("core", "cuda", "cute", "cute_nvgpu", "iket", "lir", "pyir")

__all__ = [*_MLIRS, *_NVIDIAS]


def _inline_asm(*arguments, **keywords) -> Any:
    """`llvm.inline_asm`, whose PTX text is for kernels. Raises DSLUserCodeError in a host function."""
    _trace.kernel()
    return _builders.attribute("llvm", "inline_asm")(*arguments, **keywords)


_OURS: dict[tuple[str, str], Callable] = {
    ("llvm", "inline_asm"): _inline_asm,
    ("nvvm", "fmax"): _upstream_only.fmax,
    ("nvvm", "fmin"): _upstream_only.fmin,
    ("nvvm", "atomicrmw"): _upstream_only.atomicrmw,
    ("nvvm", "red"): _upstream_only.red,
    ("nvvm", "AtomicOpKind"): _upstream_only.AtomicOpKind,
    ("nvvm", "MemOrderKind"): _upstream_only.MemOrderKind,
    ("nvvm", "MemScopeKind"): _upstream_only.MemScopeKind,
    ("nvvm", "ReductionOp"): _upstream_only.ReductionOp,
    ("nvvm", "ReductionType"): _upstream_only.ReductionType,
    ("nvvm", "SharedSpace"): _upstream_only.SharedSpace,
}


def _elementary(name: str) -> Callable:
    """A function of `math` that LLVM has no instruction for: the expression of `cute.math` in the op's place."""

    def op(*operands, fastmath=None, results=None, loc=None, ip=None) -> Any:
        return getattr(_functions, name)(*map(_numeric, operands)).ir()

    op.__name__ = name
    return op


_OURS |= {
    ("math", name): _elementary(name)
    for name in "acos acosh asin asinh atan atan2 atanh cbrt cos cosh erf erfc exp expm1 log log10 log1p log2 sin sinh "
    "tan tanh".split()
}


def _attribute(dialect: str, name: str) -> Any:
    if (dialect, name) in _OURS:
        return _operating(_OURS[dialect, name])
    try:
        return _operating(_builders.attribute(dialect, name))
    except AttributeError:
        return _refused(
            dialect, name, "MLIR's own bindings do not have it: call the function of `cute.arch` that it is in"
        )


def _operating(builder: Any) -> Any:
    """A builder whose values have operators; what is none, as it is."""
    if not isinstance(builder, FunctionType):
        return builder
    return functools.wraps(builder)(lambda *arguments, **keywords: _with_operators(builder(*arguments, **keywords)))


def _refused(dialect: str, name: str, fix: str) -> _RefusedWhenUsed:
    return _RefusedWhenUsed(f"cutlass._mlir.dialects.{dialect}.{name}", fix)


def _own(dialect: str) -> Callable[[str], Any]:
    return lambda name: _attribute(dialect, name)


def _nvidias(dialect: str) -> Callable[[str], Any]:
    return lambda name: _refused(
        dialect, name, f"the dialect `{dialect}` is NVIDIA's own: call the function of `cute` that it is in"
    )


for _dialect in _MLIRS:
    globals()[_dialect] = _stand_ins.module(
        f"cutlass._mlir.dialects.{_dialect}", _own(_dialect), lambda dialect=_dialect: _builders.names(dialect)
    )
for _dialect in _NVIDIAS:
    globals()[_dialect] = _stand_ins.module(f"cutlass._mlir.dialects.{_dialect}", _nvidias(_dialect))
