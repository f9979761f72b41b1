"""cvt.rs: f32 to f16x2, bf16x2 and four narrow floats with random bits, the first operand highest. PTX ISA 9.7.9.21.

The random bits are added to the bits that are cut off; a carry rounds away from zero. f16x2 takes the low 13 bits of
each half of them, bf16x2 all 16. The ISA leaves open how two of four elements share bits, and which of the bits cut
off the random ones meet. Here they meet the highest. Four elements share bits as FlashInfer measured it for e4m3x4
on a GPU of sm_100a (include/flashinfer/mamba/conversion.cuh): the first element of each half takes the half's bits
in reverse order. Two elements of e2m1x4 are one step of the GPU, which takes the high byte of each half.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_INFINITY, _EXPONENT_BIAS, _FRACTION_BITS = 0x7F800000, 127, 23


class _Format(NamedTuple):
    """An element of the result. `most` is the code of infinity, or of the greatest number where infinity is missing."""

    bits: int
    fraction_bits: int
    bias: int
    most: int
    nan: int
    random_bits: int

    @property
    def least_normal(self) -> int:
        """As an f32."""
        return (_EXPONENT_BIAS + 1 - self.bias) << _FRACTION_BITS

    @property
    def cut(self) -> int:
        """Bits of the fraction of an f32 that a normal number does not have."""
        return _FRACTION_BITS - self.fraction_bits

    @property
    def sign_bit(self) -> int:
        return 1 << self.bits - 1


_PAIRS = {"f16x2": _Format(16, 10, 15, 0x7C00, 0x7FFF, 13), "bf16x2": _Format(16, 7, 127, 0x7F80, 0x7FFF, 16)}
_FOURS = {
    "e4m3x4": _Format(8, 3, 7, 0x7E, 0x7F, 16),
    "e5m2x4": _Format(8, 2, 15, 0x7B, 0x7F, 16),
    "e2m3x4": _Format(6, 3, 1, 0x1F, 0x1F, 16),
    "e3m2x4": _Format(6, 2, 3, 0x1F, 0x1F, 16),
    "e2m1x4": _Format(4, 1, 1, 0x7, 0x7, 8),
}
FOURS = frozenset(_FOURS)  # the types of a result of four elements


def convert_two(body, instr) -> None:
    """cvt.rs{.relu}{.satfinite}.f16x2.f32 d, a, b, random."""
    kind = _PAIRS[_kind(instr)]
    most = kind.most - ("satfinite" in instr.mods)
    random = body.read(instr.operands[3], 32)
    bits = [body.and_(body.lshr(random, shift), (1 << kind.random_bits) - 1) for shift in (16, 0)]
    codes = [
        _code(body, instr, kind._replace(most=most), body.read(operand, 32), each)
        for operand, each in zip(instr.operands[1:3], bits)
    ]
    body.write(instr.operands[0], _joined(body, codes, kind.bits), 32)


def convert_four(body, instr) -> None:
    """cvt.rs{.relu}.satfinite.e4m3x4.f32 d, {a, b, e, f}, random."""
    kind = _FOURS[_kind(instr)]
    random = body.read(instr.operands[2], 32)
    numbers = [body.read(item, 32) for item in instr.operands[1].items]
    codes = [_code(body, instr, kind, *each) for each in zip(numbers, _shared(body, random, kind.random_bits))]
    joined = _joined(body, codes, 4 if kind.bits == 4 else 8)
    if kind.bits == 4:
        body.write(instr.operands[0], body.op(f"trunc i32 {joined} to i16"), 16)
    else:
        body.write(instr.operands[0], joined, 32)


def _kind(instr) -> str:
    return next(each for each in instr.mods if each in _PAIRS or each in _FOURS)


def _shared(body, random: str, count: int) -> Iterator[str]:
    """The random bits of each of four elements."""
    if count == 8:
        for byte in (3, 1, 2, 0):
            yield body.and_(body.lshr(random, 8 * byte), 0xFF)
        return
    reverse = body.op(f"call i32 @llvm.bitreverse.i32(i32 {random})")
    yield body.and_(reverse, 0xFFFF)
    yield body.lshr(random, 16)
    yield body.lshr(reverse, 16)
    yield body.and_(random, 0xFFFF)


def _joined(body, codes: list[str], step: int) -> str:
    joined = codes[0]
    for code in codes[1:]:
        joined = body.or_(body.shl(joined, step), code)
    return joined


def _code(body, instr, kind: _Format, bits: str, random: str) -> str:
    """The code of a number in an i32."""
    size = body.and_(bits, 0x7FFFFFFF)
    kept = body.lshr(size, kind.cut - kind.random_bits)
    code = body.lshr(body.add(kept, random), kind.random_bits)
    if kind.bias != _EXPONENT_BIAS:
        normal = body.sub(code, (_EXPONENT_BIAS - kind.bias) << kind.fraction_bits)
        small = body.cmp("ult", size, kind.least_normal)
        code = body.select(small, _subnormal(body, kind, size, random), normal)
    code = body.op(f"call i32 @llvm.umin.i32(i32 {code}, i32 {kind.most})")
    code = body.select(body.cmp("eq", size, _INFINITY), kind.most, code)
    sign = body.and_(body.lshr(bits, 32 - kind.bits), kind.sign_bit)
    signed = body.select(body.cmp("eq", sign, 0), code, 0) if "relu" in instr.mods else body.or_(code, sign)
    return body.select(body.cmp("ugt", size, _INFINITY), kind.nan, signed)


def _subnormal(body, kind: _Format, size: str, random: str) -> str:
    """The place of the highest bit that is cut off becomes the one of the highest random bit."""
    number = body.op(f"bitcast i32 {size} to float")
    scaled = body.op(f"fmul float {number}, {2.0 ** (kind.bias - 1 + kind.fraction_bits + kind.random_bits)}")
    kept = body.op(f"call i32 @llvm.fptoui.sat.i32.f32(float {scaled})")
    return body.lshr(body.add(kept, random), kind.random_bits)
