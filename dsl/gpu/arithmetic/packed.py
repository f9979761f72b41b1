"""Arithmetic on two numbers in one register: f16x2, bf16x2 (a register of 32 bits) and f32x2 (of 64, from sm_100 on).

Operands are tuples of two numbers, converted to the element type, or for halves an Int32 that holds the two, the first
in the low bits; the result is of the same form.  PTX ISA: add, sub, mul, fma, ex2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from dsl.core import trace
from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import BFloat16, Boolean, Float16, Float32, Int32, Int64, Numeric, is_dynamic, numeric
from dsl.core.number.operators import type_name
from dsl.core.phrase import Phrase, shown
from dsl.gpu import inline
from dsl.gpu.arithmetic.math import exp2

_LOG2_E = 1.4426950408889634
_Whole = TypeVar("_Whole", bound=Numeric)
_Part = TypeVar("_Part", bound=Numeric)
_ROUNDINGS = (None, "rn", "rz", "rm", "rp", "none")


def _halves(instruction: str, dtype: type[Numeric], operands: tuple, predicate: Any = None) -> Any:
    """One instruction on pairs of 16-bit floats."""
    registers = [_register(operand, dtype) for operand in operands]
    places = ", ".join(f"${i + 1}" for i in range(len(registers)))
    constraints = "=r" + ",r" * len(registers)
    text, extra = f"{instruction} $0, {places};", ()
    if predicate is not None and not _is_static_true(predicate):
        text, constraints, extra = f"@${len(registers) + 1} {text}", constraints + ",b", (Boolean(predicate),)
    packed = inline.ptx(text, Int32, constraints, *registers, *extra)
    return packed if all(not isinstance(operand, tuple) for operand in operands) else _pair(packed, dtype)


def _is_static_true(predicate: Any) -> bool:
    number = numeric(predicate)
    return number is not None and not is_dynamic(number) and bool(number.value)


def _register(operand: Any, dtype: type[Numeric]) -> Int32:
    if not isinstance(operand, tuple):
        number = numeric(operand)
        if number is None or not number.is_integer or type(number).width != 32:
            raise DSLUserCodeTypeError(
                Phrase(
                    "two {dtype} must be a tuple or an Int32, got {operand}", dtype=dtype, operand=type_name(operand)
                ),
                fix="pass (a, b)",
            )
        return Int32(number)
    return _joined(operand, dtype, Int32)


def _joined(operand: tuple, dtype: type[Numeric], whole: type[_Whole]) -> _Whole:
    """Two numbers of `dtype` as the register that holds them, the first in the low bits."""
    parts = [dtype(numeric(item)).ir() for item in _two(operand)]
    vector = mlir.result("vector.from_elements", mlir.vector(dtype.carrier, 2), *parts)
    return whole(mlir.result("llvm.bitcast", whole.carrier, vector))


def _two(operand: tuple) -> tuple:
    if len(operand) != 2 or any(numeric(part) is None for part in operand):
        raise DSLUserCodeTypeError(
            Phrase("packed operand must be a tuple of two numbers, got {operand}", operand=type_name(operand)),
            fix="pass (a, b)",
        )
    return operand


def _pair(packed: Numeric, dtype: type[_Part]) -> tuple[_Part, _Part]:
    vector = mlir.result("llvm.bitcast", mlir.vector(dtype.carrier, 2), packed.ir())

    def part(index: int) -> _Part:
        position = mlir.ir.DenseI64ArrayAttr.get([index], mlir.context)
        return dtype(mlir.op("vector.extract", [dtype.carrier], [vector], {"static_position": position}).results[0])

    return part(0), part(1)


def _modifiers(**modifiers: Any) -> str:
    """`.name` for each modifier that is on, `.rn` of rnd."""
    words = [
        value if name == "rnd" else name for name, value in modifiers.items() if value not in (None, False, "none")
    ]
    return "".join(f".{word}" for word in words)


def _check_rounding(rnd: Any, roundings: tuple) -> None:
    if rnd not in roundings:
        raise DSLUserCodeValueError(
            f"rnd must be one of {', '.join(map(str, roundings))}, got {shown(rnd)}", fix='rnd="rn"'
        )


def add_packed_f16x2(a, b, *, rnd: str | None = None, ftz: bool | None = None, sat: bool | None = None, predicate=None):
    """a + b, twice. Where `predicate` is false the result is not defined.  PTX ISA: add.f16x2"""
    _check_rounding(rnd, (None, "rn"))
    return _halves(f"add{_modifiers(rnd=rnd, ftz=ftz, sat=sat)}.f16x2", Float16, (a, b), predicate)


def sub_packed_f16x2(a, b, *, rnd: str | None = None, ftz: bool | None = None, sat: bool | None = None, predicate=None):
    """a - b, twice.  PTX ISA: sub.f16x2"""
    _check_rounding(rnd, (None, "rn"))
    return _halves(f"sub{_modifiers(rnd=rnd, ftz=ftz, sat=sat)}.f16x2", Float16, (a, b), predicate)


def add_packed_bf16x2(a, b, *, rnd: str | None = None, predicate=None):
    """a + b, twice.  PTX ISA: add.bf16x2"""
    _check_rounding(rnd, (None, "rn"))
    return _halves(f"add{_modifiers(rnd=rnd)}.bf16x2", BFloat16, (a, b), predicate)


def sub_packed_bf16x2(
    a, b, *, rnd: str | None = None, ftz: bool | None = None, sat: bool | None = None, predicate=None
):
    """a - b, twice.  PTX ISA: sub.bf16x2"""
    _check_rounding(rnd, (None, "rn"))
    for name, on in (("ftz", ftz), ("sat", sat)):
        if on:
            raise DSLUserCodeValueError(f"{name} is only supported for f16/f16x2 sub", fix=f"leave {name} out")
    return _halves(f"sub{_modifiers(rnd=rnd)}.bf16x2", BFloat16, (a, b), predicate)


def fma_packed_f16x2(
    a,
    b,
    c,
    *,
    rnd: str | None = "rn",
    ftz: bool | None = None,
    sat: bool | None = None,
    relu: bool | None = None,
    oob: bool | None = None,
):
    """a * b + c, twice, each rounded once.  PTX ISA: fma.f16x2"""
    if sat and relu:
        raise DSLUserCodeValueError(
            "sat and relu cannot be used together for half fma", fix="sat clamps to [0, 1] alone"
        )
    modifiers = _modifiers(rnd=rnd or "rn", ftz=ftz, sat=sat, relu=relu, oob=oob)
    return _halves(f"fma{modifiers}.f16x2", Float16, (a, b, c))


def fma_packed_bf16x2(a, b, c, *, rnd: str | None = "rn", relu: bool | None = None, oob: bool | None = None):
    """a * b + c, twice, each rounded once.  PTX ISA: fma.bf16x2"""
    return _halves(f"fma{_modifiers(rnd=rnd or 'rn', relu=relu, oob=oob)}.bf16x2", BFloat16, (a, b, c))


def exp2_packed_f16x2(a, *, predicate=None):
    """2**a, twice, within 2**-9.9 of it.  PTX ISA: ex2.approx.f16x2"""
    return _halves("ex2.approx.f16x2", Float16, (a,), predicate)


def exp2_packed_bf16x2(a, *, predicate=None):
    """2**a, twice, within 2**-7 of it; subnormals count as 0.  PTX ISA: ex2.approx.ftz.bf16x2"""
    return _halves("ex2.approx.ftz.bf16x2", BFloat16, (a,), predicate)


# --- f32x2 ----------------------------------------------------------------------------------------------------------


def _floats(name: str, operands: tuple, rnd: str | None, ftz: bool | None) -> tuple[Float32, Float32]:
    _check_rounding(rnd, _ROUNDINGS)
    trace.kernel().need("sm_100", f"computes with f32x2 ({name})")
    registers = [_wide(operand) for operand in operands]
    places = ", ".join(f"${i + 1}" for i in range(len(registers)))
    packed = inline.ptx(
        f"{name}{_modifiers(rnd=rnd if rnd != 'none' else 'rn', ftz=ftz)}.f32x2 $0, {places};",
        Int64,
        "=l" + ",l" * len(registers),
        *registers,
    )
    return _pair(packed, Float32)


def _wide(operand: Any) -> Int64:
    if not isinstance(operand, tuple):
        raise DSLUserCodeTypeError(
            Phrase("two Float32 must be a tuple, got {operand}", operand=type_name(operand)), fix="pass (a, b)"
        )
    return _joined(operand, Float32, Int64)


def _binary(name: str, text: str) -> Callable:
    def operation(
        src_a, src_b, *, src_c=None, rnd: str | None = "rn", ftz: bool | None = None
    ) -> tuple[Float32, Float32]:
        return _floats(name, (src_a, src_b), rnd, ftz)

    operation.__name__ = operation.__qualname__ = f"{name}_packed_f32x2"
    operation.__doc__ = f"{text}, of two Float32 at once, from sm_100 on.  PTX ISA: {name}.f32x2"
    return operation


add_packed_f32x2, sub_packed_f32x2 = _binary("add", "a + b"), _binary("sub", "a - b")
mul_packed_f32x2 = _binary("mul", "a * b")


def fma_packed_f32x2(
    src_a, src_b, src_c, *, rnd: str | None = "rn", ftz: bool | None = None
) -> tuple[Float32, Float32]:
    """a * b + c of two Float32 at once, rounded once, from sm_100 on.  PTX ISA: fma.f32x2"""
    return _floats("fma", (src_a, src_b, src_c), rnd, ftz)


def exp_packed_f32x2(a) -> tuple[Float32, Float32]:
    """e**a of two Float32, as 2**(a * log2(e)), from sm_100 on.  PTX ISA: mul.f32x2, ex2.approx.ftz"""
    low, high = mul_packed_f32x2(a, (_LOG2_E, _LOG2_E))
    return exp2(low), exp2(high)
