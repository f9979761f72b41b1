"""Known properties of moved and converted values: linear functions of the thread (ir/affine.py), and bits that may
be 1 (ptx/known_bits.py)."""

from __future__ import annotations

from dsl.emulator.ir import affine
from dsl.emulator.ptx.syntax import FLOATS, SIGNED, TYPE_BITS


def _move(f, instr, kind):
    bits = TYPE_BITS[kind]
    return affine.fits(instr, bits, f.of(instr.operands[1], bits, False))


def _convert(f, instr, kind):
    target, source = instr.mods[-2:]
    if len(instr.mods) != 2 or target in FLOATS or source in FLOATS or not {target, source} <= TYPE_BITS.keys():
        return None
    form = f.of(instr.operands[1], TYPE_BITS[source], source in SIGNED)
    bits = TYPE_BITS[target]
    if form is None or instr.operands[0].bits != bits:
        return None
    return affine.resize(f, form, TYPE_BITS[source], bits, source in SIGNED)


def _move_bits(f, instr, kind, bits):
    return f.of(instr.operands[1], bits)


def _convert_bits(f, instr, kind, bits):
    source = instr.mods[-1]
    if len(instr.mods) != 2 or source not in TYPE_BITS or source[0] not in "us" or source.endswith("x2"):
        return -1
    mask = f.of(instr.operands[1], TYPE_BITS[source])
    return -1 if source in SIGNED and mask >> (TYPE_BITS[source] - 1) else mask


FORMS = {"mov": _move, "cvt": _convert}
SET_BITS = {"mov": _move_bits, "cvt": _convert_bits}
