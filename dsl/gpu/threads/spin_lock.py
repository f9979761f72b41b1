"""Waiting for a counter in memory: a loop that looks until another thread, of any block or GPU, has written it."""

from __future__ import annotations

from typing import Any

from dsl.core import trace
from dsl.core.errors import DSLUserCodeValueError
from dsl.core.ir import arithmetic, mlir
from dsl.core.number import integer_power
from dsl.core.number.dtypes import Int32
from dsl.core.number.pointer import Pointer
from dsl.core.phrase import shown
from dsl.gpu.memory import access, atomic


def swapped(lock: Pointer, expected: Any, wanted: Any, sem: str, scope: str) -> None:
    """Wait until the Int32 at `lock` is `expected`, and write `wanted` there.  PTX ISA: atom.cas."""
    expected, wanted = Int32(expected), Int32(wanted)

    def other() -> mlir.Value:
        seen = atomic.compare_and_swap(lock, expected, wanted, sem, _checked(scope))
        return arithmetic.compare("ne", seen.ir(), expected.ir(), True)

    _while(other)


def reached(lock: Pointer, least: Any, scope: str) -> None:
    """Wait until the Int32 at `lock` is `least` or more.  PTX ISA: ld.relaxed."""
    least = Int32(least)

    def below() -> mlir.Value:
        seen = access.load(lock, Int32, sem="relaxed", scope=_checked(scope))
        return arithmetic.compare("lt", seen.ir(), least.ir(), True)

    _while(below)


def _while(test) -> None:
    trace.kernel()
    integer_power.loop([], test, lambda: ())


def _checked(scope: Any) -> str:
    if scope not in ("gpu", "sys"):
        raise DSLUserCodeValueError(f"scope of a spin lock must be gpu or sys, got {shown(scope)}", fix='scope="gpu"')
    return scope
