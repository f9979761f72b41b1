"""In words: named barriers that mix two groups of warps, and barriers that not all threads of a warp reach together."""

from __future__ import annotations

from dsl.emulator.check.divergence import APART
from dsl.emulator.diagnosis import frames, places, report
from dsl.emulator.diagnosis.edits import propose
from dsl.emulator.diagnosis.edits.edit import Fix
from dsl.emulator.diagnosis.ranges import ranges
from dsl.emulator.families.barrier.check import AGAIN, ALONE, NUMBER_BITS, TOO_MANY
from dsl.emulator.faults import Fault
from dsl.emulator.machine import context


def warps(mask: int) -> str:
    """Warps as text: `warps 0-1, 3`."""
    return ranges([32 * warp + lane for warp in range(32) if mask >> warp & 1 for lane in range(32)])


def _collision(launch) -> Fault:
    """A generation of a named barrier that other warps could have made complete: see families/barrier/check.py."""
    ctx, sites = launch.ctx, launch.code.sites
    mine, its = sites[ctx.site], sites[ctx.other_site]
    number, what = ctx.detail & (1 << NUMBER_BITS) - 1, ctx.detail >> NUMBER_BITS
    count, came, at = ctx.barrier_count[number], ctx.other_kind, places.at(launch, its, mine)
    here, there = warps(ctx.address), warps(ctx.access_bytes)
    rows = [
        f"    {who}: {places.at(launch, instr, mine) + ', ' if frames.place_of(launch, instr) else ''}"
        f"PTX line {instr.line}: {instr.text}"
        for who, instr in {here: mine, there: its}.items()
    ]
    rows.insert(0, f"    in `{launch.entry_name}`, block {tuple(ctx.block_index)}")
    own = f"give each group of {count} threads its own barrier id"
    if what == ALONE:
        message = f"the {count} threads that barrier {number} counts all arrive and go on: nobody waits at it"
        fix = f"let the warps that need it wait there (bar.sync {number}, N), and count them in N too"
    elif what == TOO_MANY:
        message = f"{came} threads come to barrier {number}, which counts {count}: which of them go on is left open"
        if mine is not its:
            message = f"{message}; {here} come here, {there} at {at}"
        own = own if came % count == 0 else f"count all {came} threads at every use of barrier {number}, or {own}"
        fix = own
    elif what == AGAIN:
        message = f"{here} may come to barrier {number} again before {there} {_have(there)} come to it at {at}: "
        message += f"nothing makes {_them(here)} wait, and the barrier counts {count} threads, whoever they are"
        fix = f"let {there} answer by another barrier, which {here} {_wait(here)} at before the next round"
    else:
        message = (
            f"barrier {number} counts {count or 'all'} threads, whoever they are: {here} come to it here, {there} "
        )
        message += f"at {at}, and nothing makes one group wait for the other"
        fix = f"{own if count else 'give them barrier ids of their own'}, or put a barrier of all these warps between "
        fix += "the two uses"
    return report.error(
        launch, context.KIND_NAMES[ctx.status], mine, message, rows, fix, tuple(ctx.block_index), ctx.thread
    )


def _diverged(launch) -> Fault:
    """A barrier or a collective that threads do not reach together: see check/divergence.py."""
    ctx, sites = launch.ctx, launch.code.sites
    mine, its = sites[ctx.site], sites[ctx.other_site]
    lanes = launch.checks.order.slot_of(launch.slot.address).met_apart
    here, there = map(_few, lanes)
    at, is_block = places.at(launch, its, mine), mine.opcode in ("bar", "barrier") and "warp" not in mine.mods
    what = "barrier" if is_block or "warp" in mine.mods else f"`{mine.name}`"
    if ctx.detail == APART:
        message = f"{here} {_come(here)} to this {what}, {there} to the one at {at}: "
        message += "all threads of a warp must reach the same one (it is aligned)"
        fix = f"use one {what} that all threads reach: after the branch, or before it"
    else:
        message = f"{there} {_do(there)} not come to this {what}, though {here} {_wait(here)}: "
        message += f"they go past it, to {at}, and end"
        fix = "move it out of the branch, so that all its threads reach it"
        if not is_block:
            mask = sum(1 << thread % 32 for thread in lanes[0])
            fix += f"; or name in its mask only the lanes that come (here 0x{mask:08x})"
    rows = [f"    in `{launch.entry_name}`, block {tuple(ctx.block_index)}"]
    rows += [f"    {ranges(who)}: PTX line {each.line}: {each.text}" for who, each in zip(lanes, (mine, its))]
    return report.error(
        launch, context.KIND_NAMES[ctx.status], mine, message, rows, fix, tuple(ctx.block_index), ctx.thread
    )


def _few(threads: list[int]) -> str:
    """Threads as text, their number if that is shorter."""
    text = ranges(threads)
    return text if len(text) <= 40 else f"{len(threads)} threads"


def _come(who: str) -> str:
    return "come" if _is_plural(who) else "comes"


def _do(who: str) -> str:
    return "do" if _is_plural(who) else "does"


def _warn_of_lone_arrival(launch) -> None:
    """An arrival at a named barrier that has no bar.sync."""
    ctx = launch.ctx
    instr, number = launch.code.sites[ctx.lone_site - 1], ctx.lone_number
    who = f"{ranges([ctx.lone_thread])} of block {ctx.lone_block}"
    text = (
        f"in `{launch.entry_name}` {who} arrives at barrier {number}, "
        f"and the kernel has no bar.sync of barrier {number}: nobody waits for this arrival"
    )
    report.warn(launch, "BARRIER_NOT_AWAITED", instr, text)


def _have(who: str) -> str:
    return "have" if _is_plural(who) else "has"


def _wait(who: str) -> str:
    return "wait" if _is_plural(who) else "waits"


def _them(who: str) -> str:
    return "them" if _is_plural(who) else "it"


def _is_plural(who: str) -> bool:
    return "s " in f"{who} " or "," in who


def _bad_barrier(launch, instr):
    return f"barrier {launch.ctx.address} does not exist: a block has barriers 0 to 15", "use an id from 0 to 15"


def _barrier_counts(launch, instr):
    return (
        f"it expects {launch.ctx.address or 'all'} threads, others wait at the same barrier with another count",
        "give every arrival at one barrier the same count",
    )


def _count_not_warps(launch, instr):
    count = launch.ctx.address
    whole = -(-count // 32) * 32
    fix = f"let it count {whole}: whole warps arrive, whichever of their lanes run"
    edit = propose.number(launch, instr, count, whole)
    return f"a barrier's thread count must be a multiple of 32, not {count}", Fix(fix, edit)


FAULTS = {context.COLLISION: _collision, context.DIVERGED: _diverged}
WARNINGS = {"lone": _warn_of_lone_arrival}
# By `detail` of the fault: the message and the fix.
ILLEGAL = {
    context.BAD_BARRIER: _bad_barrier,
    context.BARRIER_COUNTS: _barrier_counts,
    context.COUNT_NOT_WARPS: _count_not_warps,
}
