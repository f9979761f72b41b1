"""Instructions that do nothing but order threads, and a module without some of them.

The emulator runs such a module to show that nothing needs them (launch/devices/redundancy.py). Instructions are left
alone if the checkers are kinder than the PTX ISA and may not see that they are needed (`hides` in orderings.py).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dsl.emulator.check import ordering
from dsl.emulator.families.order_dependence import waits_until_the_end
from dsl.emulator.ptx.analysis import reachable
from dsl.emulator.ptx.operands import result
from dsl.emulator.ptx.syntax import Addr, Function, Imm, Instr, Module
from dsl.emulator.ptx.traits import ATOMIC, CLUSTER, COMPUTES, STORE, TIMED, UPDATES, WAIT

_EFFECTS = ATOMIC | UPDATES | STORE | TIMED
Position = tuple[str, int]  # a function, and an index of its items


class Step(NamedTuple):
    """An instruction that does nothing but order threads. `is_hidden`: the checkers may not see that it is needed;
    `others`: instructions that have to be left out with it."""

    position: Position
    instr: Instr
    is_hidden: bool
    others: tuple[Position, ...]


def steps(module: Module, entry: str) -> Iterator[Step]:
    """Those of an entry and of all that it calls, in the order of the text."""
    functions = reachable(module, module.functions[entry])
    hidden = {name for each in functions for item in _instructions(each) for name in _hides(item)}
    for function in functions:
        settled = waits_until_the_end(function, module.functions)
        for at, item in enumerate(function.items):
            if isinstance(item, Instr) and (id(item) in settled or _only_orders(item)):
                is_hidden = not hidden.isdisjoint(ordering.of(item).names.split()) and not _is_repeated(function, at)
                yield Step((function.name, at), item, is_hidden, _halves(function, at))


def remove(module: Module, positions: Sequence[Position]) -> None:
    """Leave out these instructions; a wait finds its phase ended at once."""
    for name, chosen in _by_function(positions):
        items = module.functions[name].items
        module.functions[name].items = [
            _ended(item) if at in chosen and item.traits & WAIT else item
            for at, item in enumerate(items)
            if at not in chosen or item.traits & WAIT
        ]


def trap(module: Module, positions: Sequence[Position]) -> None:
    """Let each of these instructions end the launch."""
    for name, chosen in _by_function(positions):
        for at in chosen:
            item = module.functions[name].items[at]
            module.functions[name].items[at] = dataclasses.replace(
                item, opcode="trap", mods=(), operands=[], traits=0, text="trap"
            )


def _by_function(positions: Sequence[Position]) -> Iterator[tuple[str, set[int]]]:
    for name in dict.fromkeys(function for function, _ in positions):
        yield name, {at for function, at in positions if function == name}


def _instructions(function: Function) -> list[Instr]:
    return [each for each in function.items if isinstance(each, Instr)]


def _hides(instr: Instr) -> list[str]:
    row = ordering.find(instr)
    return row.hides.split() if row is not None else []


def _only_orders(instr: Instr) -> bool:
    """Whether it has a row of orderings, and neither a result nor an access of memory."""
    if ordering.find(instr) is None or instr.traits & _EFFECTS:
        return False
    return result(instr) is None and not any(isinstance(each, Addr) for each in instr.operands)


def _is_repeated(function: Function, at: int) -> bool:
    """Whether the same instruction comes right before it."""
    here, before = function.items[at], function.items[at - 1] if at else None
    return isinstance(before, Instr) and (before.name, before.operands, before.guard) == (
        here.name,
        here.operands,
        here.guard,
    )


def _halves(function: Function, at: int) -> tuple[Position, ...]:
    """The wait that comes after an arrival at the barrier of the cluster, or the arrival before a wait."""
    item = function.items[at]
    if not item.traits & CLUSTER:
        return ()
    rows = range(at + 1, len(function.items)) if "arrive" in item.mods else range(at - 1, -1, -1)
    other = "wait" if "arrive" in item.mods else "arrive"
    for i in rows:
        each = function.items[i]
        if isinstance(each, Instr) and each.opcode == item.opcode and each.traits & CLUSTER and other in each.mods:
            return ((function.name, i),)
    return ()


def _ended(wait: Instr) -> Instr:
    """An instruction in the place of a wait: the phase has ended."""
    operands = [wait.operands[0], Imm(0), Imm(0)]
    return dataclasses.replace(
        wait, opcode="setp", mods=("eq", "u32"), operands=operands, traits=COMPUTES, text="setp.eq.u32", group=0
    )
