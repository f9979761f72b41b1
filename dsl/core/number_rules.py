"""A surface's rules for numbers, as data: what Python's numbers become, and the type an operator computes in.

The arithmetic itself is core's for every surface. Without rules in force it is CuTe DSL's (docs/types.md).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from dsl.core.state import Stack


@dataclass(frozen=True)
class Rules:
    """The differences between surfaces; None and False leave what CuTe DSL does.

    `number(value)`: a Python number as a Numeric, None where it is none. `promote(type, type)`: their common type.
    `operation(name, type, type)`: the type `a name b` is computed in. `floor_mod`: `%` follows the divisor's sign, also
    of floats. `modular_bool`: Booleans are numbers of one bit, whose sum wraps. `extends_by_source`: a signed number
    keeps its sign in a wider unsigned type too. `check(name, a, b)` raises for operands that `a name b` must not have.
    """

    number: Callable | None = None
    promote: Callable | None = None
    operation: Callable | None = None
    floor_mod: bool = False
    modular_bool: bool = False
    extends_by_source: bool = False
    check: Callable | None = None


def wider(a: type, b: type) -> type:
    """The common type of two numeric types where a float beats an integer, the wider the narrower, and of two integers
    of one width the unsigned one."""
    if a.is_float != b.is_float:
        return a if a.is_float else b
    if a.width != b.width:
        return a if a.width > b.width else b
    return b if a.signed else a


CUTE = Rules()
_in_force: Stack[Rules] = Stack()


def current() -> Rules:
    """The rules in force, in this thread."""
    return _in_force.top(CUTE)


def using(rules: Rules) -> AbstractContextManager[Rules]:
    """Compute by `rules` in this `with`."""
    return _in_force.pushed(rules)
