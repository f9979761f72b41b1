"""What a checker found, in words: both accesses of a race, or the read and the use of an undefined value."""

from __future__ import annotations

from dsl.emulator.check import trail
from dsl.emulator.check.numbers import access
from dsl.emulator.diagnosis import cluster_report, frames, phases, report
from dsl.emulator.diagnosis.between import Between
from dsl.emulator.diagnosis.group_waits import WGMMA, Waits
from dsl.emulator.families.barrier import words as barrier_findings
from dsl.emulator.families.bulk import words as bulk_findings
from dsl.emulator.families.mbarrier import words as mbarrier_life
from dsl.emulator.families.warpgroup import words as wgmma_findings
from dsl.emulator.families.warpgroup.register_flight import NO_FENCE, SITE_MASK
from dsl.emulator.faults import Fault, SameValueRace
from dsl.emulator.machine import context, memory
from dsl.emulator.ptx.polling import polls
from dsl.emulator.ptx.syntax import TYPE_BITS, Instr
from dsl.span import short

_DOES = {"ld": "reads", "ldu": "reads", "ldmatrix": "reads", "st": "writes", "stmatrix": "writes",
         "atom": "updates", "red": "updates", "wgmma": "reads", "tensormap": "changes"}  # fmt: skip
_DID = {"reads": "read", "writes": "wrote", "updates": "updated", "copies to": "copied to", "changes": "changed",
        "initializes": "initialized", "invalidates": "invalidated"}  # fmt: skip


def fault_of(launch) -> Fault:
    """The Fault of a launch that a checker ended."""
    rows = {context.RACE: _race, context.ASYNC_REGISTER: _register, context.NOT_VISIBLE: _not_visible,
            context.EXITED: _early_exit, context.NOT_INITIALIZED: _life, context.IN_USE: _life,
            context.COLLISION: barrier_findings.collision, context.DIVERGED: barrier_findings.diverged}  # fmt: skip
    return rows.get(launch.ctx.status, _undefined)(launch)


def _verb(instr: Instr, kind: int) -> str:
    if instr.opcode == "cp":
        return "copies to" if kind & access.WRITE else "reads"
    if instr.opcode == "mbarrier":
        return mbarrier_life.verb(instr)
    return _DOES.get(instr.opcode, "writes" if kind & access.WRITE else "reads")


def _element_bytes(instr: Instr) -> int:
    return max(next((TYPE_BITS[m] for m in reversed(instr.mods) if m in TYPE_BITS), 32) // 8, 1)


def place_of(launch, address: int, element_bytes: int) -> str:
    """A host address as the author knows it: `name[element]`, or an offset in shared or local memory."""
    ctx = launch.ctx
    if 0 <= address - ctx.smem < ctx.smem_bytes:
        return f"smem+0x{address - ctx.smem:x}"
    if (theirs := cluster_report.place_of(launch, address)) is not None:
        return theirs
    local_bytes = ctx.local_bytes * ctx.threads
    if 0 <= address - ctx.local < local_bytes:
        return f"local+0x{(address - ctx.local) % ctx.local_bytes:x}"
    neighbour = memory.nearest(launch.all_allocations, address)
    if neighbour is None or not 0 <= neighbour[1] < neighbour[0].size_bytes:
        return f"0x{address:x}"
    allocation, offset = neighbour
    if offset % element_bytes:
        return f"byte {offset} of `{allocation.label}`"
    if allocation.label.isidentifier():
        return f"`{allocation.label}[{offset // element_bytes}]`"
    return f"element {offset // element_bytes} of `{allocation.label}`"


def _thread(launch, block: int, thread: int) -> str:
    x, y, _ = launch.grid
    index = block % x, block // x % y, block // (x * y)
    where = f"thread {launch.thread_index(thread)} = warp {thread // 32}, lane {thread % 32}"
    return f"{where} of block {index}"


def _line(launch, instr: Instr) -> str:
    place = frames.place_of(launch, instr)
    return f"{short(place.file)}:{place.line}" if place else f"PTX line {instr.line}"


# ** races


def _race(launch) -> Fault:
    ctx, sites = launch.ctx, launch.code.sites
    mine, other = sites[ctx.site], sites[ctx.other_site]
    my_kind, its_kind = ctx.detail, ctx.other_kind
    place, there = frames.place_of(launch, mine), frames.place_of(launch, other)
    same_block = ctx.other_block == ctx.block
    what = place_of(launch, ctx.address, _element_bytes(mine))
    verb, did = _verb(mine, my_kind), _DID[_verb(other, its_kind)]
    same_thread = same_block and ctx.thread == ctx.other_thread
    who = "itself" if same_thread else "another thread" if same_block else "a thread of another block"
    between = Between(launch)
    own = between if same_block else None
    if "wgmma" in (mine.opcode, other.opcode) and not its_kind & access.ASYNC:
        writer = "a bulk copy" if bulk_findings.is_bulk(other) else "this thread" if same_thread else who
        message, fix = wgmma_findings.race(
            its_kind, f"{verb} {what}", writer, _at(place, there, other), _before(place), own
        )
    elif bulk_findings.is_bulk(mine) or bulk_findings.is_bulk(other):
        words = f"{verb} {what}", "this thread" if same_thread else who, did
        lines_of_both = _at(place, there, other), _before(place)
        order = phases.Order(launch, place)
        message, fix = bulk_findings.race(mine, other, (my_kind, its_kind), words, lines_of_both, order, own)
    else:
        ordered = "no barrier between" if same_block else "nothing orders blocks"
        if not same_block and cluster_report.is_mate(launch, ctx.other_block):
            ordered = "no barrier of the cluster between"
        message = f"{verb} {what}, which {who} {did} at {_at(place, there, other)}: {ordered}"
        if its_kind & access.ASYNC:
            message = f"{verb} {what}, which a copy that was not waited for writes"
        fix = _race_fix(launch, between)
        if "mbarrier" in (mine.opcode, other.opcode) and not its_kind & access.ASYNC:
            fix = cluster_report.BARRIER_BETWEEN.format(_at(place, there, other), _before(place))
    lines, sides = [f"    in `{launch.entry_name}`, {ctx.access_bytes} bytes of {what}"], []
    for name, instr, block, thread in (
        (verb, mine, ctx.block, ctx.thread), (did, other, ctx.other_block, ctx.other_thread),
    ):  # fmt: skip
        calls = frames.of(launch, instr).calls()
        at = f"{_line(launch, instr)}{calls}, " if frames.place_of(launch, instr) else ""
        who = _thread(launch, block, thread)
        lines.append(f"    {name:<8} {who}: {at}PTX line {instr.line}: {instr.text}")
        sides.append(report.access(launch, instr, name, f"{name}: {who}: {instr.text}"))
    return report.error(launch, "RACE", mine, message, lines, fix, tuple(ctx.block_index), ctx.thread, sides)


def _register(launch) -> Fault:
    """A register that an instruction uses while a wgmma does, or that no fence gave to it."""
    ctx, sites = launch.ctx, launch.code.sites
    instr, what = sites[ctx.site], ctx.access_bytes
    place = frames.place_of(launch, instr)
    other = sites[(ctx.address & SITE_MASK) - 1] if ctx.address else instr
    at = _at(place, frames.place_of(launch, other), other)
    rows = trail.rows_of(ctx, ctx.thread, launch.code.ranks)
    since = max((i for i, row in enumerate(rows) if sites[row.site].line == other.line), default=-1)
    waits = Waits(
        WGMMA,
        sites,
        rows[since + 1 :],
        lambda row: _at(place, frames.place_of(launch, sites[row.site]), sites[row.site]),
    )
    message, fix = wgmma_findings.register(what, at, _before(place), waits)
    head = "NO_WGMMA_FENCE" if what >= NO_FENCE else "IN_FLIGHT"
    lines = [f"    in `{launch.entry_name}`, {_thread(launch, ctx.block, ctx.thread)}"]
    lines += [f"    PTX line {each.line}: {each.text}" for each in ([instr] if other is instr else [instr, other])]
    return report.error(launch, head, instr, message, lines, fix, tuple(ctx.block_index), ctx.thread)


def _not_visible(launch) -> Fault:
    """An arrival or a wait at an mbarrier, or a copy that signals it, that may not have been made yet."""
    ctx = launch.ctx
    instr, what = launch.code.sites[ctx.site], place_of(launch, ctx.address, 1)
    message = f"{mbarrier_life.verb(instr)} the mbarrier at {what}, whose mbarrier.init it may not see yet"
    foreign = cluster_report.place_of(launch, ctx.address) is not None
    fix = cluster_report.MAKE_VISIBLE if foreign else cluster_report.MAKE_VISIBLE_HERE
    return _of_one(launch, instr, "MBARRIER_NOT_VISIBLE", message, ctx.block, fix)


def _life(launch) -> Fault:
    """A use of an mbarrier before its life, after it, or of its memory in it."""
    ctx = launch.ctx
    instr, what = launch.code.sites[ctx.site], place_of(launch, ctx.address, 1)
    place = frames.place_of(launch, instr)
    words = mbarrier_life.in_use if ctx.status == context.IN_USE else mbarrier_life.not_initialized
    message, fix = words(launch, instr, what, lambda other: _at(place, frames.place_of(launch, other), other))
    return _of_one(launch, instr, context.KIND_NAMES[ctx.status], message, ctx.block, fix)


def _early_exit(launch) -> Fault:
    """An access to another block's shared memory which that block does not wait for before it ends."""
    ctx = launch.ctx
    instr = launch.code.sites[ctx.site]
    owner = tuple(ctx.block_index)
    verb = {"mbarrier": "arrives at"}.get(instr.opcode) or _verb(instr, access.WRITE * (instr.opcode != "ld"))
    if ctx.detail == context.IN_FLIGHT:
        message, fix = bulk_findings.left_in_flight(verb, f"smem+0x{ctx.address - ctx.smem:x}", owner)
        return _of_one(launch, instr, "EXITED_BLOCK", message, ctx.other_block, fix)
    message = (
        f"{verb} smem+0x{ctx.address - ctx.smem:x} of block {owner}, which may have exited: it does not wait for this"
    )
    return _of_one(launch, instr, "EXITED_BLOCK", message, ctx.other_block, cluster_report.KEEP_ALIVE)


def _of_one(launch, instr: Instr, head: str, message: str, block: int, fix: str) -> Fault:
    """The Fault of one instruction of a thread of a block."""
    thread = launch.ctx.thread
    lines = [f"    in `{launch.entry_name}`, {_thread(launch, block, thread)}"]
    lines.append(f"    PTX line {instr.line}: {instr.text}")
    x, y, _ = launch.grid
    index = block % x, block // x % y, block // (x * y)
    return report.error(launch, head, instr, message, lines, fix, index, thread)


def warn_of(launch, what: str) -> None:
    """Warn, at the author's line, of what the checkers have noted of `launch.slot`."""
    rows = {"note": _warn_of_one_value, "lone": barrier_findings.warn_of_lone_arrival, "unfenced": _warn_of_unfenced,
            "left": _note_stores_left, "step": _warn_of_steps}  # fmt: skip
    rows[what](launch)


def _note_stores_left(launch) -> None:
    """Note a bulk store that its thread has not waited for before it ends."""
    block, thread, site = min(launch.checks.order.left)
    text = (
        f"in `{launch.entry_name}` {_thread(launch, block, thread)} exits without a wait for this bulk store, which "
        f"may still read shared memory: commit its group, and wait for it before the thread ends, "
        f"{bulk_findings.READ_WAIT}"
    )
    report.warn(launch, "BULK_STORE_NOT_AWAITED", launch.code.sites[site], text)


def _warn_of_unfenced(launch) -> None:
    """Warn of a copy that signals an mbarrier with no fence after its mbarrier.init."""
    copy = launch.checks.unfenced()[0]
    instr, init = launch.code.sites[copy.site], launch.code.sites[copy.init_site]
    place, there = frames.place_of(launch, instr), frames.place_of(launch, init)
    if there is not None and not mbarrier_life.is_written(there.source_line()):
        return
    text = (
        f"in `{launch.entry_name}` {_thread(launch, copy.block, copy.thread)} begins a copy that signals the mbarrier "
        f"at {place_of(launch, copy.address, 1)}, with no fence after the mbarrier.init at "
        f"{_at(place, there, init)}. PTX asks for one between them: "
        f"{mbarrier_life.FENCE} after mbarrier.init, before the barrier"
    )
    report.warn(launch, "MBARRIER_NOT_FENCED", instr, text)


def _warn_of_one_value(launch) -> None:
    ctx = launch.ctx
    instr = launch.code.sites[ctx.note_site - 1]
    one, other = (
        _thread(launch, *who)
        for who in ((ctx.note_other_block, ctx.note_other_thread), (ctx.note_block, ctx.note_thread))
    )
    text = (
        f"in `{launch.entry_name}` {one} and {other} write the same value to "
        f"{place_of(launch, ctx.note_address, _element_bytes(instr))} without an order. PTX calls that a "
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
        f"{place_of(launch, ctx.step_address, _element_bytes(mine))} by volatile accesses, and no barrier of the warp "
        "is between: that relies on lanes that run in step, which they need not do from sm_70 on, and do not here, so "
        "the result may be another one. Put __syncwarp() (bar.warp.sync) between each read and the next write"
    )
    report.warn(launch, "WARP_SYNCHRONOUS", mine, text)


def _at(place, there, other: Instr) -> str:
    if there is None:
        return f"PTX line {other.line}"
    if place is None or place.file != there.file:
        return f"{short(there.file)}:{there.line}"
    return "this line" if place.line == there.line else f"line {there.line}"


def _race_fix(launch, between: Between) -> str:
    ctx = launch.ctx
    if (weak := between.relaxed()) is not None:
        return f"{weak}; .relaxed orders no memory"
    if between.is_one_block:
        return between.fix()
    if (text := between.fix_of_blocks()) is not None:
        return text
    if cluster_report.is_mate(launch, ctx.other_block):
        return cluster_report.MEET + between.why_not_met()
    alone = (
        "let one block write it, or use an atomic"
        if ctx.detail & ctx.other_kind & access.WRITE
        else "read it in a kernel launched later"
    )
    return f"{alone}; within a launch only a release and an acquire (a flag, with fences) order blocks"


def _before(place) -> str:
    return f"line {place.line}" if place is not None else "this instruction"


# ** undefined values


def _undefined(launch) -> Fault:
    ctx, sites = launch.ctx, launch.code.sites
    use, read = sites[ctx.site], sites[min(ctx.other_site, len(sites) - 1)]
    place, used = frames.place_of(launch, read), frames.place_of(launch, use)
    address = ctx.address
    what = place_of(launch, address, _element_bytes(read))
    how = _use(use, at_once=not ctx.undefined_mark)
    where = "here" if used == place or used is None else f"at {_at(place, used, use)}"
    message = f"{_verb(read, 0)} {what}, which nobody wrote; the value {how} {where}"
    lines = [f"    in `{launch.entry_name}`, {_thread(launch, ctx.block, ctx.thread)}"]
    lines.append(f"    read at PTX line {read.line}: {read.text}")
    lines.append(f"    used at PTX line {use.line}: {use.text}")
    inside = 0 <= address - ctx.smem < ctx.smem_bytes
    wrote = (
        "every thread that shares it must have written its part before" if inside else "it holds what was there before"
    )
    fix = f"write it first: {wrote}"
    if read.opcode == "shfl":
        message = (
            f"reads lane {address & 31}, which takes no part in the shuffle: it is not in the mask, or has exited. "
        )
        message += f"The value {how} {where}"
        fix = (
            "read a lane that the mask names and that comes to the shuffle, or do not use the value (ask the predicate)"
        )
    return report.error(launch, "UNDEFINED_READ", read, message, lines, fix, tuple(ctx.block_index), ctx.thread)


def _use(instr: Instr, at_once: bool) -> str:
    if instr.guard is not None or instr.opcode in ("bra", "brx"):
        return "decides what runs"
    if at_once:
        return "is an address"
    if instr.opcode == "st":
        return "is stored for others to read"
    if instr.opcode in ("cp",):
        return "is copied"
    return f"goes into `{instr.opcode}`"
