"""cvt.rs: f32 to f16x2 and bf16x2 with random bits, the first operand in the upper half. PTX ISA 9.7.9.21.

The random bits are added to the bits that are cut off; a carry rounds away from zero. f16x2 takes the low 13 bits of
each half of them, bf16x2 all 16. A subnormal f16 cuts off more than 13 bits, and the ISA leaves open which of these
the random bits meet: here the highest.
"""

from __future__ import annotations

_LEAST_NORMAL, _INFINITY, _CANONICAL_NAN = 0x38800000, 0x7F800000, 0x7FFF
_CUT = {"f16x2": 13, "bf16x2": 16}
_INFINITE = {"f16x2": 0x7C00, "bf16x2": 0x7F80}
_REBIAS = {"f16x2": (127 - 15) << 10, "bf16x2": 0}
_SUBNORMAL_SCALE = 2.0 ** (24 + 13)  # the place of the highest bit that a subnormal f16 cuts off becomes bit 12


def convert(body, instr) -> None:
    """cvt.rs{.relu}{.satfinite}.f16x2.f32 d, a, b, random."""
    kind = next(each for each in _CUT if each in instr.mods)
    random = body.read(instr.operands[3], 32)
    mask = (1 << _CUT[kind]) - 1
    halves = []
    for operand, shift in zip(instr.operands[1:3], (16, 0)):
        bits = body.read(operand, 32)
        halves.append(_half(body, instr, kind, bits, body.and_(body.lshr(random, shift), mask)))
    body.write(instr.operands[0], body.or_(body.shl(halves[0], 16), halves[1]), 32)


def _half(body, instr, kind: str, bits: str, random: str) -> str:
    """The code of a number in an i32."""
    size = body.and_(bits, 0x7FFFFFFF)
    code = body.sub(body.lshr(body.add(size, random), _CUT[kind]), _REBIAS[kind])
    if kind == "f16x2":
        code = body.select(body.cmp("ult", size, _LEAST_NORMAL), _subnormal(body, size, random), code)
    most = _INFINITE[kind] - ("satfinite" in instr.mods)
    code = body.op(f"call i32 @llvm.umin.i32(i32 {code}, i32 {most})")
    code = body.select(body.cmp("eq", size, _INFINITY), most, code)
    sign = body.and_(body.lshr(bits, 16), 0x8000)
    signed = body.select(body.cmp("eq", sign, 0), code, 0) if "relu" in instr.mods else body.or_(code, sign)
    return body.select(body.cmp("ugt", size, _INFINITY), _CANONICAL_NAN, signed)


def _subnormal(body, size: str, random: str) -> str:
    number = body.op(f"bitcast i32 {size} to float")
    scaled = body.op(f"fmul float {number}, {_SUBNORMAL_SCALE}")
    cut = body.op(f"call i32 @llvm.fptoui.sat.i32.f32(float {scaled})")
    return body.lshr(body.add(cut, random), _CUT["f16x2"])
