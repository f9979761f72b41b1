"""The finding of a checker, in words: both accesses of a race, or the read and the use of an undefined value. Findings
about one kind of instruction are in its family's words.py."""

from __future__ import annotations

import functools

from dsl.emulator import families
from dsl.emulator.check.numbers import access
from dsl.emulator.diagnosis import cluster_report, frames, places, report
from dsl.emulator.diagnosis.between import Between
from dsl.emulator.diagnosis.edits import edit, propose
from dsl.emulator.diagnosis.edits.edit import Fix
from dsl.emulator.diagnosis.race import Race
from dsl.emulator.faults import Fault, SameValueRace
from dsl.emulator.machine import context
from dsl.emulator.ptx.polling import polls
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.ptx.traits import COPY, MBARRIER, STORE, UPDATES

_DID = {"reads": "read", "writes": "wrote", "updates": "updated", "copies to": "copied to", "changes": "changed",
        "initializes": "initialized", "invalidates": "invalidated"}  # fmt: skip


def fault_of(launch) -> Fault:
    """The Fault of a launch that a checker ended."""
    rows, ctx = _faults(), launch.ctx
    return (rows.get((ctx.status, ctx.detail)) or rows.get(ctx.status, _undefined))(launch)


@functools.cache
def _faults() -> dict:
    """By status, or by status and detail."""
    rows = {context.RACE: _race}
    for each in families.named("words", "FAULTS"):
        rows |= each
    return rows


# ** races


def _race(launch) -> Fault:
    ctx, sites = launch.ctx, launch.code.sites
    mine, other = sites[ctx.site], sites[ctx.other_site]
    my_kind, its_kind = ctx.detail, ctx.other_kind
    same_block = ctx.other_block == ctx.block
    what = places.place_of(launch, ctx.address, places.element_bytes(mine))
    verb, did = places.verb(mine, my_kind), _DID[places.verb(other, its_kind)]
    same_thread = same_block and ctx.thread == ctx.other_thread
    who = "another thread" if same_block else "a thread of another block"
    between = Between(launch)
    race = Race(
        launch, mine, other, my_kind, its_kind, f"{verb} {what}", did, "this thread" if same_thread else who,
        places.at(launch, other, mine), places.before(launch, mine), between if same_block else None,
    )  # fmt: skip
    told = (words(race) for words in families.named("words", "race"))
    message, fix = next(filter(None, told), None) or _of_any(race, between, "itself" if same_thread else who)
    fix = report.cause(launch) or fix
    lines, sides = [f"    in `{launch.entry_name}`, {ctx.access_bytes} bytes of {what}"], []
    both = (verb, mine, ctx.block, ctx.thread), (did, other, ctx.other_block, ctx.other_thread)
    for name, instr, block, thread in both if ctx.other_block < launch.blocks else both[:1]:  # else it is of no block
        calls = frames.of(launch, instr).calls()
        at = f"{places.line_of(launch, instr)}{calls}, " if frames.place_of(launch, instr) else ""
        who = places.thread_of(launch, block, thread)
        lines.append(f"    {name:<8} {who}: {at}PTX line {instr.line}: {instr.text}")
        sides.append(report.access(launch, instr, name, f"{name}: {who}: {instr.text}"))
    return report.error(launch, "RACE", mine, message, lines, fix, tuple(ctx.block_index), ctx.thread, sides)


def _of_any(race: Race, between: Between, who: str) -> tuple[str, str]:
    """The message and the fix of a race that no family tells of."""
    launch, ctx = race.launch, race.launch.ctx
    if "nc" in race.mine.mods and race.its_kind & access.WRITE:
        return f"{race.does}, which {who} {race.did} at {race.at}: .nc may give what was there before the launch", Fix(
            "load it without .nc (in CUDA C++ without `__ldg` and `const __restrict__`), or write it in a launch "
            "before",
            propose.change(launch, "a load of what may change", race.mine),
        )
    if race.its_kind & access.ASYNC:
        message = f"{race.does}, which a copy that was not waited for writes"
    else:
        ordered = "no barrier between" if ctx.other_block == ctx.block else "nothing orders blocks"
        if ctx.other_block != ctx.block and cluster_report.is_mate(launch, ctx.other_block):
            ordered = "no barrier of the cluster between"
        message = f"{race.does}, which {who} {race.did} at {race.at}: {ordered}"
    if (race.mine.traits | race.other.traits) & MBARRIER and not race.its_kind & access.ASYNC:
        return message, Fix(
            cluster_report.BARRIER_BETWEEN.format(race.at, race.here),
            between.put(["barrier of the block"]) if between.is_one_block else None,
        )
    return message, _race_fix(launch, between)


def _race_fix(launch, between: Between) -> str:
    ctx = launch.ctx
    if (weak := between.relaxed()) is not None:
        return Fix(f"{weak}; .relaxed orders no memory", edit.of(weak))
    if between.is_one_block:
        return between.fix()
    if (text := between.fix_of_blocks()) is not None:
        return text
    if cluster_report.is_mate(launch, ctx.other_block):
        return Fix(cluster_report.MEET + between.why_not_met(), between.meeting())
    if (text := between.atomic()) is not None:
        return text
    alone = (
        "let one block write it, or use an atomic"
        if ctx.detail & ctx.other_kind & access.WRITE
        else "read it in a kernel launched later"
    )
    if launch.workspace is not None:  # a cooperative launch
        alone = f"put a barrier of the grid between both accesses, or {alone}"
    return f"{alone}; within a launch only a release and an acquire (a flag, with fences) order blocks"


# ** warnings


def warn_of(launch, what: str) -> None:
    """Warn, at the author's line, of what the checkers have noted of `launch.slot`."""
    rows = {"note": _warn_of_one_value, "step": _warn_of_steps}
    for each in families.named("words", "WARNINGS"):
        rows |= each
    rows[what](launch)


def _warn_of_one_value(launch) -> None:
    ctx = launch.ctx
    instr = launch.code.sites[ctx.note_site - 1]
    one, other = (
        places.thread_of(launch, *who)
        for who in ((ctx.note_other_block, ctx.note_other_thread), (ctx.note_block, ctx.note_thread))
    )
    text = (
        f"in `{launch.entry_name}` {one} and {other} write the same value to "
        f"{places.place_of(launch, ctx.note_address, places.element_bytes(instr))} without an order. PTX calls that a "
        "race; it does no harm while the values are the same"
    )
    report.warn(launch, "RACE_SAME_VALUE", instr, text, SameValueRace)


def _warn_of_steps(launch) -> None:
    """Code for lanes of a warp that run in step, which they did before sm_70."""
    ctx, sites = launch.ctx, launch.code.sites
    mine, its = sites[ctx.step_site - 1], sites[ctx.step_other_site]
    for function in launch.program.module.functions.values():
        loops = [poll.positions for poll in polls(function, launch.program.module.functions).values() if poll.idle]
        waits = [function.items[at] for positions in loops for at in positions]
        if any(each is mine or each is its for each in waits):
            return  # a wait for a flag
    lane, other, warp = ctx.step_thread % 32, ctx.step_other_thread % 32, ctx.step_thread // 32
    text = (
        f"in `{launch.entry_name}` lanes {lane} and {other} of warp {warp} exchange a value at "
        f"{places.place_of(launch, ctx.step_address, places.element_bytes(mine))} by volatile accesses, and no "
        "barrier of the warp is between: that relies on lanes that run in step, which they need not do from sm_70 on, "
        "and do not here, so the result may be another one. Put __syncwarp() (bar.warp.sync) between "
        "each read and the next write"
    )
    report.warn(launch, "WARP_SYNCHRONOUS", mine, text)


# ** undefined values


def _undefined(launch) -> Fault:
    ctx, sites = launch.ctx, launch.code.sites
    use, read = sites[ctx.site], sites[min(ctx.other_site, len(sites) - 1)]
    place, used = frames.place_of(launch, read), frames.place_of(launch, use)
    address = ctx.address
    what = places.place_of(launch, address, places.element_bytes(read))
    how = _use(use, at_once=not ctx.undefined_mark)
    if use is read:
        how = "is changed" if use.traits & UPDATES else "goes into every element of the product"
    where = "here" if used == place or used is None else f"at {places.at(launch, use, read)}"
    message = f"{places.verb(read, 0)} {what}, which nobody wrote; the value {how} {where}"
    lines = [f"    in `{launch.entry_name}`, {places.thread_of(launch, ctx.block, ctx.thread)}"]
    lines.append(f"    read at PTX line {read.line}: {read.text}")
    lines.append(f"    used at PTX line {use.line}: {use.text}")
    if 0 <= address - ctx.smem < ctx.smem_bytes:
        fix = "write it first: every thread that shares it must have written its part before"
    elif (is_given := launch.is_given(address)) is not None:
        fix = "write it first: new memory holds what was there before"
        if not is_given:
            message = f"{places.verb(read, 0)} {what}, which is in no block of `malloc`; the value {how} {where}"
            fix = "free a block after its last use, and stay inside of it"
    elif launch.memory.holds(address):
        fix = "write it first (`cudaMemset`, `cudaMemcpy`, a kernel): new memory holds what was there before"
    else:
        fix = "write it first: it holds what was there before"
    forgets = frozenset[str]().union(*families.named("words", "FORGETS"))
    if (gone := next((each for each in sites if each.opcode in forgets), None)) is not None:
        since = f"which nobody wrote, or not after the `{gone.opcode}` at {places.at(launch, gone, read)};"
        message = message.replace("which nobody wrote;", since)
        fix = f"read it before the `{gone.opcode}`, or write it again"
    for words in families.named("words", "UNDEFINED"):
        if read.opcode in words:
            message, fix = words[read.opcode](address, f"The value {how} {where}")
    return report.error(launch, "UNDEFINED_READ", read, message, lines, fix, tuple(ctx.block_index), ctx.thread)


def _use(instr: Instr, at_once: bool) -> str:
    if instr.guard is not None or instr.opcode in ("bra", "brx"):
        return "decides what runs"
    if at_once:
        return "is an address"
    if instr.traits & STORE:
        return "is stored for others to read"
    if instr.traits & COPY:
        return "is copied"
    return f"goes into `{instr.opcode}`"
