"""cvt to and from pairs of powers of two (ue8m0x2), the first operand in the upper half. PTX ISA 9.7.9.21.

A code c is 2^(c - 127), 0xff a NaN. There is no sign: the sign of what is converted is ignored, as in the code of
cuda_fp8.hpp for hosts.
"""

from __future__ import annotations

from dsl.emulator.families.arithmetic.float import widen
from dsl.emulator.ptx.syntax import TYPE_BITS

KIND = "ue8m0x2"
_FRACTION, _LEAST, _INFINITY, _NAN = 0x7FFFFF, 0x400000, 0x7F800000, 0xFF  # _LEAST: 2^-127, as a subnormal f32


def convert(body, instr, source: str) -> None:
    """cvt.ue8m0x2.f32 d, a, b; cvt.ue8m0x2.bf16x2 d, a; cvt.bf16x2.ue8m0x2 d, a."""
    if source == KIND:
        return _to_bf16(body, instr)
    if source == "f32":
        high, low = (body.read(operand, 32) for operand in instr.operands[1:3])
    else:
        pair = body.read(instr.operands[1], TYPE_BITS[source])
        low, high = (body.op(f"bitcast float {widen(body, half, 'bf16')} to i32") for half in _halves(body, pair, 32))
    codes = [_encode(body, bits, "rp" in instr.mods, "satfinite" in instr.mods) for bits in (low, high)]
    both = body.or_(codes[0], body.shl(codes[1], 8))
    return body.write(instr.operands[0], body.op(f"trunc i32 {both} to i16"), 16)


def _halves(body, pair: str, bits: int) -> list[str]:
    step = bits // 2
    return [body.op(f"trunc i{bits} {body.lshr(pair, step * i, f'i{bits}')} to i{step}") for i in range(2)]


def _encode(body, bits: str, up: bool, saturates: bool) -> str:
    """Bits of an f32 -> a code in an i32, of the power of two below its size, or above."""
    size = body.and_(bits, 0x7FFFFFFF)
    code = body.lshr(size, 23)
    if up:
        rounds = body.and_(body.cmp("ugt", size, _LEAST), body.cmp("ult", size, _INFINITY), "i1")
        rounds = body.and_(rounds, body.cmp("ne", body.and_(size, _FRACTION), 0), "i1")
        code = body.add(code, body.cast("zext", rounds, "i1", "i32"))
    if not saturates:
        return code
    bounded = body.op(f"call i32 @llvm.umin.i32(i32 {code}, i32 {_NAN - 1})")
    return body.select(body.cmp("ugt", size, _INFINITY), _NAN, bounded)


def _to_bf16(body, instr) -> None:
    low, high = (_decode(body, code) for code in _halves(body, body.read(instr.operands[1], 16), 16))
    body.write(instr.operands[0], body.or_(low, body.shl(high, 16)), 32)


def _decode(body, code: str) -> str:
    """i8 -> the bits of a bf16 in an i32."""
    wide = body.resize(code, 8, 32)
    value = body.select(body.cmp("eq", wide, 0), _LEAST >> 16, body.shl(wide, 7))
    return body.select(body.cmp("eq", wide, _NAN), 0x7FFF, value)
