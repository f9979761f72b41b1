"""Bit and integer instructions on 32- and 64-bit numbers.  PTX ISA: Integer Arithmetic, Logic and Shift."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Int32, Int64, Numeric, Uint32, Uint64, numeric
from dsl.core.number.operators import type_name
from dsl.core.phrase import Phrase, cast, conversion, shown
from dsl.gpu import inline

_WIDE = (Int32, Uint32, Int64, Uint64)
_NARROW = (Int32, Uint32)


def _number(name: str, operand: Any, allowed: tuple = _WIDE) -> Numeric:
    """`operand` as one of the types the instruction has. Raises DSLUserCodeTypeError for others."""
    number = numeric(operand)
    if number is None or type(number) not in allowed:
        raise DSLUserCodeTypeError(
            Phrase(
                "{name} takes {names}, got {operand}",
                name=name,
                names=", ".join(map(str, allowed)),
                operand=type_name(operand),
            ),
            fix=Phrase("convert it: {conversion}", conversion=conversion(allowed[0])),
        )
    return number


def _letter(dtype: type[Numeric]) -> str:
    return "l" if dtype.width == 64 else "r"


def _run(instruction: str, result: type[Numeric], *operands: Numeric) -> Numeric:
    """One instruction: `result` from operands, by their widths."""
    places = ", ".join(f"${place}" for place in range(len(operands) + 1))
    constraints = ",".join([f"={_letter(result)}", *(_letter(type(operand)) for operand in operands)])
    return inline.ptx(f"{instruction} {places};", result, constraints, *operands)


def _suffix(dtype: type[Numeric]) -> str:
    return f"{'s' if dtype.signed else 'u'}{dtype.width}"


def popc(value) -> Numeric:
    """How many bits are set, in the type of `value`.  PTX ISA: popc."""
    number = numeric(value)
    if number is None or not type(number).is_integer:
        raise DSLUserCodeTypeError(
            Phrase("popc takes an integer, got {value}", value=type_name(value)),
            fix=Phrase("convert it first, for example {cast}", cast=cast(Int32)),
        )
    dtype = type(number)
    return dtype(mlir.intrinsic(f"llvm.ctpop.i{dtype.width}", dtype.carrier, number.ir()))


def clz(value) -> Uint32:
    """How many leading zeros.  PTX ISA: clz."""
    number = _number("clz", value)
    return _run(f"clz.b{type(number).width}", Uint32, number)


def brev(value) -> Numeric:
    """The bits in reverse order.  PTX ISA: brev."""
    number = _number("brev", value)
    return _run(f"brev.b{type(number).width}", type(number), number)


def bfind(value) -> Numeric:
    """The place of the highest bit set (of a negative number: clear), all ones for none.  PTX ISA: bfind."""
    number = _number("bfind", value)
    return _run(f"bfind.{_suffix(type(number))}", Int32 if type(number) is Uint32 else Uint32, number)


def bfe(value, start, length) -> Numeric:
    """`length` bits of `value` from bit `start` on, extended with its type's sign.  PTX ISA: bfe."""
    number = _number("bfe", value)
    return _run(f"bfe.{_suffix(type(number))}", type(number), number, Uint32(start), Uint32(length))


def bfi(replacement, value, start, length) -> Numeric:
    """`value` with its `length` bits from bit `start` on replaced.  PTX ISA: bfi."""
    number = _number("bfi", value)
    places = Uint32(start), Uint32(length)
    return _run(f"bfi.b{type(number).width}", type(number), type(number)(replacement), number, *places)


def mul_hi(a, b) -> Numeric:
    """The upper half of the product.  PTX ISA: mul.hi."""
    a = _number("mul_hi", a)
    return _run(f"mul.hi.{_suffix(type(a))}", type(a), a, type(a)(b))


def mul_wide(a, b) -> Numeric:
    """The whole product, in the type of twice the width.  PTX ISA: mul.wide."""
    number = numeric(a)
    if number is None or not type(number).is_integer or type(number).width not in (16, 32):
        raise DSLUserCodeTypeError(
            Phrase("mul_wide takes integers of 16 or 32 bits, got {a}", a=type_name(a)),
            fix=Phrase("convert it first, for example {cast}", cast=cast(Int32)),
        )
    wide = type(number).recast_width(2 * type(number).width)
    return wide(number) * wide(type(number)(b))


def mul24(a, b, hi: bool = False) -> Numeric:
    """The lower (`hi`: the upper) 32 of the 48 bits of the product of the lower 24 bits.  PTX ISA: mul24."""
    a = _number("mul24", a, _NARROW)
    return _run(f"mul24.{'hi' if hi else 'lo'}.{_suffix(type(a))}", type(a), a, type(a)(b))


def mad24(a, b, c, hi: bool = False) -> Numeric:
    """mul24(a, b) + c.  PTX ISA: mad24."""
    a = _number("mad24", a, _NARROW)
    return _run(f"mad24.{'hi' if hi else 'lo'}.{_suffix(type(a))}", type(a), a, type(a)(b), type(a)(c))


def add_sat_int(a, b) -> Int32:
    """a + b, held in the range of Int32.  PTX ISA: add.sat."""
    return _run("add.sat.s32", Int32, Int32(a), Int32(b))


def sub_sat_int(a, b) -> Int32:
    """a - b, held in the range of Int32.  PTX ISA: sub.sat."""
    return _run("sub.sat.s32", Int32, Int32(a), Int32(b))


def lop3(a, b, c, lut: int) -> Numeric:
    """The bitwise function of three operands whose truth table is `lut` (a is 0xF0, b 0xCC, c 0xAA).  PTX ISA: lop3."""
    a = _number("lop3", a, _NARROW)
    if not isinstance(lut, int) or not 0 <= lut < 256:
        raise DSLUserCodeValueError(
            f"lut must be a static number from 0 to 255, got {shown(lut)}",
            fix="compute it from 0xF0, 0xCC and 0xAA: `0xF0 & 0xCC` is a & b",
        )
    return inline.ptx(f"lop3.b32 $0, $1, $2, $3, {lut};", type(a), "=r,r,r,r", a, type(a)(b), type(a)(c))


_SHIFTS = {"l": "l.wrap", "r": "r.wrap", "clamp_left": "l.clamp", "clamp_right": "r.clamp"}


def shf(a, b, shift, kind: str = "l") -> Numeric:
    """The 64 bits b:a shifted; the upper half of a left shift, the lower of a right one.  PTX ISA: shf."""
    a = _number("shf", a, _NARROW)
    if kind not in _SHIFTS:
        raise DSLUserCodeValueError(
            f"kind must be one of {', '.join(_SHIFTS)}, got {shown(kind)}", fix="write one of these as a string"
        )
    return _run(f"shf.{_SHIFTS[kind]}.b32", type(a), a, type(a)(b), Uint32(shift))


def prmt(src, src_reg_shifted, prmt_indices) -> Int32:
    """Four bytes chosen from the eight of two operands, an index in each nibble of `prmt_indices`.  PTX ISA: prmt."""
    return _run("prmt.b32", Int32, Int32(src), Int32(src_reg_shifted), Int32(prmt_indices))


def log2_of_pow2_int(a) -> Int32:
    """The exponent of a power of two."""
    return Int32(_run("bfind.shiftamt.u32", Uint32, brev(Uint32(a))))
