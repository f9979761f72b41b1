"""Instructions by their LLVM intrinsic, or by their PTX text where LLVM has none."""

from __future__ import annotations

from dsl.core import mlir, trace
from dsl.core.dtypes import Int32, Numeric


def intrinsic(name: str, result: type[Numeric] | None, *operands) -> Numeric | None:
    """`llvm.NAME(operands...)`; operands are Numerics, pointers or SSA values."""
    trace.kernel()
    value = mlir.intrinsic(f"llvm.{name}", result and result.mlir_type(), *map(_value, operands))
    return None if result is None else result(value)


def ptx(text: str, result: type[Numeric] | None, constraints: str, *operands) -> Numeric | None:
    """PTX text with $0, $1...; it has side effects and is convergent (lower.llvm_ir keeps it so)."""
    trace.kernel()
    made = mlir.op("llvm.inline_asm", [result.mlir_type()] if result else [], list(map(_value, operands)),
                   {"asm_string": mlir.string_attr(text), "constraints": mlir.string_attr(constraints),
                    "has_side_effects": mlir.unit_attr()})
    return result(made.results[0]) if result else None


def register(name: str) -> Int32:
    """A 32-bit special register.  PTX ISA: Special Registers."""
    return intrinsic(f"nvvm.read.ptx.sreg.{name}", Int32)


def _value(operand) -> mlir.Value:
    return operand.ir() if hasattr(operand, "ir") else operand
