"""Known properties of the results of arithmetic: linear functions of the thread (ir/affine.py), and bits that may be 1
(ptx/known_bits.py)."""

from __future__ import annotations

from dsl.emulator.ir import affine
from dsl.emulator.ptx import known_bits
from dsl.emulator.ptx.syntax import SIGNED, TYPE_BITS, Imm

# ** linear functions


def _sum(how: str):
    def rule(f, instr, kind):
        bits = TYPE_BITS[kind]
        forms = affine.both(f, instr, bits, kind in SIGNED) if affine.plain(instr) else None
        return affine.fits(instr, bits, affine.add(f, *forms, bits, how)) if forms else None

    return rule


def _union(f, instr, kind):
    """or, xor: the sum, where no bit may be 1 in both."""
    return _sum("add")(f, instr, kind) if f.apart(*instr.operands[1:3], TYPE_BITS[kind]) else None


def _product(f, instr, kind) -> tuple[affine.Linear | None, int]:
    bits, is_signed = TYPE_BITS[kind], kind in SIGNED
    forms = affine.both(f, instr, bits, is_signed) if affine.plain(instr) and "hi" not in instr.mods else None
    if not forms or not (forms[0].uniform or forms[1].uniform):
        return None, bits
    a, b = forms
    if "wide" in instr.mods:
        a, b = (affine.resize(f, form, bits, 2 * bits, is_signed) for form in forms)
        bits *= 2
        if a is None or b is None:
            return None, bits
    return affine.multiply(f, a, b, bits), bits


def _multiply(f, instr, kind):
    result, bits = _product(f, instr, kind)
    return affine.fits(instr, bits, result)


def _multiply_add(f, instr, kind):
    wide = TYPE_BITS[kind] * (2 if "wide" in instr.mods else 1)
    term = f.of(instr.operands[3], wide, kind in SIGNED)
    result, bits = _product(f, instr, kind) if term else (None, 0)
    return affine.fits(instr, bits, affine.add(f, result, term, bits)) if result else None


def _shift(f, instr, kind):
    bits = TYPE_BITS[kind]
    form, amount = f.of(instr.operands[1], bits, False), f.of(instr.operands[2], 32, False)
    by = affine.number(amount.base) if amount and amount.uniform else None
    if form is None or by is None or not 0 <= by < bits:
        return None
    return affine.fits(instr, bits, affine.multiply(f, form, affine.Linear(str(affine.signed(1 << by, bits))), bits))


def _constant(operand, bits: int) -> int | None:
    return operand.value & ((1 << bits) - 1) if isinstance(operand, Imm) else None


def _varying(f, operand, bits: int) -> affine.Linear | None:
    """The form of an operand that differs between threads."""
    form = f.of(operand, bits, False)
    return None if form is None or form.uniform else form


def _shift_right(f, instr, kind):
    bits, by = TYPE_BITS[kind], _constant(instr.operands[2], 32)
    form = _varying(f, instr.operands[1], bits)
    if form is None or by is None or by >= bits:
        return None
    reach = f.reach(instr.operands[1], bits)
    return affine.fits(instr, bits, affine.shift_right(f, form, reach, by, bits, kind in SIGNED))


def _mask(f, instr, kind):
    """and with one run of ones: the bits from its first to its last."""
    bits = TYPE_BITS[kind]
    for value, other in (instr.operands[1:3], instr.operands[2:0:-1]):
        mask = _constant(other, bits)
        form = _varying(f, value, bits) if mask else None
        if form is not None and mask is not None:
            first, end = (mask & -mask).bit_length() - 1, mask.bit_length()
            reach = f.reach(value, bits)
            if mask != (1 << end) - (1 << first):
                return None
            low = affine.below(f, form, reach, end, bits)
            reach = affine.Reach(reach.mask & ((1 << end) - 1), reach.last)
            return affine.fits(instr, bits, low and affine.from_bit(f, low, reach, first, bits))
    return None


def _extract(f, instr, kind):
    """bfe of unsigned integers: bits from a place on."""
    bits = TYPE_BITS[kind]
    first, count = (_constant(operand, 8) for operand in instr.operands[2:4])
    form = _varying(f, instr.operands[1], bits)
    if form is None or first is None or count is None or kind in SIGNED or first >= bits:
        return None
    reach, end = f.reach(instr.operands[1], bits), min(first + count, bits)
    low = affine.below(f, form, reach, end, bits)
    reach = affine.Reach(reach.mask & ((1 << end) - 1), reach.last)
    return affine.fits(instr, bits, low and affine.shift_right(f, low, reach, first, bits, False))


def _power_of_two(f, instr, kind) -> int | None:
    """n of an unsigned divisor 2^n."""
    divisor = _constant(instr.operands[2], TYPE_BITS[kind])
    return divisor.bit_length() - 1 if divisor and not divisor & (divisor - 1) and kind not in SIGNED else None


def _quotient(f, instr, kind):
    by, bits = _power_of_two(f, instr, kind), TYPE_BITS[kind]
    form = _varying(f, instr.operands[1], bits)
    if form is None or by is None:
        return None
    reach = f.reach(instr.operands[1], bits)
    return affine.fits(instr, bits, affine.shift_right(f, form, reach, by, bits, False))


def _remainder(f, instr, kind):
    by, bits = _power_of_two(f, instr, kind), TYPE_BITS[kind]
    form = _varying(f, instr.operands[1], bits)
    if form is None or by is None:
        return None
    return affine.fits(instr, bits, affine.below(f, form, f.reach(instr.operands[1], bits), by, bits))


def _negate(f, instr, kind):
    bits = TYPE_BITS[kind]
    form = f.of(instr.operands[1], bits, True)
    return affine.fits(instr, bits, affine.add(f, affine.Linear("0"), form, bits, "sub")) if form else None


def _select(f, instr, kind):
    bits = TYPE_BITS[kind]
    flag = f.of(instr.operands[3], 1, False)
    forms = affine.both(f, instr, bits, False)
    if not forms or flag is None or not flag.uniform:
        return None
    return affine.fits(instr, bits, affine.choose(f, flag.base, *forms, bits))


FORMS = {
    "add": _sum("add"), "sub": _sum("sub"), "mul": _multiply, "mad": _multiply_add, "shl": _shift, "neg": _negate,
    "selp": _select, "or": _union, "xor": _union, "shr": _shift_right, "and": _mask, "bfe": _extract,
    "div": _quotient, "rem": _remainder,
}  # fmt: skip

# ** bits: the mask of what an instruction of a type writes, perhaps with bits beyond its width


def _and_bits(f, instr, kind, bits):
    return f.of(instr.operands[1], bits) & f.of(instr.operands[2], bits)


def _either_bits(f, instr, kind, bits):
    return f.of(instr.operands[1], bits) | f.of(instr.operands[2], bits)


def _total(a: int, b: int) -> int:
    """The mask of a sum: it ends in the zeros that both end in, and is at most both masks added."""
    both = a | b
    return known_bits.up_to(a + b) & -(both & -both)


def _sum_bits(f, instr, kind, bits):
    return _total(f.of(instr.operands[1], bits), f.of(instr.operands[2], bits))


def _product_bits(f, instr, kind, bits):
    a, b = (f.of(operand, bits) for operand in instr.operands[1:3])
    low = (a & -a) * (b & -b)
    if "wide" in instr.mods and kind in SIGNED and (a | b) >> (bits - 1):
        return -low
    return known_bits.up_to(a * b) & -low


def _multiply_add_bits(f, instr, kind, bits):
    wide = 2 * bits if "wide" in instr.mods else bits
    product = _product_bits(f, instr, kind, bits) & ((1 << wide) - 1)
    return _total(product, f.of(instr.operands[3], wide))


def _shift_left_bits(f, instr, kind, bits):
    by = instr.operands[2]
    return f.of(instr.operands[1], bits) << min(by.value & 0xFFFFFFFF, bits) if isinstance(by, Imm) else -1


def _shift_right_bits(f, instr, kind, bits):
    by, mask = instr.operands[2], f.of(instr.operands[1], bits)
    if not isinstance(by, Imm) or (kind in SIGNED and mask >> (bits - 1)):
        return -1
    return mask >> min(by.value & 0xFFFFFFFF, bits)


SET_BITS = {
    "and": _and_bits, "or": _either_bits, "xor": _either_bits, "selp": _either_bits, "add": _sum_bits,
    "mul": _product_bits, "mad": _multiply_add_bits, "shl": _shift_left_bits, "shr": _shift_right_bits,
}  # fmt: skip
