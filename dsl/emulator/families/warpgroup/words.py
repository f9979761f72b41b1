"""Findings about wgmma, in words: registers and shared memory that it still uses, fences that are missing.

Each gives the message and the fix. `at` is the place of the other access, `here` of the one that was stopped.
"""

from __future__ import annotations

from dsl.emulator.check import trail
from dsl.emulator.check.numbers import access, other_kind
from dsl.emulator.diagnosis import places, report
from dsl.emulator.diagnosis.between import Between
from dsl.emulator.diagnosis.edits import propose
from dsl.emulator.diagnosis.edits.edit import Fix
from dsl.emulator.diagnosis.group_waits import Family, Waits
from dsl.emulator.diagnosis.race import Race
from dsl.emulator.families.bulk import words as bulk_findings
from dsl.emulator.families.warpgroup.numbers import WgmmaArea
from dsl.emulator.families.warpgroup.register_flight import (
    NO_FENCE,
    NO_FENCE_AT_ALL,
    READS_RESULT,
    SITE_MASK,
    WRITES_OPERAND,
    WRITES_RESULT,
)
from dsl.emulator.faults import Fault
from dsl.emulator.machine import context
from dsl.emulator.ptx.traits import PRODUCT

_GROUPS = Family(PRODUCT, False, "wgmma.commit_group", "wgmma.wait_group", "commit of a wgmma")
_WAIT = "wgmma.wait_group (`cute.nvgpu.warpgroup.wait_group`)"
_FENCE = "wgmma.fence (`cute.nvgpu.warpgroup.fence`)"
_PROXY = "fence.proxy.async (`cute.arch.fence_proxy`)"


def race(race: Race) -> tuple[str, str] | None:
    """The message and the fix of a race of a wgmma with a write of shared memory; None of another."""
    its_kind, does, who, at, here, between = race.its_kind, race.does, race.who, race.at, race.here, race.between
    if "wgmma" not in (race.mine.opcode, race.other.opcode) or its_kind & access.ASYNC:
        return None
    if its_kind == other_kind.OF_WGMMA:
        return f"{does}, which the wgmma at {at} still reads: it was not waited for", _fix_of_buffer(at, here, between)
    writer = "a bulk copy" if bulk_findings.is_bulk(race.other) else who
    if its_kind & other_kind.UNPROXIED:
        return f"{does}, which {writer} wrote at {at}: no fence.proxy.async between", (
            bulk_findings.unproxied_fix(race)
        )
    if bulk_findings.is_bulk(race.other):
        return f"{does}, which the bulk copy at {at} fills: not every warp has waited for it", (
            f"wait in each warp, before {here}, for the phase of the full mbarrier that the copy at {at} signals "
            "(`pipeline.consumer_wait`)"
        )
    return f"{does}, which {who} wrote at {at}: no barrier between", (
        Fix(
            f"put {_PROXY} and then a barrier, or the arrival at the full mbarrier that the warpgroup waits for, "
            f"between {at} and {here}",
            race.put(["proxy fence of shared memory", "barrier of the block"]),
        )
    )


def _fix_of_buffer(at: str, here: str, between: Between | None) -> str:
    """The fix for a buffer that is written while a wgmma reads it: the wait, or the missing part of the wait there."""
    text = (
        f"wait for it before its buffer is released: {_WAIT}, then the arrival at the empty mbarrier (or the "
        f"barrier) that {here} comes after"
    )
    if between is None:
        return text
    rows = between.other.after
    waits = between.waits(_GROUPS, rows)
    done = waits.done
    arrives = [row for row in rows if between.sites[row.site].opcode == "mbarrier" and _releases(between.mods(row))]
    if arrives and (done is None or rows.index(arrives[0]) < rows.index(done)):
        return f"arrive at the mbarrier ({between.place(arrives[0])}) after {_WAIT}, not before it"
    if done is not None and between.mine.thread // 128 != between.other.thread // 128:
        return (
            f"put the arrival at the empty mbarrier, or a barrier, between the wait at {between.place(done)} and "
            f"{here}: the warpgroup of the wgmma alone has waited for it"
        )
    return waits.why_not(at) or text


def _releases(mods: tuple) -> bool:
    return "arrive" in mods and "expect_tx" not in mods


def _of_register(what: int, instr, at: str, here: str, waits: Waits) -> tuple[str, str]:
    """A register of a wgmma that an instruction uses; `what` of check/register_flight.py, `waits`: what its thread did
    about the wgmma."""
    put = waits.why_not(at) if waits.waits and not waits.is_committed else None
    if put is None:
        there = f": the one at {waits.place(waits.last)} leaves it on its way" if waits.last else ""
        put = Fix(
            f"put wgmma.wait_group {waits.most} (`cute.nvgpu.warpgroup.wait_group`) before {here}{there}",
            propose.right_before(waits.launch, "wait for a wgmma", instr, waits.most),
        )
    fence = Fix(
        f"put {_FENCE} before {here}, after the last write to its registers",
        propose.right_before(waits.launch, "fence of a wgmma", instr) if what in (NO_FENCE, NO_FENCE_AT_ALL) else None,
    )
    return {
        READS_RESULT: (f"reads a register of D, which the wgmma at {at} still writes", put),
        WRITES_RESULT: (f"writes a register of D, which the wgmma at {at} still writes", put),
        WRITES_OPERAND: (f"writes a register of A, which the wgmma at {at} still reads", put),
        NO_FENCE: (f"uses a register that was written at {at}: no wgmma.fence between", fence),
        NO_FENCE_AT_ALL: ("is the first wgmma, with no wgmma.fence before it", fence),
    }[what]


def _register(launch) -> Fault:
    """A register that an instruction uses while a wgmma does, or that no fence gave to it."""
    ctx, sites = launch.ctx, launch.code.sites
    instr, what = sites[ctx.site], ctx.access_bytes
    other = sites[(ctx.address & SITE_MASK) - 1] if ctx.address else instr
    rows = trail.rows_of(ctx, ctx.thread, launch.code.ranks)
    since = max((i for i, row in enumerate(rows) if sites[row.site].line == other.line), default=-1)
    waits = Waits(_GROUPS, launch, rows[since + 1 :], lambda row: places.at(launch, sites[row.site], instr))
    message, fix = _of_register(what, instr, places.at(launch, other, instr), places.before(launch, instr), waits)
    head = "NO_WGMMA_FENCE" if what >= NO_FENCE else "IN_FLIGHT"
    lines = [f"    in `{launch.entry_name}`, {places.thread_of(launch, ctx.block, ctx.thread)}"]
    lines += [f"    PTX line {each.line}: {each.text}" for each in ([instr] if other is instr else [instr, other])]
    return report.error(launch, head, instr, message, lines, fix, tuple(ctx.block_index), ctx.thread)


FAULTS = {context.ASYNC_REGISTER: _register}
_WGMMA_WORDS = {
    WgmmaArea.a_desc.offset: "the descriptor of A",
    WgmmaArea.b_desc.offset: "the descriptor of B",
    WgmmaArea.scale_d.offset: "scale-d",
}


def _partial_warpgroup(launch, instr):
    return (
        f"`{instr.name}` needs all 128 threads of the warpgroup, but {launch.ctx.address} of them are in the block and "
        "have not left",
        "launch blocks of whole warpgroups, and let no thread return before it",
    )


def _not_uniform(launch, instr):
    what = _WGMMA_WORDS[4 * launch.ctx.address]
    first = launch.thread_index(launch.ctx.thread & ~127)
    return (
        f"{what} must be the same in all threads of the warpgroup, and differs from thread {first} here",
        "compute it from values that all threads share, not from the lane or the warp",
    )


# By `detail` of the fault: the message and the fix.
ILLEGAL = {context.PARTIAL_WARPGROUP: _partial_warpgroup, context.NOT_UNIFORM: _not_uniform}
