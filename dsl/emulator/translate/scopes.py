"""Code that some threads of a block run while the others wait at its end: an `if`, a loop that each leaves in its time.

A branch that threads take differently has a scope: the items up to its label, or the loop that it closes. Nothing else
may lead into a scope or out of it, and no threads may meet in it. Registers that it sets differ between threads after
it; within it, all threads that run have come the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

from dsl.emulator.ptx.operands import LEAVES, writes
from dsl.emulator.ptx.syntax import Function, Instr, Label
from dsl.emulator.ptx.traits import BARRIER, EXCHANGE


@dataclass(frozen=True, slots=True)
class Scope:
    """The items from `first` up to `end`; threads that the branch at `branch` takes out wait at `end`."""

    branch: int
    first: int
    end: int

    @property
    def is_loop(self) -> bool:
        """Whether its branch goes back: then those that do not take it are out."""
        return self.first <= self.branch

    def __contains__(self, position: int) -> bool:
        return self.first <= position < self.end


def scopes_of(function: Function) -> dict[int, Scope]:
    """The scopes of conditional branches that have one, by position."""
    items = function.items
    labels = {item.name: at for at, item in enumerate(items) if isinstance(item, Label)}
    jumps = _jumps(items, labels)
    meetings = [at for at, item in enumerate(items) if isinstance(item, Instr) and item.traits & (BARRIER | EXCHANGE)]
    scopes = {}
    for at, to in jumps.items():
        if to is None or items[at].guard is None:
            continue
        scope = Scope(at, to, at + 1) if to <= at else Scope(at, at + 1, to)
        if not any(each in scope for each in meetings) and _closed(scope, jumps):
            scopes[at] = scope
    return scopes


def _jumps(items, labels: dict[str, int]) -> dict[int, int | None]:
    """The target of each branch, by position; None: the end."""
    rows: dict[int, int | None] = {}
    for at, item in enumerate(items):
        if isinstance(item, Instr) and item.opcode in ("bra", *LEAVES):
            rows[at] = labels[item.operands[0].name] if item.opcode == "bra" else None
    return rows


def _closed(scope: Scope, jumps: dict[int, int | None]) -> bool:
    """Whether no other branch leads into a scope, except to the head of its loop, or out of it, except to its end."""
    for at, to in jumps.items():
        if at in scope:
            if to is None or not scope.first <= to <= scope.end:
                return False
        elif to is not None and at != scope.branch and to in scope and not (scope.is_loop and to == scope.first):
            return False
    return True


def differing(function: Function, scope: Scope) -> set[str]:
    """The registers that are set in a scope."""
    inside = function.items[scope.first : scope.end]
    return {reg.name for item in inside if isinstance(item, Instr) for reg in writes(item)}
