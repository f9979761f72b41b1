"""Elementary functions on SSA values of any float type.

A host function calls the C library's. A kernel, which has none, computes in double (dsl/core/double.py) and rounds to
the type: a Float32, Float16 or BFloat16 result is then right but for the double's own last place.
"""

from __future__ import annotations

from dsl.core import arith, mlir
from dsl.core.dtypes import Float64
from dsl.core.mlir import Value


def call(name: str, *operands: Value) -> Value:
    """`name(*operands)` of C's math.h, for operands of one float type."""
    from dsl.core import double, rules, trace            # late: most programs need none
    kept = operands[0].type
    if trace.in_kernel():
        wide = [Float64(arith.convert(value, mlir.f64, True, True)) for value in operands]
        with rules.using(rules.CUTE):                        # those `double` is written in
            result = getattr(double, name)(*wide).ir()
    else:
        wide = kept if kept in (mlir.f32, mlir.f64) else mlir.f32
        symbol = name + ("f" if wide == mlir.f32 else "")
        trace.host().module.declare(symbol, f"llvm.func @{symbol}({', '.join([str(wide)] * len(operands))}) -> {wide}")
        result = mlir.call(symbol, wide, *(arith.convert(value, wide, True, True) for value in operands))
    return arith.convert(result, kept, True, True)
