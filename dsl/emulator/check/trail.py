"""The last steps of each thread: its accesses and all that orders threads, for the fix of a race.

A ring of rows for each thread, the oldest overwritten. A row is the site, how many rounds of loops the thread had begun
until then, its label (check/order.py), and a value: the address of an access, or the barrier of an instruction that
orders.
If all threads take the same way, the rounds and the rank of the site are a position in the code that they execute.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

from dsl.emulator.check.numbers import Trail, TrailRow
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.ptx.traits import BARRIER, COPY, EXCHANGE, FENCE, MBARRIER, PRODUCT

_MOST_ROWS = Trail.rows.size // ctypes.sizeof(TrailRow)
PARITY = 62  # the bit of a wait at an mbarrier that has the parity; below it the address
ADDRESS_MASK = (1 << PARITY) - 1
_ORDERS = BARRIER | FENCE | MBARRIER | EXCHANGE | PRODUCT
_GROUPS = frozenset({"commit_group", "wait_group", "wait_all"})


class Row(NamedTuple):
    site: int
    rounds: int
    label: int
    value: int
    rank: int  # of the site, where all threads take the same way

    @property
    def position(self) -> tuple[int, int]:
        return self.rounds, self.rank


def is_kept(instr: Instr) -> bool:
    """Whether it orders threads or memory, or looks as if it did."""
    return bool(instr.traits & _ORDERS or (instr.traits & COPY and not _GROUPS.isdisjoint(instr.mods)))


def _of(ctx, thread: int) -> Trail:
    return Trail.from_address(ctx.trail + thread * ctypes.sizeof(Trail))


def last_site(ctx, thread: int) -> int | None:
    """The site of what a thread did last."""
    trail = _of(ctx, thread) if ctx.trail else None
    return trail.rows[(trail.count - 1) % _MOST_ROWS].site if trail and trail.count else None


def rows_of(ctx, thread: int, ranks: list[int]) -> list[Row]:
    """The last rows of a thread of the block in a context, the oldest first; `ranks` of the sites."""
    if not ctx.trail:
        return []
    trail = _of(ctx, thread)
    rows = (trail.rows[number % _MOST_ROWS] for number in range(max(trail.count - _MOST_ROWS, 0), trail.count))
    return [Row(row.site, row.rounds, row.label, row.value, ranks[row.site]) for row in rows]
