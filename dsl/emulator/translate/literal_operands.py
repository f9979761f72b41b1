"""Registers that always hold one number, as literals in the instructions at which lanes meet: a mask is known then."""

from __future__ import annotations

from dataclasses import replace

from dsl.emulator.ptx.operands import given, writes
from dsl.emulator.ptx.syntax import Function, Imm, Instr, Reg
from dsl.emulator.ptx.traits import EXCHANGE, MOVES


def with_literals(function: Function) -> Function:
    """The function, whose registers are all set before they are read."""
    if not any(isinstance(item, Instr) and item.traits & EXCHANGE for item in function.items):
        return function
    known = _literals(function)
    return replace(function, items=[_replaced(item, known) for item in function.items])


def _literals(function: Function) -> dict[str, Imm]:
    """The number in each register that one move alone sets."""
    numbers: dict[str, Imm | None] = {}
    for item in function.items:
        for reg in writes(item) if isinstance(item, Instr) else ():
            numbers[reg.name] = _number(item) if reg.name not in numbers else None
    return {name: number for name, number in numbers.items() if number is not None}


def _number(instr: Instr) -> Imm | None:
    is_move = instr.traits & MOVES and instr.guard is None and len(instr.operands) == 2
    return instr.operands[1] if is_move and isinstance(instr.operands[1], Imm) else None


def _replaced(item, known: dict[str, Imm]):
    if not isinstance(item, Instr) or not item.traits & EXCHANGE:
        return item
    last = given(item)
    rest = [known.get(each.name, each) if isinstance(each, Reg) else each for each in last]
    return replace(item, operands=[*item.operands[: len(item.operands) - len(last)], *rest])
