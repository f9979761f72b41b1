"""Bit fields and counts of bits. PTX ISA 9.7.1.14 to 9.7.1.22."""

from __future__ import annotations

from dsl.emulator.families.arithmetic.integer import shifted
from dsl.emulator.ptx.syntax import SIGNED, TYPE_BITS, type_of


def _field(body, operand) -> str:
    return body.and_(body.read(operand, 32), 255)


def extract(body, instr):
    """bfe: `len` bits of a from `pos`; signed types fill with the field's top bit. PTX ISA 9.7.1, bfe."""
    kind = type_of(instr)
    bits, signed = TYPE_BITS[kind], kind in SIGNED
    ty = f"i{bits}"
    a = body.read(instr.operands[1], bits)
    position, length = _field(body, instr.operands[2]), _field(body, instr.operands[3])
    value = shifted(body, "lshr", a, position, bits)
    mask = body.not_(shifted(body, "shl", "-1", length, bits), ty)
    value = body.and_(value, mask, ty)
    if signed:
        last = body.sub(body.add(position, length), 1)
        last = body.op(f"call i32 @llvm.umin.i32(i32 {last}, i32 {bits - 1})")
        sign = body.and_(body.lshr(a, body.resize(last, 32, bits), ty), 1, ty)
        # bits outside the field or past the register's end take the sign
        room = body.op(f"call i32 @llvm.usub.sat.i32(i32 {bits}, i32 {position})")
        width = body.op(f"call i32 @llvm.umin.i32(i32 {length}, i32 {room})")
        fill = body.select(body.cmp("ne", sign, 0, ty), shifted(body, "shl", "-1", width, bits), 0, ty)
        value = body.or_(value, fill, ty)
        value = body.select(body.cmp("eq", length, 0), 0, value, ty)
    body.write(instr.operands[0], value, bits, signed)


def insert(body, instr):
    """bfi: a's low `len` bits into b at `pos`."""
    bits = TYPE_BITS[type_of(instr)]
    ty = f"i{bits}"
    a, b = body.read(instr.operands[1], bits), body.read(instr.operands[2], bits)
    position, length = _field(body, instr.operands[3]), _field(body, instr.operands[4])
    mask = body.not_(shifted(body, "shl", "-1", length, bits), ty)
    mask = shifted(body, "shl", mask, position, bits)
    moved = body.and_(shifted(body, "shl", a, position, bits), mask, ty)
    body.write(instr.operands[0], body.or_(moved, body.and_(b, body.not_(mask, ty), ty), ty), bits)


def bit_mask(body, instr):
    """bmsk.clamp/.wrap: `b` ones from bit `a`."""
    a, b = (body.read(each, 32) for each in instr.operands[1:])
    if "wrap" in instr.mods:
        a, b = body.and_(a, 31), body.and_(b, 31)
    mask = body.not_(shifted(body, "shl", "-1", b, 32))
    body.write(instr.operands[0], shifted(body, "shl", mask, a, 32), 32)


def find_leading(body, instr):
    """bfind: the highest significant bit (for .s the highest that differs from the sign), -1 if none."""
    kind = type_of(instr)
    bits = TYPE_BITS[kind]
    a = body.read(instr.operands[1], bits)
    if kind in SIGNED:
        a = body.xor(a, body.op(f"ashr i{bits} {a}, {bits - 1}"), f"i{bits}")
    zeros = body.op(f"call i{bits} @llvm.ctlz.i{bits}(i{bits} {a}, i1 false)")
    zeros = body.resize(zeros, bits, 32)
    value = zeros if "shiftamt" in instr.mods else body.sub(bits - 1, zeros)
    value = body.select(body.cmp("eq", a, 0, f"i{bits}"), -1, value)
    body.write(instr.operands[0], value, 32)


def count(intrinsic: str, extra: str = ""):
    """clz, popc: the result is 32 bits wide whatever the source."""

    def emit(body, instr):
        bits = TYPE_BITS[type_of(instr)]
        a = body.read(instr.operands[1], bits)
        value = body.op(f"call i{bits} @llvm.{intrinsic}.i{bits}(i{bits} {a}{extra})")
        body.write(instr.operands[0], body.resize(value, bits, 32), 32)

    return emit


def reverse(body, instr):
    bits = TYPE_BITS[type_of(instr)]
    a = body.read(instr.operands[1], bits)
    body.write(instr.operands[0], body.op(f"call i{bits} @llvm.bitreverse.i{bits}(i{bits} {a})"), bits)


def find_nth_set(body, instr):
    """fns: the n-th bit that is set, upwards from the base, or downwards for n < 0; all ones if there is none."""
    mask, base, offset = (body.read(each, 32) for each in instr.operands[1:])
    base = body.and_(base, 31)  # more is undefined
    down = body.cmp("slt", offset, 0)
    turned = body.op(f"call i32 @llvm.bitreverse.i32(i32 {mask})")
    first = body.select(down, body.sub(31, base), base)
    left = body.and_(body.select(down, turned, mask), body.shl(-1, first))
    number = body.op(f"call i32 @llvm.abs.i32(i32 {offset}, i1 false)")
    total = body.op(f"call i32 @llvm.ctpop.i32(i32 {left})")
    found = body.cmp("ule", number, total)
    place = "0"
    for width in (16, 8, 4, 2, 1):
        low = body.and_(left, (1 << width) - 1)
        passed = body.op(f"call i32 @llvm.ctpop.i32(i32 {low})")
        beyond = body.cmp("ugt", number, passed)
        number = body.select(beyond, body.sub(number, passed), number)
        place = body.select(beyond, body.or_(place, width), place)
        left = body.select(beyond, body.lshr(left, width), left)
    place = body.select(down, body.sub(31, place), place)
    itself = body.select(body.cmp("ne", body.and_(body.lshr(mask, base), 1), 0), base, -1)
    value = body.select(found, place, -1)
    body.write(instr.operands[0], body.select(body.cmp("eq", offset, 0), itself, value), 32)


def extend_field(body, instr):
    """szext: the low b bits, extended as the type is; 32 or more are all (.clamp), or taken modulo 32 (.wrap)."""
    a, length = (body.read(each, 32) for each in instr.operands[1:])
    if "wrap" in instr.mods:
        length = body.and_(length, 31)
    away = body.op(f"call i32 @llvm.usub.sat.i32(i32 32, i32 {length})")
    how = "ashr" if type_of(instr) in SIGNED else "lshr"
    limited = body.op(f"call i32 @llvm.umin.i32(i32 {away}, i32 31)")
    value = body.op(f"{how} i32 {body.shl(a, limited)}, {limited}")
    body.write(instr.operands[0], body.select(body.cmp("eq", length, 0), 0, value), 32)
