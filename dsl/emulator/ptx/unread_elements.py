"""Vector loads whose last element nobody reads, as loads of the others.

LLVM loads three neighbours as four if it knows that the address is a multiple of 16 bytes. The fourth may be past
the end of its memory, or belong to another thread: no hardware minds, and no program sees it.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator

from dsl.emulator.ptx.analysis import names
from dsl.emulator.ptx.syntax import TYPE_BITS, Addr, Function, Instr, Pair, Reg, Vec
from dsl.emulator.ptx.traits import LOAD

_OBSERVED = frozenset({"volatile", "relaxed", "acquire", "mmio"})


def without_unread_elements(function: Function) -> list:
    """The function's items, with a load of two and a load of one for each load of four whose last is never read."""
    if not any(map(_is_load_of_four, function.items)):
        return function.items
    named = Counter(_registers(function))
    return [part for item in function.items for part in _parts(item, named)]


def _is_load_of_four(item) -> bool:
    return isinstance(item, Instr) and bool(item.traits & LOAD) and "v4" in item.mods


def _registers(function: Function) -> Iterator[str]:
    for item in function.items:
        if isinstance(item, Instr):
            for operand in (item.guard, *item.operands):
                pair = (operand.first, operand.second) if isinstance(operand, Pair) else (operand,)
                for each in pair:
                    yield from names(each)


def _parts(item, named: Counter) -> list:
    if not _is_load_of_four(item) or not _OBSERVED.isdisjoint(item.mods):
        return [item]
    four, address, *rest = item.operands
    registers = [each for each in four.items if isinstance(each, Reg)] if isinstance(four, Vec) else []
    if len(registers) < 4 or not isinstance(address, Addr) or named[registers[3].name] != 1:
        return [item]
    if isinstance(address.base, Reg) and address.base in registers:
        return [item]
    behind = dataclasses.replace(address, offset=address.offset + 2 * TYPE_BITS[item.mods[-1]] // 8)
    place = item.mods.index("v4")
    before, after = item.mods[:place], item.mods[place + 1 :]
    return [
        dataclasses.replace(item, mods=(*before, "v2", *after), operands=[Vec(tuple(registers[:2])), address, *rest]),
        dataclasses.replace(item, mods=before + after, operands=[registers[2], behind, *rest]),
    ]
