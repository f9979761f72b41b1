"""The registers that an instruction reads and sets, and the state space it names."""

from __future__ import annotations

from dsl.emulator.ptx.syntax import SINK, Addr, Imm, Instr, Not, Pair, Reg, Sym, Vec
from dsl.emulator.ptx.traits import MULTIMEM, NO_RESULT, TWO_RESULTS

LEAVES = ("ret", "exit")
_SPACES = ("global", "shared", "local", "const", "param")


def registers(operand):
    """Names and widths of the registers in an operand."""
    if isinstance(operand, Reg):
        yield operand
    elif isinstance(operand, Addr):
        yield from registers(operand.base)
    elif isinstance(operand, Not):
        yield from registers(operand.item)
    elif isinstance(operand, Pair):
        yield from registers(operand.first)
        yield from registers(operand.second)
    elif isinstance(operand, Vec):
        for each in operand.items:
            yield from registers(each)


def result(instr: Instr):
    """The operand that an instruction sets: the first, which may be a vector or a pair; None if it sets none. A pair of
    both if it sets two."""
    if instr.traits & TWO_RESULTS:
        return Pair(*instr.operands[:2])
    first = instr.operands[0] if instr.operands else None
    return None if isinstance(first, (Addr, Imm, Sym)) or first is SINK or instr.traits & NO_RESULT else first


def given(instr: Instr) -> list:
    """The operands after those that an instruction sets."""
    count = 2 if instr.traits & TWO_RESULTS else 0 if result(instr) is None else 1
    return instr.operands[count:]


def writes(instr: Instr) -> list[Reg]:
    """The registers that an instruction sets."""
    return list(registers(result(instr)))


def reads(instr: Instr) -> list[Reg]:
    """The registers whose value it needs."""
    regs = list(registers(instr.guard))
    for operand in given(instr):
        regs += registers(operand)
    return regs


def space_of(instr: Instr) -> str:
    """The state space an instruction names; without one, generic. "cluster" is shared::cluster, "multicast"
    the space of multimem addresses."""
    if instr.traits & MULTIMEM:
        return "multicast"
    for modifier in instr.mods:
        if modifier == "shared::cluster":
            return "cluster"
        root = modifier.split("::")[0]
        if root in _SPACES:
            return root
    return "generic"
