"""Which bits of an integer register may be 1: what shows that an `or` is an addition.

LLVM prints `ctaid * 128 + tid` as `shl` and `or` if the block's size shows that no bit is in both. A register's mask
covers all it is ever given, wherever that is; a bit outside the mask is 0 in every thread at every time. Whatever has
no rule may have any bit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

from dsl.emulator.ptx.syntax import FLOATS, TYPE_BITS, Function, Imm, Instr, Reg, Special, Sym

DEEPEST = 12  # instructions that one answer looks through
MAX_BLOCK = (1024, 1024, 64)  # threads along x, y and z; CUDA guide, compute capabilities


def up_to(value: int) -> int:
    """The mask of the numbers from 0 to `value`."""
    return (1 << value.bit_length()) - 1


class SetBits:
    """The masks of a function's registers. `writers` has every instruction that writes a register, by its name;
    `rules` gives, by opcode, the mask of what an instruction of a type writes, perhaps with bits beyond its width.

    Registers must be written before they are read. A launch has the shape that `.reqntid` demands, or any: `.maxntid`
    bounds nothing, for a launch is not held to it. `block` (1, 1, 1) gives the masks of what thread (0, 0, 0) computes.
    `symbols`: the addresses of variables that are the same in all launches.
    """

    def __init__(
        self,
        function: Function,
        writers: dict[str, list[Instr]],
        rules: Mapping[str, Callable],
        block: tuple[int, int, int] | None = None,
        symbols: Mapping[str, int] | None = None,
    ):
        self.block, self.writers, self.rules = block or function.reqntid or MAX_BLOCK, writers, rules
        self.symbols = symbols or {}
        self.counts = function.reqntid  # of threads, if the function demands them
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
        if isinstance(operand, Sym) and operand.name in self.symbols:
            return self.symbols[operand.name] + operand.offset & every
        if isinstance(operand, Special) and operand.name in ("%tid.x", "%tid.y", "%tid.z"):
            return up_to(self.block["xyz".index(operand.name[-1])] - 1) & every
        if isinstance(operand, Special) and self.counts and operand.name in ("%ntid.x", "%ntid.y", "%ntid.z"):
            return self.counts["xyz".index(operand.name[-1])] & every
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
        every, rule = (1 << reg.bits) - 1, self.rules.get(instr.opcode)
        if rule is None or instr.operands[0] != reg or not {"sat", "cc", "hi"}.isdisjoint(instr.mods):
            return every
        kind = next((m for m in instr.mods if m in TYPE_BITS), "pred")  # of a cvt, what it writes
        if kind in FLOATS or kind[0] not in "bus" or kind.endswith("x2"):
            return every
        if reg.bits != TYPE_BITS[kind] * (2 if "wide" in instr.mods else 1):
            return every
        return rule(self, instr, kind, TYPE_BITS[kind]) & every


class SetBitsHere(SetBits):
    """The masks before the last instruction of straight code: of what the last instruction gave a register that writes
    it there, and before that code of `whole`. `positions` has, by the name of a register, the places in the code of the
    instructions that write it."""

    def __init__(self, whole: SetBits, code: Sequence[Instr], positions: Mapping[str, Sequence[int]]):
        self.whole, self.code, self.positions = whole, code, positions
        self.block, self.rules, self.symbols, self.counts = whole.block, whole.rules, whole.symbols, whole.counts
        self.ends = [len(code) - 1]  # before the last of these places an instruction counts

    def _register(self, reg: Reg) -> int:
        positions = self.positions.get(reg.name, ())
        count = bisect_left(positions, self.ends[-1])
        if not count:
            return self.whole.of(reg, reg.bits)
        if len(self.ends) > DEEPEST:
            return (1 << reg.bits) - 1
        instr = self.code[positions[count - 1]]
        self.ends.append(positions[count - 1])
        mask = self._written(instr, reg) | (self._register(reg) if instr.guard is not None else 0)
        self.ends.pop()
        return mask
