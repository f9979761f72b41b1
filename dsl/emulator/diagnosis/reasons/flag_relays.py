"""Flags between blocks that one thread writes or reads for its block: the barriers and fences that the others need.

The block that wrote has often ended, so its part is read off the text after its access.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dsl.emulator.check import ordering
from dsl.emulator.check.numbers import access
from dsl.emulator.check.trail import Row
from dsl.emulator.diagnosis.edits import propose
from dsl.emulator.diagnosis.edits.edit import Edit, Fix
from dsl.emulator.diagnosis.reasons import flags
from dsl.emulator.ptx.polling import polls
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.ptx.traits import BARRIER, CLUSTER, READS, STORE, UPDATES

_BLOCK = "barrier of the block"
_WRITES = "write", "a release", "st.release.gpu", "store"
_READS = "read", "an acquire", "ld.acquire.gpu", "load"


class _Lack(NamedTuple):
    text: str
    edit: Callable[[], Edit | None]


def fix(between) -> Fix | None:
    """The missing part of a flag that another thread of this block has read; None without such a flag."""
    found = _read_by_another(between)
    if found is None:
        return None
    lacks = [each for each in (_of_reader(between, *found), _of_writer(between)) if each is not None]
    if not lacks:
        return None
    return Fix(" and ".join(each.text for each in lacks), lacks[0].edit() if len(lacks) == 1 else None)


def of_weak_flag(between) -> str | None:
    """The fix of a race between a flag's strong access and an ordinary one; None of another race."""
    mine, other = between.mine, between.other
    if not (mine.kind ^ other.kind) & access.STRONG or mine.row.value != other.row.value:
        return None
    weak, strong = (other, mine) if mine.kind & access.STRONG else (mine, other)
    reader = strong if weak.writes else weak
    if weak.writes == strong.writes or not (_is_polled(between, reader.instr) or _acquires(reader.instr)):
        return None
    does = _WRITES if weak.writes else _READS
    return (
        f"{does[0]} the flag at {between.place(weak.row)} by {does[1]} ({does[2]}), as {between.place(strong.row)} "
        f"expects: an ordinary {does[3]} orders nothing"
    )


def _read_by_another(between) -> tuple[int, list[Row], Row] | None:
    """A thread of this block that has read a flag, its rows, and the row of the last such read."""
    ctx, sites = between.launch.ctx, between.sites
    for thread in range(ctx.threads):
        rows = between.rows_of(thread) if thread != between.mine.thread else []
        for row in reversed(rows):
            instr = sites[row.site]
            if flags.is_strong(instr) and instr.traits & (READS | UPDATES) and row.rank < between.mine.row.rank:
                is_flag = row.value != ctx.address and _waits(between, instr, rows[rows.index(row) :])
                return (thread, rows, row) if is_flag else None
    return None


def _waits(between, instr: Instr, since: list[Row]) -> bool:
    """Whether a read is for a flag: it is polled, acquires, or a fence comes after it."""
    fenced = any(flags.is_fence(between.sites[row.site]) for row in since)
    return fenced or _acquires(instr) or _is_polled(between, instr)


def _acquires(instr: Instr) -> bool:
    return not ordering.ACQUIRES.isdisjoint(instr.mods)


def _is_polled(between, instr: Instr) -> bool:
    functions = between.launch.program.module.functions
    return any(
        function.items[at] is instr
        for function in functions.values()
        for poll in polls(function, functions).values()
        for at in poll.positions
    )


def _of_reader(between, thread: int, rows: list[Row], read: Row) -> _Lack | None:
    launch, sites, mine = between.launch, between.sites, between.mine
    at, here = between.place(read), between.place(mine.row)
    since = rows[rows.index(read) :]
    instr: Instr = sites[read.site]
    fenced = any(flags.is_fence(sites[row.site]) for row in since)
    if not fenced and not _acquires(instr):
        return _Lack(
            f"make the read of the flag at {at} an acquire (a fence after it, or .acquire)",
            lambda: propose.change(launch, "an acquire", instr),
        )
    if any(row.rank > read.rank and _is_barrier(sites[row.site]) for row in mine.before):
        return None
    who = launch.thread_index(thread)
    return _Lack(
        f"put a barrier of the block (bar.sync) between the read of the flag at {at} and {here}: thread {who} alone "
        "has waited for it",
        lambda: propose.after(launch, [_BLOCK], instr, mine.instr),
    )


def _of_writer(between) -> _Lack | None:
    launch, sites, ranks = between.launch, between.sites, between.launch.code.ranks
    start = between.other.row.rank
    after = sorted((site for site in range(len(sites)) if ranks[site] > start), key=lambda site: ranks[site])
    write = next((n for n, site in enumerate(after) if _is_flag_write(sites[site])), None)
    if write is None:
        return None
    between_both, instr = [sites[site] for site in after[:write]], sites[after[write]]
    at, there = between.place(between.other.row), _place(between, after[write])
    barriers = [n for n, each in enumerate(between_both) if _is_barrier(each)]
    if not barriers:
        return _Lack(
            f"put a barrier of the block (bar.sync) between {at} and the write of the flag at {there}",
            lambda: propose.after(launch, [_BLOCK], between.other.instr, instr),
        )
    is_fenced = any(flags.is_fence(each) for each in between_both[barriers[-1] :])
    if is_fenced or not ordering.RELEASES.isdisjoint(instr.mods):
        return None
    return _Lack(
        f"make the write of the flag at {there} a release (a fence before it, or .release), after the barrier",
        lambda: propose.change(launch, "a release", instr) or propose.right_before(launch, "fence of the GPU", instr),
    )


def _place(between, site: int) -> str:
    return between.place(Row(site, 0, 0, 0, 0))


def _is_flag_write(instr: Instr) -> bool:
    return flags.is_strong(instr) and bool(instr.traits & (STORE | UPDATES))


def _is_barrier(instr: Any) -> bool:
    return instr.traits & (BARRIER | CLUSTER) == BARRIER and "warp" not in instr.mods
