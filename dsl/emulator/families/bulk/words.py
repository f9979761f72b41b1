"""Findings about bulk copies, in words: buffers that they still use, phases not waited for, fences missing."""

from __future__ import annotations

from dsl.emulator.check.numbers import access, other_kind
from dsl.emulator.diagnosis import cluster_report, frames, places, report
from dsl.emulator.diagnosis.edits import propose
from dsl.emulator.diagnosis.edits.edit import Fix
from dsl.emulator.diagnosis.group_waits import Family
from dsl.emulator.diagnosis.race import Race
from dsl.emulator.families.bulk.check import StoresLeft
from dsl.emulator.families.bulk.phases import Order
from dsl.emulator.families.reduction import reductions
from dsl.emulator.faults import Fault
from dsl.emulator.machine import context
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.ptx.traits import BARRIER, COPY, WAIT

READ_WAIT = "cp.async.bulk.wait_group.read (`cute.arch.cp_async_bulk_wait_group(0, read=True)`)"
WRITE_WAIT = "cp.async.bulk.wait_group (`cute.arch.cp_async_bulk_wait_group(0)`)"
_GROUPS = Family(COPY, True, "cp.async.bulk.commit_group", "cp.async.bulk.wait_group.read", "commit of bulk stores")
_PROXY = "fence.proxy.async (`cute.arch.fence_proxy`)"
_FENCE, _BARRIER = "proxy fence of shared memory", "barrier of the block"


_NOUNS = {
    "cp": "bulk copy",
    "st": "asynchronous store",
    "red": "asynchronous reduction",
    "clusterlaunchcontrol": "answer of the request",
}


def is_copy(instr: Instr) -> bool:
    """Whether it copies or stores on its own: cp.async.bulk, cp.reduce.async.bulk, st.async, red.async, try_cancel."""
    if instr.opcode == "cp":
        return "bulk" in instr.mods
    return instr.opcode in ("st", "red", "clusterlaunchcontrol") and "async" in instr.mods


def is_bulk(instr: Instr) -> bool:
    return is_copy(instr) or instr.opcode == "tensormap"


def _left_in_flight(launch) -> Fault:
    """A copy into a block that ends before it has waited for the copy."""
    ctx = launch.ctx
    instr, block = launch.code.sites[ctx.site], tuple(ctx.block_index)
    message = (
        f"{places.verb(instr, access.WRITE)} smem+0x{ctx.address - ctx.smem:x} of block {block}, which ends before the "
        "copy has landed: no thread of it waits for that"
    )
    return places.of_one(launch, instr, "EXITED_BLOCK", message, ctx.other_block, (
        "let a thread of that block wait, before the block ends, for the phase of the mbarrier that the copy signals "
        "(`pipeline.consumer_wait`), and load no stage that nobody reads"
    ))  # fmt: skip


def _still_sends(launch) -> Fault:
    """A copy to another block out of a block that ends before it has heard of the end of the copy."""
    ctx = launch.ctx
    instr, block = launch.code.sites[ctx.site], tuple(ctx.block_index)
    message = (
        f"copies from smem+0x{ctx.address - ctx.smem:x} of block {block} to another block, and block {block} ends "
        "before it has heard of the end of the copy"
    )
    fix = (
        "let the other block wait for the phase of its mbarrier, and then let the blocks meet: barrier.cluster.arrive "
        "and .wait at the end of the kernel (cute.arch.cluster_arrive and cluster_wait); or let it arrive at an "
        "mbarrier of this block, which waits for that"
    )
    edit = propose.at_end(launch, "barrier of the cluster", instr)
    return places.of_one(launch, instr, "EXITED_BLOCK", message, ctx.other_block, Fix(fix, edit))


def _warn_of_stores_left(launch) -> None:
    """Warn of a bulk store that its thread has not waited for before it ends."""
    block, thread, site = min(launch.checks.order.of(StoresLeft).left)
    text = (
        f"in `{launch.entry_name}` {places.thread_of(launch, block, thread)} exits without a wait for this bulk store, "
        f"which may still read shared memory: commit its group, and wait for it before the thread ends, {READ_WAIT}"
    )
    report.warn(launch, "BULK_STORE_NOT_AWAITED", launch.code.sites[site], text)


def race(race: Race) -> tuple[str, str] | None:
    """The message and the fix of a race with a bulk copy; None of another, and where a wgmma reads what it fills."""
    mine, other, my_kind, its_kind = race.mine, race.other, race.my_kind, race.its_kind
    reads = "wgmma" in (mine.opcode, other.opcode) and not its_kind & access.ASYNC
    if reads or not (is_bulk(mine) or is_bulk(other)):
        return None
    does, who, did, at, here, between = race.does, race.who, race.did, race.at, race.here, race.between
    if cluster_report.owner_of(race.launch, race.launch.ctx.address) is None and not its_kind & other_kind.OF_MAP:
        return _in_global_memory(race)
    order = Order(race.launch, frames.place_of(race.launch, mine))
    if its_kind & other_kind.OF_MAP:
        return f"uses a tensor map that {who} changed at {at}: no fence.proxy.tensormap between", (
            f"put fence.proxy.tensormap::generic.acquire of the map's 128 bytes between {at} and {here}, in a thread "
            "of each block that uses it"
        )
    if is_bulk(other) and its_kind & access.ASYNC and not its_kind & access.WRITE and "shared::cluster" in other.mods:
        return f"{does}, which the copy at {at} to another block still reads: it was not waited for", (
            f"let that block wait for the phase of its mbarrier, and then arrive at one of this block "
            f"(mapa, mbarrier.arrive.release.cluster) that {here} waits for"
        )
    if is_bulk(other) and its_kind & access.ASYNC and not its_kind & access.WRITE:
        if (missing := _before_copy(race, order)) is not None:
            return f"{does}, which the bulk store at {at} reads: no barrier between", missing
        return f"{does}, which the bulk store at {at} still reads: it was not waited for", _fix_of_store(race)
    if is_bulk(other) and its_kind & access.ASYNC:
        noun = _NOUNS[other.opcode]
        message = f"{does}, which the {noun} at {at} still writes: nobody has waited for it"
        if is_bulk(mine) and my_kind & access.WRITE:
            return message, order.fix_of_second_copy(at, here)
        return message, _before_copy(race, order) or order.fix_of_wait(noun.split()[-1], at, here)
    if is_bulk(mine) and its_kind & other_kind.UNPROXIED:
        return f"{does}, which {who} {did} at {at}: no fence.proxy.async between", unproxied_fix(race)
    writes = my_kind & access.WRITE
    if is_bulk(mine) and writes and between is not None and between.comes_after and not order.other_waited():
        return f"{does}, which {who} {did} at {at}: no barrier between", _fence_and_barrier(
            race, bool(its_kind & access.WRITE), "a barrier of the block (bar.sync)", at, here
        )
    if is_bulk(mine) and writes:
        return f"{does}, which {who} {did} at {at}: the slot was not given back", order.fix_of_slot(at, here)
    if is_bulk(mine) and between is not None and between.mine is between.first:
        done = between.waits(_GROUPS, between.other.passed).done
        wait = f"the wait at {between.place(done)}" if done else here
        return f"{does}, which {who} {did} at {at}: no barrier between", Fix(
            f"put a barrier between {wait} and {at}", race.put([_BARRIER], done)
        )
    if is_bulk(mine):
        return f"{does}, which {who} {did} at {at}: no barrier between", _fence_and_barrier(
            race, True, "a barrier", at, here
        )
    if not its_kind & access.WRITE and between is not None and between.comes_before:
        return f"{does}, which the bulk store at {at} read: no barrier between", _fence_and_barrier(
            race, True, "a barrier", here, at
        )
    if not its_kind & access.WRITE:
        waits = between.waits(_GROUPS, between.other.after) if between is not None else None
        done = waits.done if waits is not None else None
        since = f"the wait at {waits.place(done)}" if waits is not None and done else at
        return f"{does}, which the bulk store at {at} read: no barrier between", Fix(
            f"put a barrier between {since} and {here}", race.put([_BARRIER], done)
        )
    message = f"{does}, which {who} {did} at {at}: this thread has not waited for it"
    return message, _before_copy(race, order) or order.fix_of_wait(_NOUNS[other.opcode].split()[-1], at, here)


def _fence_and_barrier(race: Race, fences: bool, barrier: str, one: str, other: str) -> Fix:
    """The fix that puts a barrier between two lines; `fences`: a proxy fence before it."""
    text = f"put {f'{_PROXY} and then ' if fences else ''}{barrier} between {one} and {other}"
    if "multicast::cluster" in race.mine.mods + race.other.mods:  # it writes to other blocks too
        return Fix(text)
    return Fix(text, race.put([*[_FENCE] * fences, _BARRIER]))


def _in_global_memory(race: Race) -> tuple[str, str]:
    """The message and the fix of a race with the global memory that a bulk copy reads or writes."""
    ctx, at, here, still = race.launch.ctx, race.at, race.here, race.its_kind & access.ASYNC
    is_stored = is_bulk(race.other)
    if ctx.other_block != ctx.block:
        order = f"a flag that the other block releases (st.release.gpu) after {at} and this one acquires before {here}"
    else:
        order = f"a barrier (bar.sync) between {at} and {here}"
    if is_stored and still:
        message = f"{race.does}, which the bulk store at {at} still writes: nobody has waited for its writes"
        fix = f"let the thread of the store wait until it has written, {WRITE_WAIT}: `.read` waits for its reads alone"
        is_own = (ctx.other_block, ctx.other_thread) == (ctx.block, ctx.thread)
        if is_own:
            return message, fix
        names = ["wait for bulk stores", _BARRIER]
        edit = propose.before(race.launch, names, race.other, race.mine) if race.between is not None else None
        return message, Fix(f"{fix}; then {order}", edit)
    who = f"the bulk store at {at} wrote" if is_stored else f"{race.who} {race.did} at {at}"
    if race.its_kind & other_kind.UNPROXIED:
        return f"{race.does}, which {who}: no fence.proxy.async between", unproxied_fix(race)
    is_fenced = not is_stored and is_bulk(race.mine)
    fence = f"{_PROXY} after {at}, and then " if is_fenced else ""
    done = race.between.waits(_GROUPS, race.between.other.after).done if is_stored and race.between else None
    is_after = race.between is not None and race.between.other is race.between.first
    is_known = is_after and (done is not None or not is_stored)
    edit = race.put([*["proxy fence"] * is_fenced, _BARRIER], done) if is_known else None
    return f"{race.does}, which {who}: nothing orders the two", Fix(f"put {fence}{order}", edit)


def _before_copy(race: Race, order: Order) -> Fix | None:
    """The fix for an access that comes before the copy in the program, if another thread begins the copy."""
    between = race.between
    if between is None or not between.comes_before or is_bulk(race.mine) or order.has_waited():
        return None
    writes = bool(race.my_kind & access.WRITE)
    return _fence_and_barrier(race, writes, "a barrier of the block (bar.sync)", race.here, race.at)


def _fix_of_store(race: Race) -> Fix:
    """The fix for a bulk store whose source is written again: the wait, or the missing part of the wait there."""
    at, here, between = race.at, race.here, race.between
    waits = between.waits(_GROUPS, between.other.after) if between is not None else None
    if waits is not None and waits.done is not None:
        return Fix(
            f"put a barrier (or the arrival at the empty mbarrier) between the wait at {waits.place(waits.done)} and "
            f"{here}: the store's thread alone has waited for it",
            race.put([_BARRIER], waits.done),
        )
    if waits is not None and (why := waits.why_not(at)) is not None:
        return why.more(f"; then a barrier (or the arrival at the empty mbarrier) that {here} comes after")
    names = ["wait for reads of bulk stores", _BARRIER]
    if waits is not None and not waits.is_committed:
        names.insert(0, "commit of bulk stores")
    return Fix(
        f"let the thread of the store wait for it, {READ_WAIT}, and then a barrier (or the arrival at the empty "
        f"mbarrier) that {here} comes after",
        propose.before(race.launch, names, race.other, race.mine) if waits is not None else None,
    )


def unproxied_fix(race: Race) -> Fix:
    """The fix for generic writes that the async proxy does not see: a fence, or why the one there does not count."""
    at, here, between = race.at, race.here, race.between
    is_shared = cluster_report.owner_of(race.launch, race.launch.ctx.address) is not None
    fence = _FENCE if is_shared else "proxy fence"
    text = f"put {_PROXY} after the writes at {at}, before the barrier that {here} comes after"
    if between is None or "multicast::cluster" in race.mine.mods:  # it writes to other blocks too
        return Fix(text)
    text = Fix(text, race.put([fence]) if between.other is between.first else propose.right_after(
        race.launch, fence, race.other))  # fmt: skip
    since = [row for row in between.mine.before if row.position > between.other.row.position]
    if between.mine.thread == between.other.thread and not any(
        between.sites[row.site].traits & (BARRIER | WAIT) for row in since
    ):
        return Fix(f"put {_PROXY} and then a barrier between {at} and {here}", race.put([fence, _BARRIER]))
    for side, rows in ((between.other, between.other.after), (between.mine, between.mine.before)):
        for row in rows:
            instr = between.sites[row.site]
            if instr.opcode == "fence" and "proxy" in instr.mods and not {"async", "tensormap"} & _roots(instr):
                return text.more(f"; `{instr.name}` at {between.place(row)} is for another proxy")
            if instr.opcode == "fence" and "proxy" in instr.mods and "async" in _roots(instr) and (
                side is between.mine and between.mine.thread != between.other.thread
            ):  # fmt: skip
                return text.more(
                    f", in each thread that writes: the thread of the fence at {between.place(row)} had not seen "
                    "those writes then"
                )
    return text


def _roots(instr: Instr) -> set[str]:
    return {each.split("::")[0] for each in instr.mods}


def _bad_reduction(launch, instr):
    operation = next(each for each in reductions.OPERATIONS if each in instr.mods)
    kinds = reductions.types_of(operation)
    return (
        f"`{instr.name}`: there is no .{operation} of the type of the tensor map's elements",
        f"make the map with one of {', '.join(kinds)}",
    )


def _bad_bulk(launch, instr):
    return f"size of a bulk copy must be a multiple of 16 bytes, got {launch.ctx.address}", "round the size up"


def _other_mbarrier(launch, instr) -> tuple[str, str]:
    """The message and the fix of a copy whose mbarrier is not in the block that gets the bytes."""
    slot, offset = cluster_report.owner_of(launch, launch.ctx.address) or (launch.slot, 0)
    theirs, gets = tuple(slot.ctx.block_index), tuple(launch.mates[launch.ctx.access_bytes].ctx.block_index)
    paired = " and the other block of its pair" if "cta_group::2" in instr.mods else ""
    message = (
        f"signals the mbarrier at smem+0x{offset:x} of block {theirs}, but its bytes go to block {gets}: an mbarrier "
        f"counts only bytes for its block{paired}"
    )
    if gets == tuple(launch.ctx.block_index):
        return message, "give the mbarrier of this block, at its own address"
    return message, (
        f"give the mbarrier of block {gets}, its address mapped as the bytes (mapa), and let threads of "
        "that block expect the bytes and wait"
    )


def _own_target(launch, instr) -> tuple[str, str]:
    return f"`{instr.name}` copies to the block's own shared memory, and it is for another block of the cluster", (
        "copy it by ld.shared and st.shared, or give the address in another block (mapa with its rank)"
    )


FAULTS = {(context.EXITED, context.IN_FLIGHT): _left_in_flight, (context.EXITED, context.SENDS): _still_sends}
WARNINGS = {"left": _warn_of_stores_left}
# By `detail` of the fault: the message and the fix.
ILLEGAL = {
    context.BAD_BULK: _bad_bulk,
    context.BAD_REDUCTION: _bad_reduction,
    context.OTHER_MBARRIER: _other_mbarrier,
    context.OWN_TARGET: _own_target,
}
