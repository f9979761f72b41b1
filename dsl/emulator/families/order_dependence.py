"""The instructions of a kernel whose effect may be another one if its threads run in another order, though none races.

Without any, a kernel does the same in every order: each wait ends by what all threads do before it, each read sees the
one write that is ordered last before it, and each thread goes its one way. So a run that is clean speaks for all, given
that the checkers of that run hold (docs/schedules.md has the argument):

- no two accesses race, of which at least one is not strong (check/race.cc);
- each generation of a barrier, and each phase of an mbarrier, comes after the one before (families/barrier/check.py,
  families/mbarrier/turns.py).

A peek is a try_wait whose answer only spares the thread a wait, as NVIDIA's pipelines use it. It may always fail (PTX
ISA 9.7.13.15.16: it waits for a time that the machine chooses). If it fails each time in a second run, and the wait
that it would have spared is for the same phase of the same mbarrier each time, then a peek that succeeds tells what
that wait would have told, only sooner, and the order does not depend on it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from dsl.emulator.ptx.basic_blocks import BasicBlocks
from dsl.emulator.ptx.operands import reads, registers, result, writes
from dsl.emulator.ptx.polling import polls
from dsl.emulator.ptx.syntax import Function, Instr, Module, Not, Reg, Special, Sym
from dsl.emulator.ptx.traits import ATOMIC, COMPUTES, COPY, LOAD, MBARRIER, POLLS, REDUCTION, STORE, TIMED, WAIT

_STRONG = frozenset({"volatile", "relaxed", "acquire", "release", "mmio"})
_UPDATES = frozenset({"add", "and", "or", "xor", "min", "max", "inc", "dec"})  # each the same in every order
_ROUNDED = frozenset({"f16", "f16x2", "bf16", "bf16x2", "f32", "f64"})
_MACHINE = ("%clock", "%globaltimer", "%smid", "%warpid", "%pm")
_KNOWN_CALLS = frozenset({"vprintf", "__assertfail"})


class Dependence(NamedTuple):
    """An instruction, why its effect depends on the order, and whether it is only a peek."""

    instr: Instr
    why: str
    is_peek: bool = False


def dependences(entry: Function, functions: Mapping[str, Function]) -> Iterator[Dependence]:
    """Those of an entry and of all that it calls, in the order of the text."""
    waiting, seen = [entry], {entry.name}
    while waiting:
        function = waiting.pop(0)
        yield from _of_function(function, functions)
        for item in function.items:
            if isinstance(item, Instr) and item.opcode == "call":
                name = next((o.name for o in item.operands if isinstance(o, Sym)), "")
                callee = functions.get(name)
                if (callee is None or not callee.items) and name not in _KNOWN_CALLS:
                    yield Dependence(item, "the function that it calls is not in this module")
                elif callee is not None and name not in seen:
                    seen.add(name)
                    waiting.append(callee)


def _of_function(function: Function, functions: Mapping[str, Function]) -> Iterator[Dependence]:
    items = [each for each in function.items if isinstance(each, Instr)]
    read = {each.name for item in items for each in reads(item)}
    updates = {kind for item in items if item.traits & (ATOMIC | REDUCTION) for kind in _UPDATES & {*item.mods}}
    settled = waits_until_the_end(function, functions)
    for item in items:
        if why := _why(item, read, settled) or _mixed(item, updates):
            yield Dependence(item, why, bool(item.traits & WAIT and _spared(function, item, settled)))


def waits_until_the_end(function: Function, functions: Mapping[str, Function]) -> set[int]:
    """The waits for a phase of an mbarrier that are tried again until it has ended, and do nothing else: by id."""
    found = set()
    for poll in polls(function, functions).values():
        inside = [each for i in poll.positions if isinstance(each := function.items[i], Instr)]
        waits = [each for each in inside if each.traits & WAIT]
        if poll.idle and len(waits) == 1 and not any(_reads_others(each) for each in inside if each is not waits[0]):
            found.add(id(waits[0]))
    return found


def _reads_others(item: Instr) -> bool:
    return bool(item.traits & (LOAD | ATOMIC) and {"param", "const", "local"}.isdisjoint(item.mods))


def _why(item: Instr, read: set[str], settled: set[int]) -> str:
    """Why the effect of an instruction depends on the order; "" if it does not."""
    mods = set(item.mods)
    if item.traits & TIMED or (item.traits & MBARRIER and "complete_tx" in mods):
        return "what it does depends on how far other threads are"
    if item.traits & WAIT:
        return "" if id(item) in settled else "its answer is used for more than to wait again"
    if any(isinstance(each, Special) and each.name.startswith(_MACHINE) for each in item.operands):
        return "it reads the time, or where the thread runs"
    if item.traits & ATOMIC and (item.traits & POLLS or _is_read(item, read)):
        return "its result depends on which threads came before"
    if item.traits & (ATOMIC | REDUCTION):
        if mods.isdisjoint(_UPDATES):
            return "what memory holds after it depends on which thread comes last"
    if item.traits & (ATOMIC | REDUCTION | COPY) and "add" in mods:
        if not mods.isdisjoint(_ROUNDED) or "tensor" in mods:
            return "sums of floats are rounded in the order in which threads come"
    if item.traits & LOAD and not mods.isdisjoint(_STRONG):
        return "it may read before or after a strong write of another thread"
    if item.traits & STORE and not mods.isdisjoint(_STRONG):
        return "what memory holds after it depends on which thread comes last"
    return ""


def _mixed(item: Instr, updates: set[str]) -> str:
    """Whether other instructions may update the same memory in another way: (x + 1) & 2 is not (x & 2) + 1."""
    others = updates - {*item.mods}
    if not item.traits & (ATOMIC | REDUCTION) or not others:
        return ""
    return f"an update by `{min(others)}` may come before or after it"


def _is_read(item: Instr, read: set[str]) -> bool:
    return any(isinstance(each, Reg) and each.name in read for each in registers(result(item)))


def fail_peeks(module: Module) -> None:
    """Let all peeks of a module fail, and give each the group of the waits that it may spare."""
    for function in module.functions.values():
        settled = waits_until_the_end(function, module.functions)
        spared = {
            id(each.instr): _spared(function, each.instr, settled)
            for each in _of_function(function, module.functions)
            if each.is_peek
        }
        groups = _joined(spared)
        items: list = []
        for item in function.items:
            items.append(item)
            if isinstance(item, Instr):
                item.group = groups.get(id(item), 0)
            if id(item) in spared:
                item.group = -item.group
                items.append(_cleared(item))
        function.items = items


def _joined(spared: dict[int, set[int]]) -> dict[int, int]:
    """A number from 1 on for each peek and each wait; those that belong together have the same."""
    groups: dict[int, int] = {}
    for number, (peek, waits) in enumerate(spared.items(), 1):
        old = {groups[each] for each in waits if each in groups}
        groups |= dict.fromkeys([peek, *waits], number)
        groups |= {each: number for each, group in groups.items() if group in old}
    return groups


def _cleared(peek: Instr) -> Instr:
    """An instruction after it that makes its answer false, whatever it is."""
    answer = peek.operands[0]
    operands = [answer, answer, Not(answer)]
    return dataclasses.replace(
        peek, opcode="and", mods=("pred",), operands=operands, traits=COMPUTES, text="and.pred", group=0
    )


def _spared(function: Function, wait: Instr, settled: set[int]) -> set[int]:
    """The waits, by id, that the answer of a try_wait may spare its thread; none if it decides more than that."""
    if "try_wait" not in wait.mods or wait.guard is not None:
        return set()
    blocks = BasicBlocks(function)
    items = [each for each in function.items if isinstance(each, Instr)]
    derived, size, spared = {each.name for each in writes(wait)}, 0, set()
    while size != len(derived):
        size = len(derived)
        for item in items:
            if item is not wait and any(reg.name in derived for reg in reads(item)):
                if item.traits & COMPUTES:
                    derived |= {each.name for each in writes(item)}
                    continue
                waits = _waits_of(blocks, item, settled) if item.opcode == "bra" else set()
                if not waits:
                    return set()
                spared |= waits
    return spared


def _waits_of(blocks: BasicBlocks, branch: Instr, settled: set[int]) -> set[int]:
    """The waits of one way of a branch, if there is nothing else, and it comes to where the other way leads at once."""
    at = next(at for at, item in enumerate(blocks.items) if item is branch)
    ways = blocks.following[blocks.block_of[at]]
    if len(ways) != 2:
        return set()
    one, other = ways
    return _only_waits(blocks, one, other, settled) or _only_waits(blocks, other, one, settled)


def _only_waits(blocks: BasicBlocks, arm: int, joint: int, settled: set[int]) -> set[int]:
    items: list[Instr] = []
    for block in blocks.reach([arm], joint):
        items += blocks.instructions(block)
        if blocks.end in blocks.following[block]:
            return set()
    waits = {id(each) for each in items} & settled
    return waits if joint < blocks.end and all(id(each) in waits or each.opcode == "bra" for each in items) else set()
