"""The values that lanes of a whole warp exchange when they meet: a family's rule for one instruction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dsl.emulator.ptx.syntax import Imm

Vector = Callable[[Any, str], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Collective:
    """Threads give `value` (of `bits`), and get `first` (32 bits) and the predicate `second`, either None.

    `key`: of the meeting (machine/numbers.py). `b` and `c`: further operands of 32 bits; None is 0.
    `vector(code, lanes)` emits both results of a warp as vectors; None where only the C++ knows them.
    """

    key: int
    value: Any
    bits: int
    first: Any
    second: Any
    b: Any = None
    c: Any = None
    vector: Vector | None = None

    @property
    def given(self) -> list[tuple[str, Any, int]]:
        """(array, operand, bits) of what differs between threads."""
        rows = [(f"given {self.bits}", self.value, self.bits)]
        return rows + [(f"given {name}", each, 32) for name, each in (("b", self.b), ("c", self.c)) if differs(each)]


def differs(operand) -> bool:
    """Whether threads may give different values."""
    return operand is not None and not isinstance(operand, Imm)
