"""The registers that an instruction reads and sets, and the state space it names."""

from __future__ import annotations

from dsl.emulator.ptx.syntax import Addr, Instr, Not, Pair, Reg, Vec

HINTS = frozenset("prefetch prefetchu pmevent discard applypriority griddepcontrol setmaxnreg".split())
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


def writes(instr: Instr) -> list[Reg]:
    """The registers that an instruction sets: the first operand, which may be a vector or a pair."""
    if instr.opcode in ("st", "bra", "bar", "barrier", *LEAVES) or instr.opcode in HINTS or not instr.operands:
        return []
    return list(registers(instr.operands[0]))


def reads(instr: Instr) -> list[Reg]:
    """The registers whose value it needs."""
    regs = list(registers(instr.guard))
    for operand in instr.operands[1 if writes(instr) else 0 :]:
        regs += registers(operand)
    if isinstance(instr.operands[0] if instr.operands else None, Addr):
        regs += registers(instr.operands[0])
    return regs


def space_of(instr: Instr) -> str:
    """The state space an instruction names; without one, generic. "cluster" is shared::cluster."""
    for modifier in instr.mods:
        if modifier == "shared::cluster":
            return "cluster"
        root = modifier.split("::")[0]
        if root in _SPACES:
            return root
    return "generic"
