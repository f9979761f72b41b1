"""Instructions by their LLVM intrinsic, or by their PTX text where LLVM has none; PTX text of the author."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar, overload

from dsl.core import trace
from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Int32, Numeric, NumericMeta, is_dynamic, numeric
from dsl.core.phrase import Phrase, shown

_Result = TypeVar("_Result", bound=Numeric)


@overload
def intrinsic(name: str, result: type[_Result], *operands) -> _Result: ...
@overload
def intrinsic(name: str, result: None, *operands) -> None: ...
def intrinsic(name: str, result: type[Numeric] | None, *operands) -> Numeric | None:
    """`llvm.NAME(operands...)`; operands are Numerics, pointers or SSA values."""
    trace.kernel()
    value = mlir.intrinsic(f"llvm.{name}", result and result.mlir_type, *map(_value, operands))
    return None if result is None else result(value)


@overload
def ptx(text: str, result: type[_Result], constraints: str, *operands) -> _Result: ...
@overload
def ptx(text: str, result: None, constraints: str, *operands) -> None: ...
def ptx(text: str, result: type[Numeric] | None, constraints: str, *operands) -> Numeric | None:
    """PTX text with $0, $1...; it has side effects and is convergent (lower.llvm_ir keeps it so)."""
    results = _inline_asm(text, [result.mlir_type] if result else [], constraints, operands)
    return result(results[0]) if result else None


def raw_ptx(text: str, result: mlir.Type, constraints: str, *operands) -> mlir.Value:
    """`ptx` whose result is a value of an MLIR type."""
    return _inline_asm(text, [result], constraints, operands)[0]


def _inline_asm(text: str, results: list[mlir.Type], constraints: str, operands: Sequence) -> Sequence[mlir.Value]:
    trace.kernel()
    attributes = {
        "asm_string": mlir.string_attr(text),
        "constraints": mlir.string_attr(constraints),
        "has_side_effects": mlir.unit_attr(),
    }
    return mlir.op("llvm.inline_asm", results, list(map(_value, operands)), attributes).results


CONSTRAINTS = {
    mlir.i1: "b",
    mlir.i16: "h",
    mlir.i32: "r",
    mlir.i64: "l",
    mlir.f16: "h",
    mlir.bf16: "h",
    mlir.f32: "f",
    mlir.f64: "d",
}  # the register of an operand, by its MLIR type


def inline_ptx(
    ptx_code: str,
    *,
    write_only_types: Sequence[type[Numeric]] | None = None,
    read_only_args: Sequence | None = None,
    read_write_args: Sequence | None = None,
    predicate: Any = None,
) -> Numeric | tuple | None:
    """PTX text of the author: `{$w0}`, `{$w1}` are results of `write_only_types`, `{$r0}`,
    `{$r1}` the `read_only_args`.

    Static integers become part of the text, other arguments are in registers. It gives a number, a tuple of several, or
    None. Where `predicate` is false it is not executed, and results are not defined. Raises DSLUserCodeTypeError for
    operands that have no register, DSLUserCodeValueError for names without an operand.
    """
    if read_write_args:
        raise DSLUserCodeValueError(
            "a number here is a value, which PTX text cannot change: read_write_args has none to write to",
            fix="read it with read_only_args, and write a new one: write_only_types",
        )
    types, values = list(write_only_types or ()), list(read_only_args or ())
    texts = [_literal(value) for value in values]
    arguments = [_register_of(value) for value, text in zip(values, texts) if text is None]
    for dtype in types:
        if not isinstance(dtype, NumericMeta) or dtype.carrier not in CONSTRAINTS:
            raise DSLUserCodeTypeError(
                Phrase("PTX text writes registers of 16, 32 and 64 bits, got {got!r}", got=dtype),
                fix="write an Int32, and convert it",
            )

    def place(match: re.Match) -> str:
        kind, index = match[1], int(match[2])
        if index >= len(types if kind == "w" else values) or kind == "rw":
            raise DSLUserCodeValueError(
                f"the PTX text names {match[0]}, but there is no such operand",
                fix="pass a type in write_only_types, or a value in read_only_args, for each",
            )
        if kind == "r" and (literal := texts[index]) is not None:
            return literal
        return f"${index if kind == 'w' else len(types) + texts[:index].count(None)}"

    text = re.sub(r"\{\$(rw|r|w)(\d+)\}", place, ptx_code)
    constraints = [f"={CONSTRAINTS[dtype.carrier]}" for dtype in types]
    constraints += [CONSTRAINTS[argument.ir_type()] for argument in arguments]
    if predicate is not None:
        if not is_dynamic(numeric(predicate)) and not predicate:
            raise DSLUserCodeValueError("the predicate is false while compiling", fix="leave the instruction out")
        if is_dynamic(numeric(predicate)):
            text = f"@${len(constraints)} {text}"
            arguments.append(Boolean(predicate))
            constraints.append("b")
    return _written(text, types, ",".join(constraints), arguments)


def _literal(value: Any) -> str | None:
    """How PTX writes a static integer; None for other numbers."""
    number = numeric(value)
    if number is None or is_dynamic(number) or not number.is_integer or isinstance(number, Boolean):
        return None
    return str(number.value)


def _register_of(value: Any) -> Numeric:
    number = numeric(value)
    if number is None or type(number).carrier not in CONSTRAINTS:
        raise DSLUserCodeTypeError(
            f"PTX text reads registers of 16, 32 and 64 bits, got {shown(value)}",
            fix="convert it, for example `Int32(x)`",
        )
    return number


def _written(text: str, types: list[type[Numeric]], constraints: str, operands: list) -> Numeric | tuple | None:
    """What PTX text writes: a number of each type, alone or in a tuple."""
    if not types:
        return ptx(text, None, constraints, *operands)
    if len(types) == 1:
        return ptx(text, types[0], constraints, *operands)
    whole = raw_ptx(text, mlir.struct(*(dtype.carrier for dtype in types)), constraints, *operands)
    return tuple(dtype(mlir.field(whole, index, dtype.carrier)) for index, dtype in enumerate(types))


def register(name: str) -> Int32:
    """A 32-bit special register.  PTX ISA: Special Registers."""
    return intrinsic(f"nvvm.read.ptx.sreg.{name}", Int32)


def _value(operand) -> mlir.Value:
    return operand.ir() if hasattr(operand, "ir") else operand
