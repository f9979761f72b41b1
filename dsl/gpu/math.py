"""Scalar math instructions.  PTX ISA: Floating-Point Instructions, Integer Arithmetic Instructions."""

from __future__ import annotations

from dsl.core import mlir
from dsl.core.dtypes import Float32, Int32, Int64, numeric
from dsl.gpu.inline import intrinsic


def fmax(a, b, nan: bool = False) -> Float32:
    """The larger of two Float32; a NaN gives way to the other operand unless `nan`.  PTX ISA: max.f32."""
    return intrinsic(f"nvvm.fmax.{'nan.' if nan else ''}f", Float32, Float32(a), Float32(b))


def fmin(a, b, nan: bool = False) -> Float32:
    """The smaller of two Float32; a NaN gives way to the other operand unless `nan`.  PTX ISA: min.f32."""
    return intrinsic(f"nvvm.fmin.{'nan.' if nan else ''}f", Float32, Float32(a), Float32(b))


def popc(value) -> Int32:
    """How many bits of `value` are set.  PTX ISA: popc."""
    number = numeric(value)
    carrier = Int64 if type(number).width == 64 else Int32
    return Int32(carrier(mlir.intrinsic(f"llvm.ctpop.i{carrier.width}", carrier.mlir_type(), carrier(number).ir())))
