"""Elementary functions on SSA values of any float type.

A host function calls the C library. A kernel, which has no C library, calls a function of single precision that the
compiler brings (dsl/lower/elementary), for Float16 and BFloat16 too; doubles are computed by double_functions.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from dsl.core import number_rules, trace
from dsl.core.ir import arithmetic, mlir
from dsl.core.ir.mlir import Value
from dsl.core.number.dtypes import Float64

SINGLE = frozenset(
    """acos acosh asin asinh atan atan2 atanh cbrt cos cosh erf erfc exp exp10 expm1 log log10 log1p log2
    pow sin sinh tan tanh""".split()
)


def call(name: str, *operands: Value) -> Value:
    """`name(*operands)` of C's math.h, for operands of one float type."""
    from dsl.core.number import double_functions

    kept = operands[0].type
    if trace.in_kernel() and kept != mlir.f64 and name in SINGLE:
        result = _single(name, operands)
    elif trace.in_kernel():
        wide = [Float64(arithmetic.convert(value, mlir.f64, True, True)) for value in operands]
        with number_rules.using(number_rules.CUTE):  # those `double` is written in
            result = getattr(double_functions, name)(*wide).ir()
    else:
        wide = kept if kept in (mlir.f32, mlir.f64) else mlir.f32
        symbol = name + ("f" if wide == mlir.f32 else "")
        trace.host().module.declare(symbol, f"llvm.func @{symbol}({', '.join([str(wide)] * len(operands))}) -> {wide}")
        result = mlir.call(symbol, wide, *(arithmetic.convert(value, wide, True, True) for value in operands))
    return arithmetic.convert(result, kept, True, True)


def _single(name: str, operands: Sequence[Value]) -> Value:
    """A call of the kernel's function `name` of Float32."""
    symbol = f"dsl_{name}f"
    parameters = ", ".join(["f32"] * len(operands))
    trace.kernel().module.declare(symbol, f"llvm.func @{symbol}({parameters}) -> f32")
    return mlir.call(symbol, mlir.f32, *(arithmetic.convert(operand, mlir.f32, True, True) for operand in operands))
