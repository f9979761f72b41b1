"""The order that each instruction makes, and its scope: a table, whose rows are in each family's orderings.py.

The checkers, the emitters and docs/checkers.md read it; tests/emulator/check/test_ordering.py finds modifiers that no
row reads. Sections are of the PTX ISA 9.0.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from dsl.emulator import families
from dsl.emulator.check.numbers import orders, scope
from dsl.emulator.ptx.operands import result
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.ptx.traits import BARRIER

# ** modifiers and their meaning

SCOPES = {"cta": scope.CTA, "cluster": scope.CLUSTER} | dict.fromkeys(("gl", "gpu", "sys"), scope.ALL)
ACQUIRES, RELEASES = frozenset({"acquire", "acq_rel"}), frozenset({"release", "acq_rel"})
STRONG = frozenset({"volatile", "relaxed", "acquire", "release", "mmio"})  # of loads and stores; atomics always are
SPACES = frozenset({"global", "shared"})
SHARED, GLOBAL = 1, 2  # the state spaces of a proxy fence, as bits


class Ordering(NamedTuple):
    """`names`: its instructions, each an opcode and the modifiers that must be there; `unless`: modifiers that must not
    be there. An instruction is of the row that names the most of its modifiers. `counted`: whether it must have a
    thread count; None where that does not matter.

    `orders`, `scope`, `source`, `differs`: texts of docs/checkers.md; `differs` is where this is kinder or stricter
    than the ISA, and why. `reads`: more modifiers that change what it orders. `unsaid`: its scope where no modifier
    gives one; None for an instruction without a scope. `kinds`: bits of `order_kinds`; `abroad`: more of them where its
    scope and its memory are not of one block. `proxy`, `spaces`: of the accesses that it orders. `event`: what a fence
    tells the order of the launch, a context.ORDER_...; `is_sc`: it is a fence.sc. `hides`: names of instructions
    whose need the checkers may not see in a kernel that has an instruction of this row."""

    names: str
    orders: str
    source: str
    scope: str = ""
    differs: str = ""
    unless: str = ""
    counted: bool | None = None
    reads: str = ""
    unsaid: int | None = None
    kinds: int = 0
    abroad: int = 0
    proxy: str = "generic"
    spaces: frozenset[str] = SPACES
    event: int | None = None
    is_sc: bool = False
    hides: str = ""

    def scope_in(self, mods: tuple[str, ...]) -> int:
        """The scope that the modifiers of one of its instructions give it."""
        said = next((SCOPES[each] for each in mods if each in SCOPES), self.unsaid)
        assert self.unsaid is not None and said is not None, f"{self.names} has no scope"
        return said

    def kinds_in(self, mods: tuple[str, ...]) -> int:
        """The bits of `order_kinds` of one of its instructions."""
        if not self.abroad or self.scope_in(mods) == scope.CTA or any(m.split("::")[0] == "shared" for m in mods):
            return self.kinds
        return self.kinds | self.abroad


THREADS = orders.THREADS
BY_MEMORY = orders.THREADS | orders.MEMORY
BY_BULK = orders.THREADS | orders.BULK


@functools.cache
def table() -> tuple[Ordering, ...]:
    """The rows of all families."""
    return tuple(row for rows in families.named("orderings", "ORDERINGS") for row in rows)


@functools.cache
def _by_opcode() -> dict[str, list[tuple[frozenset[str], Ordering]]]:
    """The modifiers that each name needs, and its row."""
    found: dict[str, list[tuple[frozenset[str], Ordering]]] = {}
    for row in table():
        for name in row.names.split():
            opcode, *needed = name.split(".")
            found.setdefault(opcode, []).append((frozenset(needed), row))
    return found


@functools.cache
def matching(opcode: str, mods: tuple[str, ...], counted: bool = False) -> tuple[Ordering, ...]:
    """The rows that name the most of its modifiers: one, or none."""
    fitting = [
        (len(needed), row)
        for needed, row in _by_opcode().get(opcode, ())
        if needed <= {*mods} and row.counted in (None, counted) and {*row.unless.split()}.isdisjoint(mods)
    ]
    most = max((count for count, _ in fitting), default=0)
    return tuple({id(row): row for count, row in fitting if count == most}.values())


def find(instr: Instr) -> Ordering | None:
    """The row of an instruction; None where it has nothing to do with order."""
    if instr.opcode not in _by_opcode():
        return None
    counted = bool(instr.traits & BARRIER) and len(instr.operands) > 1 + (result(instr) is not None)
    return next(iter(matching(instr.opcode, instr.mods, counted)), None)


def of(instr: Instr) -> Ordering:
    """The row of an instruction that has one."""
    row = find(instr)
    assert row is not None, f"{instr.name} is in no orderings.py"
    return row


def scope_of(instr: Instr) -> int:
    """The scope of a strong access, a fence, an arrival or a look at an mbarrier."""
    return of(instr).scope_in(instr.mods)
