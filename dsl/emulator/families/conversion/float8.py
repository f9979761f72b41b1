"""cvt to and from pairs of floats of 8, 6 and 4 bits, the first operand in the upper half. PTX ISA 9.7.9.21.

e4m3x2, e5m2x2, e2m3x2 and e3m2x2 have a number a byte, e2m1x2 two in one. A number rounds to nearest even and saturates
(.satfinite); a NaN becomes 0x7f, in the formats without one the greatest number. Every value is an f16.
"""

from __future__ import annotations

from dsl.emulator.families.arithmetic.float import widen

# fraction bits, exponent bias, the greatest finite code, the place of the sign
_FORMATS = {
    "e4m3x2": (3, 7, 0x7E, 7),
    "e5m2x2": (2, 15, 0x7B, 7),
    "e2m3x2": (3, 1, 0x1F, 5),
    "e3m2x2": (2, 3, 0x1F, 5),
    "e2m1x2": (1, 1, 0x7, 3),
}


def is_pair(kind: str) -> bool:
    return kind in _FORMATS


def convert(body, instr, target: str, source: str) -> None:
    """cvt.e4m3x2.f32 d, a, b; cvt.e4m3x2.f16x2 d, a; cvt.f16x2.e4m3x2 d, a; with .relu."""
    if is_pair(source):
        packed = body.resize(body.read(instr.operands[1], _pair_bits(source)), _pair_bits(source), 16)
        step = _pair_bits(source) // 2
        codes = [body.op(f"trunc i16 {body.lshr(packed, step * i, 'i16')} to i8") for i in range(2)]
        low, high = (_decode(body, code, source) for code in codes)
        if "relu" in instr.mods:
            low, high = (_relu_bits(body, half) for half in (low, high))
        wide = body.shl(body.resize(high, 16, 32), 16)
        body.write(instr.operands[0], body.or_(wide, body.resize(low, 16, 32)), 32)
        return
    if source == "f32":
        high, low = (widen(body, body.read(operand, 32), "f32") for operand in instr.operands[1:3])
    else:
        pair = body.read(instr.operands[1], 32)
        halves = [body.op(f"trunc i32 {body.lshr(pair, 16 * i)} to i16") for i in range(2)]
        low, high = (widen(body, half, source[:-2]) for half in halves)
    codes = [body.resize(_encode(body, number, target, "relu" in instr.mods), 8, 16) for number in (low, high)]
    bits = _pair_bits(target)
    pair = body.or_(codes[0], body.shl(codes[1], bits // 2, "i16"), "i16")
    body.write(instr.operands[0], body.op(f"trunc i16 {pair} to i8") if bits == 8 else pair, bits)


def _pair_bits(kind: str) -> int:
    return 8 if kind == "e2m1x2" else 16


def _relu_bits(body, half: str) -> str:
    """An f16 with negative numbers made +0 and a NaN canonical."""
    number = widen(body, half, "f16")
    kept = body.select(body.op(f"fcmp ogt float {number}, 0.0"), half, 0, "i16")
    return body.select(body.op(f"fcmp uno float {number}, 0.0"), 0x7FFF, kept, "i16")


def _encode(body, number: str, kind: str, relu: bool) -> str:
    """float -> i8; adding the float whose last place is the format's least step rounds a subnormal result."""
    fraction, bias, greatest, sign_bit = _FORMATS[kind]
    drop = 23 - fraction
    bits = body.op(f"bitcast float {number} to i32")
    size = body.and_(bits, 0x7FFFFFFF)
    odd = body.and_(body.lshr(size, drop), 1)
    rounded = body.lshr(body.add(body.add(size, (1 << (drop - 1)) - 1), odd), drop)
    normal = body.sub(rounded, (127 - bias) << fraction)
    step = (128 - bias + drop) << 23
    positive, unit = (body.op(f"bitcast i32 {value} to float") for value in (size, step))
    total = body.op(f"fadd float {positive}, {unit}")
    small = body.sub(body.op(f"bitcast float {total} to i32"), step)
    code = body.select(body.cmp("ult", size, (128 - bias) << 23), small, normal)
    code = body.select(body.cmp("ugt", size, 0x47800000), greatest, code)  # past 65536: above any of the two
    code = body.op(f"call i32 @llvm.umin.i32(i32 {code}, i32 {greatest})")
    sign = body.and_(body.lshr(bits, 31 - sign_bit), 1 << sign_bit)
    if relu:
        code, sign = body.select(body.cmp("eq", sign, 0), code, 0), "0"
    nan = 0x7F if sign_bit == 7 else greatest
    code = body.select(body.cmp("ugt", size, 0x7F800000), nan, body.or_(code, sign))
    return body.op(f"trunc i32 {code} to i8")


def _decode(body, code: str, kind: str) -> str:
    """i8 -> the bits of an f16."""
    fraction, bias, _, sign_bit = _FORMATS[kind]
    wide = body.resize(code, 8, 16)
    sign = body.shl(body.and_(wide, 1 << sign_bit, "i16"), 15 - sign_bit, "i16")
    moved = body.shl(body.and_(wide, (1 << sign_bit) - 1, "i16"), 10 - fraction, "i16")
    if kind == "e5m2x2":
        number = widen(body, body.or_(moved, sign, "i16"), "f16")
        nan = body.op(f"fcmp uno float {number}, 0.0")
        return body.select(nan, 0x7FFF, body.or_(moved, sign, "i16"), "i16")
    half = body.op(f"bitcast i16 {moved} to half")
    scaled = body.op(f"fmul half {half}, {2.0 ** (15 - bias)}")
    bits = body.or_(body.op(f"bitcast half {scaled} to i16"), sign, "i16")
    return bits if sign_bit < 7 else body.select(body.cmp("eq", moved, 0x7F << 7, "i16"), 0x7FFF, bits, "i16")
