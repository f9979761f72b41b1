"""Uses of an mbarrier before its mbarrier.init or after its mbarrier.inval, and of its memory in between, in words."""

from __future__ import annotations

import ctypes
import re

from dsl.emulator.check.numbers import access
from dsl.emulator.diagnosis import cluster_report, frames, places, report
from dsl.emulator.diagnosis.edits import propose
from dsl.emulator.diagnosis.edits.edit import Fix
from dsl.emulator.diagnosis.race import Race
from dsl.emulator.families.bulk import words as bulk_findings
from dsl.emulator.families.mbarrier import log as mbarrier_log, turns
from dsl.emulator.families.mbarrier.check import Mbarrier, Mbarriers, Shared
from dsl.emulator.families.mbarrier.emit import State
from dsl.emulator.families.mbarrier.log import Life
from dsl.emulator.families.mbarrier.retries import goes_on
from dsl.emulator.faults import Fault
from dsl.emulator.machine import context
from dsl.emulator.ptx.basic_blocks import is_asked
from dsl.emulator.ptx.syntax import Function, Instr
from dsl.emulator.ptx.traits import WAIT

_INITIALIZE = (
    "let one thread initialize it (mbarrier.init, `cute.arch.mbarrier_init`) and fence "
    "(`cute.arch.mbarrier_init_fence`); " + cluster_report.MAKE_VISIBLE_HERE
)
_INITIALIZE_THERE = (
    "let one thread of that block initialize it (mbarrier.init, `cute.arch.mbarrier_init`); "
    + cluster_report.MAKE_VISIBLE
)
FENCE = "fence.mbarrier_init (`cute.arch.mbarrier_init_fence`) or fence.proxy.async (`cute.arch.fence_proxy`)"
_SEPARATE = (
    "give the mbarrier 8 bytes that no data overlaps, or invalidate it (mbarrier.inval) and put a barrier of the block "
    "before its memory is used for data"
)
_VERBS = {"init": "initializes", "inval": "invalidates", "arrive": "arrives at", "arrive_drop": "arrives at",
          "expect_tx": "expects bytes at", "complete_tx": "completes bytes at", "test_wait": "waits at",
          "try_wait": "waits at"}  # fmt: skip
_WRITTEN = re.compile(r"init|bar|pipe|asm", re.IGNORECASE)


def _is_written(line: str) -> bool:
    """Whether the author's line of an mbarrier.init is about it; a compiler such as Triton's makes its own mbarriers
    for lines that only load, and the author cannot change them."""
    return bool(_WRITTEN.search(line))


def verb(instr: Instr) -> str:
    """The verb for an instruction at an mbarrier."""
    if bulk_findings.is_copy(instr):
        return "signals"
    return next((words for name, words in _VERBS.items() if name in instr.mods), "arrives at")


def _not_initialized(launch, instr: Instr, what: str) -> tuple[str, str]:
    """The message and the fix of a use of memory where no mbarrier is."""
    message = f"{verb(instr)} the mbarrier at {what}, which "
    life = Life.of(launch.ctx.detail)
    if life.site >= 0:
        ended = places.at(launch, launch.code.sites[life.site], instr)
        return message + f"mbarrier.inval at {ended} has ended", (
            f"move the mbarrier.inval at {ended} after the last use, with a barrier before it; or initialize the "
            "mbarrier again"
        )
    slot, _ = cluster_report.owner_of(launch, launch.ctx.address) or (launch.slot, 0)
    is_own = slot is launch.slot
    message += "is not initialized" if is_own else "is not initialized (yet)"
    made = [places.shared_place(launch, offset, 1) for offset in mbarrier_log.entries(slot.ctx)]
    if made:
        more = ", ..." if len(made) > 8 else ""
        message += f"; initialized {'' if is_own else 'there '}are those at {', '.join(made[:8])}{more}"
    return message, _INITIALIZE if is_own else _INITIALIZE_THERE


def _in_use(launch, instr: Instr, what: str) -> tuple[str, str]:
    """The message and the fix of an mbarrier.init of memory that has an mbarrier, or of data written there."""
    if "inval" in instr.mods:
        return _early_end(launch, instr, what)
    life = Life.of(launch.ctx.detail)
    line = places.at(launch, launch.code.sites[life.site], instr)
    if instr.opcode != "mbarrier":
        return f"writes over the mbarrier at {what}, which {line} has initialized", _SEPARATE
    message = f"initializes the mbarrier at {what} again, which "
    if life.is_own:
        return f"{message}{line} has initialized", (
            "initialize it once, or end its first life before (mbarrier.inval by one thread, after a barrier)"
        )
    return f"{message}a thread of warp {life.warp} has initialized at {line}", (
        "let one thread initialize it, once: `if thread_idx == 0:`"
    )


def _early_end(launch, instr: Instr, what: str) -> tuple[str, str]:
    """The message and the fix of an mbarrier.inval while others may still use the mbarrier."""
    other = launch.code.sites[launch.ctx.other_site]
    line = places.at(launch, other, instr)
    message = f"invalidates the mbarrier at {what}, while "
    if bulk_findings.is_copy(other):
        return message + f"the copy at {line} may still signal it: nobody has waited for it", (
            "wait for the phase of the mbarrier before its mbarrier.inval"
        )
    return message + f"another thread may still use it at {line}: no barrier between", Fix(
        cluster_report.BARRIER_BETWEEN.format(line, "the mbarrier.inval"),
        propose.after(launch, ["barrier of the block"], other, instr),
    )


def not_shared(launch, instr: Instr) -> tuple[str, str]:
    """The message and the fix of an mbarrier that is not in shared memory."""
    return f"{verb(instr)} an mbarrier at 0x{launch.ctx.address:x}, which is not in shared memory", (
        "allocate the mbarrier in shared memory (8 bytes, aligned to 8)"
    )


def _remote(launch, instr: Instr) -> tuple[str, str]:
    """The message and the fix of what threads do at an mbarrier of another block, where it is for its own."""
    place = cluster_report.place_of(launch, launch.ctx.address)
    if "arrive" in verb(instr):
        return f"arrives at the mbarrier at {place} and takes its state, which only threads of that block may", (
            "give `_` for the state (mbarrier.arrive.release.cluster.shared::cluster), and let that block wait"
        )
    return f"{verb(instr)} the mbarrier at {place}, which only threads of that block may", (
        "let a thread of that block do it; this block can only arrive there, or expect and complete bytes"
    )


def bad_count(launch, instr: Instr) -> tuple[str, str]:
    """The message and the fix of an mbarrier.init with a count that no mbarrier has."""
    return f"count of an mbarrier must be 1 to {context.MOST_ARRIVALS}, got {launch.ctx.access_bytes}", (
        "give the number of arrivals that end a phase"
    )


def _not_visible(launch) -> Fault:
    """An arrival or a wait at an mbarrier, or a copy that signals it, that may not have been made yet."""
    ctx = launch.ctx
    instr, what = launch.code.sites[ctx.site], places.place_of(launch, ctx.address, 1)
    message = f"{verb(instr)} the mbarrier at {what}, whose mbarrier.init it may not see yet"
    foreign = cluster_report.place_of(launch, ctx.address) is not None
    fix = cluster_report.MAKE_VISIBLE if foreign else cluster_report.MAKE_VISIBLE_HERE
    one = launch.checks.order.of(Mbarriers).mbarriers.get(ctx.address)
    names = ["fence of mbarriers", "barrier of the cluster"] if foreign else ["barrier of the block"]
    if one is not None:
        fix = Fix(fix, propose.after(launch, names, launch.code.sites[one.site], instr))
    return places.of_one(launch, instr, "MBARRIER_NOT_VISIBLE", message, ctx.block, fix)


def _life(launch) -> Fault:
    """A use of an mbarrier before its life, after it, or of its memory in it."""
    ctx = launch.ctx
    instr, what = launch.code.sites[ctx.site], places.place_of(launch, ctx.address, 1)
    words = _in_use if ctx.status == context.IN_USE else _not_initialized
    message, fix = words(launch, instr, what)
    return places.of_one(launch, instr, context.KIND_NAMES[ctx.status], message, ctx.block, fix)


def _warn_of_unfenced(launch) -> None:
    """Warn of a copy that signals an mbarrier with no fence after its mbarrier.init."""
    copy = next(iter(launch.checks.order.of(Mbarriers).unfenced.values()))
    instr, init = launch.code.sites[copy.site], launch.code.sites[copy.init_site]
    there = frames.place_of(launch, init)
    if there is not None and not _is_written(there.source_line()):
        return
    text = (
        f"in `{launch.entry_name}` {places.thread_of(launch, copy.block, copy.thread)} begins a copy that signals the "
        f"mbarrier at {places.place_of(launch, copy.address, 1)}, with no fence after the mbarrier.init at "
        f"{places.at(launch, init, instr)}. PTX asks for one between them: {FENCE} after mbarrier.init, before the "
        "barrier"
    )
    report.warn(launch, "MBARRIER_NOT_FENCED", instr, text)


def race(race: Race) -> tuple[str, str] | None:
    """The message and the fix of a race that an arrival or a wait at an mbarrier seems to order, and does not."""
    ctx, order = race.launch.ctx, race.launch.checks.order
    if order is None or race.its_kind & access.ASYNC:
        return None
    mine = order.slot_of(race.launch.slot.address).of(Shared)
    last = mine.last_wait.get(ctx.thread)
    other = ctx.other_block, ctx.other_thread
    message = f"{race.does}, which {race.who} {race.did} at {race.at}"
    if last is not None and other in last.narrow and race.its_kind & access.WRITE:
        return f"{message}: its arrival is for its own block alone", _wider(race, last.narrow[other])
    relaxed = next((each for each in mine.relaxed.get(ctx.thread, ()) if other in each.arrivers), None)
    if relaxed is not None:
        at = places.at(race.launch, race.launch.code.sites[relaxed.waits[ctx.thread].site], race.mine)
        return f"{message}: the wait at {at} is relaxed", (
            f"drop .relaxed from the wait at {at}, or put a fence (fence.acq_rel.cluster) between it and {race.here}: "
            ".relaxed orders no memory"
        )
    if race.between is None:
        return None
    if (wait := _last_wait(race)) is not None:
        at, function = places.at(race.launch, wait[0], race.mine), wait[1]
        fix = f"try the wait at {at} again until it gives true (`cute.arch.mbarrier_wait`)"
        if not is_asked(function, wait[0]):
            return f"{message}: nothing depends on the answer of the wait at {at}", fix
        if goes_on(function, wait[0]) and not _has_passed(order.of(Mbarriers), last, ctx.thread, wait[2]):
            return f"{message}: the wait at {at} may give false, and the thread goes on", fix
    if last is not None and (lane := last.lane_for(*other)) is not None:
        return f"{message}: no barrier of the warp before its arrival", (
            f"lane {lane} arrives at the mbarrier for its warp: put a barrier of the warp (bar.warp.sync, "
            f"`cute.arch.sync_warp`) between {race.at} and that arrival"
        )
    warp = range(ctx.thread & ~31, (ctx.thread & ~31) + 32)
    lanes = [thread for thread in warp if (one := mine.last_wait.get(thread)) is not None and other in one.arrivers]
    if last is None and lanes:
        return f"{message}: no barrier of the warp after the wait for it", Fix(
            f"lane {lanes[0] & 31} waits at the mbarrier for its warp: put a barrier of the warp (bar.warp.sync, "
            f"`cute.arch.sync_warp`) between that wait and {race.here}",
            propose.right_before(race.launch, "barrier of the warp", race.mine),
        )
    return None


def _last_wait(race: Race) -> tuple[Instr, Function, int] | None:
    """The last look at an mbarrier that this thread passed before its access, and its function and its site."""
    sites, functions = race.launch.code.sites, race.launch.program.module.functions.values()
    for row in reversed(race.between.mine.before if race.between is not None else ()):
        instr = sites[row.site]
        if instr.traits & WAIT:
            function = next((each for each in functions if any(item is instr for item in each.items)), None)
            return None if function is None else (instr, function, row.site)
    return None


def _has_passed(mbarriers: Mbarriers, last: Mbarrier | None, thread: int, site: int) -> bool:
    """Whether the last look of a thread, at this site, gave true. `last`: where it was last given true."""
    was_late = any(mbarriers.doubted.get(site, {}).values())
    return last is not None and last.waits[thread].site == site and not was_late


def _wider(race: Race, site: int) -> Fix:
    """The fix of an arrival at the mbarrier of another block whose scope does not have that block."""
    instr = race.launch.code.sites[site]
    at = places.at(race.launch, instr, race.mine)
    if "relaxed" in instr.mods:
        return Fix(
            f"give the fence before the relaxed arrival at {at} the scope .cluster, or make the arrival a release"
        )
    name = re.sub(r"^mbarrier\.(arrive(?:_drop)?)(?:\.release\.cta)?", r"mbarrier.\1.release.cluster", instr.name)
    return Fix(
        f"write `{name}` at {at}, or fence before it (fence.acq_rel.cluster, `cute.arch.fence_acq_rel_cluster`): "
        "without a scope, as with .cta, an arrival is for the block of its thread",
        propose.change(race.launch, "an arrival for the cluster", instr)
        or propose.right_before(race.launch, "fence of the cluster", instr),
    )


def _lapped(launch) -> Fault:
    """An arrival, or the end of a phase, that need not come after the phase before: see turns.py."""
    ctx, sites = launch.ctx, launch.code.sites
    instr, other = sites[ctx.site], sites[ctx.other_site]
    what, at = places.place_of(launch, ctx.address, 1), places.at(launch, other, instr)
    who = places.thread_of(launch, ctx.other_block, ctx.other_thread)
    if ctx.detail == turns.ARRIVAL:
        message = (
            f"arrives at the mbarrier at {what}, and nothing makes it come after the arrival of {who} at {at}, which "
            "counts for the phase before: in another order both count for one phase"
        )
        fix = "let this thread wait for the end of the phase before (`mbarrier.try_wait`) before it arrives again"
    elif ctx.detail == turns.EARLY:
        message = (
            f"waits for a phase of the mbarrier at {what}, and nothing makes it come after the arrival of {who} at "
            f"{at}, which counts for the phase before: in another order it finds the phase before that one, which has "
            "the same parity, and goes on at once"
        )
        fix = "let this thread wait for the end of the phase before (`mbarrier.try_wait`) first"
    elif ctx.detail == turns.BYTES:
        message = (
            f"expects bytes at the mbarrier at {what}, and no arrival of the phase comes after it: once the copy of "
            f"{who} at {at} is there, the phase may have ended, and the bytes count for the next one"
        )
        fix = (
            "expect all bytes of a phase before its last arrival, or with it: mbarrier.arrive.expect_tx "
            "(`cute.arch.mbarrier_arrive_and_expect_tx`) with the sum"
        )
    else:
        message = (
            f"ends a phase of the mbarrier at {what}, and nothing makes it come after the wait of {who} at {at}, for "
            "the phase before: in another order that wait misses its phase, and ends later or never"
        )
        fix = (
            f"let each warp that waits at {at} arrive after its wait at an mbarrier that this thread waits for "
            "(`pipeline.consumer_release`), and let its count have them all"
        )
    return places.of_one(launch, instr, "MBARRIER_LAPPED", message, ctx.block, fix)


def _too_few_counted(launch) -> Fix | None:
    """The fix of an mbarrier that counts fewer arrivals than threads arrive at it in a phase. Its phases end early, and
    what follows from that is often found first: a race, or a deadlock."""
    order = launch.checks.order if launch.checks is not None else None
    if order is None:
        return None
    for slot in order.members(order.slot_of(launch.slot.address)):
        lap = slot.of(Shared).lap
        if lap is None or lap.what != turns.ARRIVAL or (slot.block, lap.thread) == (lap.other_block, lap.other_thread):
            continue
        if (one := order.of(Mbarriers).mbarriers.get(lap.address)) is None:
            continue
        count, come = State.of(ctypes.c_uint64.from_address(lap.address).value).count, len(one.arrivers)
        if come > count:
            what, site = places.place_of(launch, lap.address, 1), launch.code.sites[one.site]
            at = places.line_of(launch, site)
            why = f"it counts {count}, and {come} threads arrive"
            return Fix(
                f"init the mbarrier at {what} with {come} arrivals at {at}: {why}",
                propose.number(launch, site, count, come),
            )
    return None


CAUSES = (_too_few_counted,)
VERBS = {"mbarrier": verb}
FAULTS = {
    context.LAPPED: _lapped,
    context.NOT_VISIBLE: _not_visible,
    context.NOT_INITIALIZED: _life,
    context.IN_USE: _life,
}
WARNINGS = {"unfenced": _warn_of_unfenced}
# By `detail` of the fault: the message and the fix.
ILLEGAL = {context.NOT_SHARED: not_shared, context.BAD_ARRIVALS: bad_count, context.REMOTE_MBARRIER: _remote}
