"""What each thread did last: its accesses and whatever orders threads, for the fix of a race.

A ring of rows for each thread, the oldest overwritten. A row is the site, how many rounds of loops the thread had begun
until then, its label (check/order.py), and a value: the address of an access, what says which barrier it is of an
instruction that orders.
Where all threads take the same way, the rounds and the rank of the site are a position in what all of them execute.
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

from dsl.emulator.builder import Builder
from dsl.emulator.ptx.syntax import Instr

SIGNATURES = {"emu_trail": "void (ptr, i32, i32, i64)", "emu_round": "void (ptr, i32)"}
ROW_BYTES, MOST_ROWS = 24, 256
THREAD_BYTES = ROW_BYTES * (MOST_ROWS + 1)  # the first row: how many there were, and the rounds until now
PARITY = 62  # the bit of a wait at an mbarrier that has the parity; below it the address
ADDRESS_MASK = (1 << PARITY) - 1
_ORDERS = frozenset({"bar", "barrier", "fence", "membar", "mbarrier", "shfl", "vote", "match", "redux", "elect"})
_GROUPS = frozenset({"commit_group", "wait_group", "wait_all", "mbarrier"})


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
    return instr.opcode in _ORDERS or instr.opcode == "wgmma" or (
        instr.opcode == "cp" and not _GROUPS.isdisjoint(instr.mods)
    )  # fmt: skip


def functions() -> list[str]:
    """The IR text."""
    return [_keep(), _round(), _begin()]


def _rows(f: Builder) -> str:
    wide = f.cast("zext", "%tid", "i32", "i64")
    return f.cast("inttoptr", f.add(f.load("trail"), f.mul(wide, THREAD_BYTES, "i64"), "i64"), "i64", "ptr")


def _part(f: Builder, rows: str, offset: int | str) -> str:
    return f.op(f"getelementptr i8, ptr {rows}, i64 {offset}")


def _keep() -> str:
    """Append a row to the thread's trail. A repeated row, such as a wait that polls, is kept once."""
    f = Builder()
    f.return_if(f.cmp("eq", f.load("trail"), 0, "i64"), "void")
    rows = _rows(f)
    count = f.get(rows)
    last = _part(
        f, rows, f.cast("zext", f.mul(f.add(f.and_(f.sub(count, 1), MOST_ROWS - 1), 1), ROW_BYTES), "i32", "i64")
    )
    same = f.cmp("eq", f.get(last), "%site")
    same = f.and_(same, f.cmp("eq", f.get(_part(f, last, 16), "i64"), "%value", "i64"), "i1")
    same = f.and_(same, f.cmp("eq", f.get(_part(f, last, 4)), f.get(_part(f, rows, 4))), "i1")
    f.return_if(same, "void")
    row = _part(f, rows, f.cast("zext", f.mul(f.add(f.and_(count, MOST_ROWS - 1), 1), ROW_BYTES), "i32", "i64"))
    f.put(row, "%site")
    f.put(_part(f, row, 4), f.get(_part(f, rows, 4)))
    f.put(_part(f, row, 8), f.op("call i32 @label(ptr %ctx, i32 %tid)"))
    f.put(_part(f, row, 16), "%value", "i64")
    f.put(rows, f.add(count, 1))
    f.do("ret void")
    return f.function("define void @emu_trail(ptr %ctx, i32 %tid, i32 %site, i64 %value)")


def _round() -> str:
    f = Builder()
    f.return_if(f.cmp("eq", f.load("trail"), 0, "i64"), "void")
    rounds = _part(f, _rows(f), 4)
    f.put(rounds, f.add(f.get(rounds), 1))
    f.do("ret void")
    return f.function("define void @emu_round(ptr %ctx, i32 %tid)")


def _begin() -> str:
    """A block begins: no thread has done anything."""
    f = Builder()
    f.return_if(f.cmp("eq", f.load("trail"), 0, "i64"), "void")
    with f.for_range(f.load("threads")) as thread:
        at = f.add(f.load("trail"), f.mul(f.cast("zext", thread, "i32", "i64"), THREAD_BYTES, "i64"), "i64")
        f.put(f.cast("inttoptr", at, "i64", "ptr"), 0, "i64")
    f.do("ret void")
    return f.function("define internal void @begin_trail(ptr %ctx)")


def last_site(ctx, thread: int) -> int | None:
    """The site of what a thread did last."""
    base = ctx.trail + thread * THREAD_BYTES
    count = ctypes.c_uint32.from_address(base).value if ctx.trail else 0
    if not count:
        return None
    return ctypes.c_uint32.from_address(base + ROW_BYTES * ((count - 1) % MOST_ROWS + 1)).value


def rows_of(ctx, thread: int, ranks: list[int]) -> list[Row]:
    """What a thread of the block in a context did last, the oldest first; `ranks` of the sites."""
    if not ctx.trail:
        return []
    base = ctx.trail + thread * THREAD_BYTES
    count = ctypes.c_uint32.from_address(base).value
    rows = []
    for number in range(max(count - MOST_ROWS, 0), count):
        at = base + ROW_BYTES * (number % MOST_ROWS + 1)
        site, rounds, label = (ctypes.c_uint32 * 3).from_address(at)
        rows.append(Row(site, rounds, label, ctypes.c_uint64.from_address(at + 16).value, ranks[site]))
    return rows
