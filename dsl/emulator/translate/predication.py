"""Short code that some threads jump over, as predicated instructions: a region holds those without a branch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from dsl.emulator.ptx.operands import LEAVES, writes
from dsl.emulator.ptx.syntax import Function, Instr, Not
from dsl.emulator.ptx.traits import BARRIER, COMPUTES, EXCHANGE
from dsl.emulator.translate.scopes import Scope

MOST_INSTRUCTIONS = 12


def is_short(function: Function, scope: Scope) -> bool:
    """Whether the code of an `if` is a few instructions that a predicate may guard."""
    guard = function.items[scope.branch].guard
    predicate = guard.item if isinstance(guard, Not) else guard
    body = function.items[scope.first : scope.end]
    return not scope.is_loop and len(body) <= MOST_INSTRUCTIONS and all(_fits(item, predicate.name) for item in body)


def _fits(item, predicate: str) -> bool:
    if not isinstance(item, Instr) or item.guard is not None or item.traits & (BARRIER | EXCHANGE):
        return False
    return item.opcode not in ("bra", *LEAVES) and all(reg.name != predicate for reg in writes(item))


def predicated(
    function: Function, scopes: Iterable[Scope], needed: Callable[[int], set[str]], own: dict[int, Instr]
) -> Function:
    """The function without the branches of these scopes. `needed(position)`: the registers that are read from there on.

    An instruction whose result only the code of its scope reads runs for all threads if it does nothing else. `own`
    gets all those, by id, whose result nothing reads where the predicate does not hold.
    """
    items = list(function.items)
    for scope in scopes:
        guard, after = items[scope.branch].guard, needed(scope.end)
        holds = guard.item if isinstance(guard, Not) else Not(guard)
        for at in range(scope.first, scope.end):
            is_own = all(reg.name not in after for reg in writes(items[at]))
            if not (is_own and items[at].traits & COMPUTES):
                items[at] = replace(items[at], guard=holds)
            if is_own:
                own[id(items[at])] = items[at]
    branches = {scope.branch for scope in scopes}
    return replace(function, items=[item for at, item in enumerate(items) if at not in branches])
