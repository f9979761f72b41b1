"""Which bits of an integer register may be 1: what shows that an `or` is an addition.

LLVM prints `ctaid * 128 + tid` as `shl` and `or` where the block's size says that no bit is in both. A register's mask
covers all it is ever given, wherever that is; a bit outside the mask is 0 in every thread at every time. Whatever has
no rule may have any bit.
"""

from __future__ import annotations

from dsl.emulator.ptx.syntax import FLOATS, SIGNED, TYPE_BITS, Function, Imm, Instr, Reg, Special

DEEPEST = 12  # instructions that one answer looks through
MAX_BLOCK = (1024, 1024, 64)  # threads along x, y and z; CUDA guide, compute capabilities


def up_to(value: int) -> int:
    """The mask of the numbers from 0 to `value`."""
    return (1 << value.bit_length()) - 1


class SetBits:
    """The masks of a function's registers. `writers` has every instruction that writes a register, by its name.

    Registers must be written before they are read. A launch has the shape that `.reqntid` demands, or any: `.maxntid`
    bounds nothing, for a launch is not held to it.
    """

    def __init__(self, function: Function, writers: dict[str, list[Instr]]):
        self.block, self.writers = function.reqntid or MAX_BLOCK, writers
        self.known: dict[str, int] = {}
        self.open: set[str] = set()  # registers whose answer is being looked for

    def apart(self, a, b, bits: int) -> bool:
        """Whether no bit may be 1 in both operands, read as `bits` wide: then a | b == a + b == a ^ b."""
        return not self.of(a, bits) & self.of(b, bits)

    def of(self, operand, bits: int) -> int:
        """The mask of an operand that an instruction reads as `bits` wide."""
        every = (1 << bits) - 1
        if isinstance(operand, Imm):
            return operand.value & every
        if isinstance(operand, Special) and operand.name in ("%tid.x", "%tid.y", "%tid.z"):
            return up_to(self.block["xyz".index(operand.name[-1])] - 1) & every
        if isinstance(operand, Reg) and operand.bits >= bits:
            return self._register(operand) & every
        return every

    def _register(self, reg: Reg) -> int:
        if reg.name in self.known:
            return self.known[reg.name]
        every = (1 << reg.bits) - 1
        if reg.name in self.open or len(self.open) >= DEEPEST:
            return every
        self.open.add(reg.name)
        mask = 0 if reg.name in self.writers else every
        for instr in self.writers.get(reg.name, ()):
            mask |= self._written(instr, reg)
        self.open.remove(reg.name)
        self.known[reg.name] = mask
        return mask

    def _written(self, instr: Instr, reg: Reg) -> int:
        """The mask of what `instr` gives `reg`."""
        every, rule = (1 << reg.bits) - 1, _RULES.get(instr.opcode)
        if rule is None or instr.operands[0] != reg or not {"sat", "cc", "hi"}.isdisjoint(instr.mods):
            return every
        kind = next((m for m in instr.mods if m in TYPE_BITS), "pred")  # of a cvt, what it writes
        if kind in FLOATS or kind[0] not in "bus" or kind.endswith("x2"):
            return every
        if reg.bits != TYPE_BITS[kind] * (2 if "wide" in instr.mods else 1):
            return every
        return rule(self, instr, kind, TYPE_BITS[kind]) & every


# ** rules: the mask of what an instruction of a type writes, perhaps with bits beyond its width


def _move(f, instr, kind, bits):
    return f.of(instr.operands[1], bits)


def _and(f, instr, kind, bits):
    return f.of(instr.operands[1], bits) & f.of(instr.operands[2], bits)


def _either(f, instr, kind, bits):
    return f.of(instr.operands[1], bits) | f.of(instr.operands[2], bits)


def _total(a: int, b: int) -> int:
    """The mask of a sum: it ends in the zeros that both end in, and is no more than both masks added."""
    both = a | b
    return up_to(a + b) & -(both & -both)


def _add(f, instr, kind, bits):
    return _total(f.of(instr.operands[1], bits), f.of(instr.operands[2], bits))


def _times(f, instr, kind, bits):
    a, b = (f.of(operand, bits) for operand in instr.operands[1:3])
    low = (a & -a) * (b & -b)
    if "wide" in instr.mods and kind in SIGNED and (a | b) >> (bits - 1):
        return -low
    return up_to(a * b) & -low


def _times_add(f, instr, kind, bits):
    wide = 2 * bits if "wide" in instr.mods else bits
    product = _times(f, instr, kind, bits) & ((1 << wide) - 1)
    return _total(product, f.of(instr.operands[3], wide))


def _shift_left(f, instr, kind, bits):
    by = instr.operands[2]
    return f.of(instr.operands[1], bits) << min(by.value & 0xFFFFFFFF, bits) if isinstance(by, Imm) else -1


def _shift_right(f, instr, kind, bits):
    by, mask = instr.operands[2], f.of(instr.operands[1], bits)
    if not isinstance(by, Imm) or (kind in SIGNED and mask >> (bits - 1)):
        return -1
    return mask >> min(by.value & 0xFFFFFFFF, bits)


def _convert(f, instr, kind, bits):
    source = instr.mods[-1]
    if len(instr.mods) != 2 or source not in TYPE_BITS or source[0] not in "us" or source.endswith("x2"):
        return -1
    mask = f.of(instr.operands[1], TYPE_BITS[source])
    return -1 if source in SIGNED and mask >> (TYPE_BITS[source] - 1) else mask


_RULES = {
    "mov": _move, "and": _and, "or": _either, "xor": _either, "selp": _either, "add": _add, "mul": _times,
    "mad": _times_add, "shl": _shift_left, "shr": _shift_right, "cvt": _convert,
}  # fmt: skip
