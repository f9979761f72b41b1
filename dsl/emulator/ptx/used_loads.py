"""Loads of which only some threads of a block use anything.

A compiler may let all threads load and only some store: Triton gives the threads that a tensor does not need the
elements of other threads, and puts a predicate on what they store. A load whose value its thread does not use is
part of no race. The predicate is found if it depends on the place of the thread alone: it is known when it loads.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

from dsl.emulator.ptx.operands import reads, result, space_of, writes
from dsl.emulator.ptx.syntax import Function, Instr, Label, Reg, Special
from dsl.emulator.ptx.traits import COMPUTES, CONVERTS, LOAD, MOVES, READS

_OBSERVED = frozenset({"volatile", "relaxed", "acquire", "mmio"})
_OF_THE_PLACE = ("%tid", "%ntid", "%ctaid", "%nctaid", "%laneid")  # beginnings of special registers
_MOST_STEPS = 16  # of computing a predicate


def with_uses(function: Function) -> list:
    """The function's items, with `used_if` of the loads whose uses have such a predicate.

    It is computed before the load: in new registers, if the program computes it later.
    """
    loads = [at for at, item in enumerate(function.items) if isinstance(item, Instr) and _may_be_unused(item)]
    if not loads:
        return function.items
    flow = _Flow(function)
    added: dict[int, list[Instr]] = {}
    for at in loads:
        steps = flow.predicate_of_uses(function.items[at])
        if steps:
            added[at], function.items[at].used_if = _before(function, at, steps)
    return [part for at, item in enumerate(function.items) for part in (*added.get(at, ()), item)]


def _may_be_unused(item: Instr) -> bool:
    return bool(item.traits & LOAD) and item.guard is None and space_of(item) in ("global", "generic", "shared") and (
        _OBSERVED.isdisjoint(item.mods)
    )  # fmt: skip


class _Flow:
    """The instructions that set and that read each register of a function."""

    def __init__(self, function: Function):
        self.items = function.items
        self.set_at: dict[str, list[int]] = {}
        self.read_at: dict[str, list[int]] = {}
        self.steps: dict[str, list[int]] = {}  # see _steps
        for at, item in enumerate(function.items):
            if isinstance(item, Instr):
                for table, regs in ((self.set_at, writes(item)), (self.read_at, reads(item))):
                    for reg in regs:
                        table.setdefault(reg.name, []).append(at)

    def predicate_of_uses(self, load: Instr) -> list[int]:
        """The instructions, in order, that compute a predicate without which nothing happens that depends on a load; []
        if there is none."""
        common: frozenset[str] | None = None
        for reg in writes(load):
            common = _both(common, self._needed.get(reg.name))
        return self._steps(min(common)) if common else []

    @functools.cached_property
    def _needed(self) -> dict[str, frozenset[str] | None]:
        """By register: the predicates, of the thread's place, which each use of its value needs, directly or of a value
        computed from it. A register is missing if nothing uses it."""
        needed: dict[str, frozenset[str] | None] = {}
        sources: dict[str, set[str]] = {}  # by register: those that it is computed from
        for name, places in self.read_at.items():
            for item in (self.items[at] for at in places):
                if item.traits & (COMPUTES | CONVERTS | MOVES) and not item.traits & READS:
                    for reg in writes(item):
                        sources.setdefault(reg.name, set()).add(name)
                else:
                    conditions = (reg.name for reg in self._conditions(item.guard))
                    needed[name] = _both(needed.get(name), frozenset(filter(self._steps, conditions)))
        waiting = list(needed)
        while waiting:
            name = waiting.pop()
            for source in sources.get(name, ()):
                less = _both(needed.get(source), needed[name])
                if less != needed.get(source):
                    needed[source] = less
                    waiting.append(source)
        return needed

    def _conditions(self, guard) -> Iterator[Reg]:
        """Predicates that hold if a guard does."""
        if not isinstance(guard, Reg):
            return
        yield guard
        item = self._only(guard.name)
        if item is not None and item.name == "and.pred" and self._is_after_its_sources(guard.name, item):
            for each in item.operands[1:]:
                yield from self._conditions(each)

    def _is_after_its_sources(self, name: str, item: Instr) -> bool:
        """Whether what an instruction reads is set before it in the text: so it is not computed from itself."""
        return all(max(self.set_at.get(reg.name, [-1])) < self.set_at[name][0] for reg in reads(item))

    def _only(self, name: str) -> Instr | None:
        """The instruction that sets a register, if there is one, and no guard is on it."""
        places = self.set_at.get(name, [])
        item = self.items[places[0]] if len(places) == 1 else None
        return item if item is not None and item.guard is None else None

    def _steps(self, predicate: str) -> list[int]:
        """The instructions that compute a predicate from the thread's place alone, in order; [] if it needs more."""
        if predicate not in self.steps:
            self.steps[predicate] = self._found_steps(predicate)
        return self.steps[predicate]

    def _found_steps(self, predicate: str) -> list[int]:
        steps: set[int] = set()
        queue = [predicate]
        while queue:
            name = queue.pop()
            item = self._only(name)
            if item is None or not _is_of_the_place(item) or len(steps) > _MOST_STEPS:
                return []
            if not self._is_after_its_sources(name, item):
                return []
            steps.add(self.set_at[name][0])
            queue += [reg.name for reg in reads(item)]
        return sorted(steps) if max(steps) == self.set_at[predicate][0] else []


def _both(a: frozenset[str] | None, b: frozenset[str] | None) -> frozenset[str] | None:
    """The names in both; None has every name."""
    return b if a is None else a if b is None else a & b


def _is_of_the_place(item: Instr) -> bool:
    """Whether a thread gets the same from it at any time."""
    if item.traits & LOAD:
        return space_of(item) == "param" and not reads(item)
    special = (each.name for each in item.operands if isinstance(each, Special))
    return bool(item.traits & COMPUTES) and isinstance(result(item), Reg) and all(
        name.startswith(_OF_THE_PLACE) for name in special
    )  # fmt: skip


def _before(function: Function, at: int, steps: list[int]) -> tuple[list[Instr], Reg]:
    """The instructions to add before a load, and the predicate that is then known."""
    items = function.items
    (last,) = writes(items[steps[-1]])
    if steps[-1] < at and not any(isinstance(each, Label) for each in items[steps[0] : at]):
        return [], last
    renamed = {
        reg.name: dataclasses.replace(reg, name=f"{reg.name}$used{at}") for i in steps for reg in writes(items[i])
    }
    return [_renamed(items[i], renamed) for i in steps], renamed[last.name]


def _renamed(item: Instr, names: dict[str, Reg]) -> Instr:
    operands = [names.get(each.name, each) if isinstance(each, Reg) else each for each in item.operands]
    return dataclasses.replace(item, operands=operands)
