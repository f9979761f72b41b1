"""The report of a fault: block, thread, instruction, author's line, nearest allocation, waits of threads for others."""

from __future__ import annotations

import functools
from collections import defaultdict

from dsl.emulator import families
from dsl.emulator.check.access import is_meeting
from dsl.emulator.dependence.grid_groups import asks_for_workspace
from dsl.emulator.diagnosis import cluster_report, deadlock_fixes, frames, report
from dsl.emulator.diagnosis.ranges import of_bytes, ranges
from dsl.emulator.faults import Fault
from dsl.emulator.machine import context, memory
from dsl.emulator.machine.numbers import meeting, schedule
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.ptx.traits import COPY, LOAD, STORE, UPDATES
from dsl.span import short


def fault_of(launch) -> Fault:
    """The Fault that a finished launch's context describes."""
    ctx = launch.ctx
    if ctx.status == context.DEADLOCK:
        return _deadlock(launch)
    if ctx.status == context.OUT_OF_BOUNDS and not ctx.detail and cluster_report.has_exited(launch, ctx.address):
        ctx.status = context.EXITED
    instr: Instr = launch.code.sites[ctx.site]
    message, fix = _explain(launch, instr)
    block, thread = tuple(ctx.block_index), launch.thread_index(ctx.thread)
    lane = f"warp {ctx.thread // 32}, lane {ctx.thread % 32}"
    rows = [f"    in `{launch.entry_name}`, block {block}, thread {thread} = {lane}"]
    rows.append(f"    PTX line {instr.line}: {instr.text}")
    return report.error(launch, context.KIND_NAMES[ctx.status], instr, message, rows, fix, block, ctx.thread)


def _explain(launch, instr: Instr) -> tuple[str, str]:
    """The message and the fix of a fault."""
    ctx = launch.ctx
    if ctx.status == context.TRAP:
        if launch.assertion is not None:
            return f"assertion failed: {launch.assertion}", ""
        return _trap(launch, instr)
    if ctx.status == context.ILLEGAL:
        return _ILLEGAL[ctx.detail](launch, instr)
    if ctx.status == context.MISALIGNED:
        n = ctx.access_bytes
        message = f"{_access(launch, instr)} is not aligned to {n} bytes (it is {ctx.address % n} past)"
        return message, f"keep the address a multiple of {n}, or use narrower accesses"
    if ctx.status == context.EXITED:
        return f"{_access(launch, instr)}, which has exited", cluster_report.fix_of_exited(launch, instr)
    if not ctx.detail and (bad := cluster_report.rank_of_nobody(ctx, ctx.address)) is not None:
        return cluster_report.no_block(launch, bad)
    if ctx.detail == context.SHARED and (place := cluster_report.place_in_mate(launch, ctx.address)) is not None:
        return cluster_report.outside_of_own(_verb(instr), ctx.access_bytes, place)
    freed = None if ctx.detail else launch.memory.freed(ctx.address)
    where = _where(launch)
    message = f"{_access(launch, instr)} is {where}"
    if freed is None:
        return message, _FIXES.get(where, "")
    message += f"; `{freed.label}` ({freed.size_bytes} bytes) was there and is freed"
    return message, "keep this memory until the kernel has run, if it was meant: a pointer alone does not keep a tensor"


def _trap(launch, instr: Instr) -> tuple[str, str]:
    program = launch.program
    if launch.workspace is None and asks_for_workspace(
        program.module, launch.entry_name, program.tensor_core, instr.line
    ):
        return (
            "a group of the whole grid waits, which needs a cooperative launch, and this one is not",
            "launch it with cuLaunchCooperativeKernel, cudaLaunchCooperativeKernel, "
            "LaunchConfig(..., is_cooperative=True) or .launch(..., cooperative=True)",
        )
    return "the kernel executed a trap", ""


_NOWHERE, _FAR_BYTES = "in no memory of the device", 1 << 30
_MULTIMEM = "a multimem address, which only multimem instructions take"
_FIXES = {
    _NOWHERE: "give the kernel an address of device memory",
    _MULTIMEM: "use the address at which the memory itself is, or `multimem.ld_reduce`, `.st` or `.red`",
}
_ACCESSES = (STORE, "write"), (LOAD, "read"), (COPY, "copy"), (UPDATES, "atomic")


def _verb(instr: Instr) -> str:
    return next((verb for traits, verb in _ACCESSES if instr.traits & traits), "access")


def _access(launch, instr: Instr) -> str:
    ctx = launch.ctx
    return f"{_verb(instr)} of {ctx.access_bytes} bytes at {_address(launch)}"


def _address(launch) -> str:
    ctx = launch.ctx
    if ctx.detail == context.CLUSTER:
        return cluster_report.place_of_cluster_address(launch, ctx.address)
    if ctx.detail == context.SHARED:
        return f"smem+0x{ctx.address:x}"
    if ctx.detail == context.LOCAL:
        return f"local+0x{ctx.address:x}"
    return cluster_report.place_of(launch, ctx.address) or f"0x{ctx.address:x}"


def _where(launch) -> str:
    """The place of a bad address, relative to the nearest allocation."""
    ctx = launch.ctx
    if ctx.detail in (context.SHARED, context.CLUSTER, context.LOCAL):
        is_shared = ctx.detail != context.LOCAL
        size = ctx.smem_bytes if is_shared else ctx.local_bytes
        name = "shared memory" if is_shared else "the thread's local memory"
        split = f", {ctx.smem_static} static + {ctx.smem_dynamic} dynamic" if is_shared else ""
        return f"outside {name} ({size} bytes{split})"
    if ctx.address == 0:
        return "a null pointer"
    neighbour = memory.nearest(launch.all_allocations, ctx.address)
    if neighbour is None:
        return "outside every allocation (there are none)"
    allocation, distance = neighbour
    if not -_FAR_BYTES < distance < allocation.size_bytes + _FAR_BYTES:
        return _NOWHERE
    name = f"`{allocation.label}` ({allocation.size_bytes} bytes)"
    if distance < 0:
        return f"{of_bytes(-distance)} before the start of {name}"
    past = distance - allocation.size_bytes
    if past < 0 and allocation.kind == context.MULTIMEM:
        return _MULTIMEM
    if past >= 0:
        return f"{of_bytes(past)} past the end of {name}" if past else f"just past the end of {name}"
    if past + ctx.access_bytes > 0:
        return f"across the end of {name}, at byte {distance}"
    return f"inside {name}, which this instruction's state space cannot reach"


_ILLEGAL = {detail: words for each in families.parts("words") for detail, words in each.ILLEGAL.items()}


# ** deadlock


def _deadlock(launch) -> Fault:
    """The threads that wait, where, and for which others, in each block of the cluster."""
    stopped, slots = launch.slot, [each for each in launch.mates if not cluster_report.is_gone(each)]
    slots.sort(key=lambda each: each.ctx.block)
    rows, warps, phases, barriers, waits = [], [], [], [], []
    for launch.slot in slots:
        groups = _groups(launch)
        first, texts = _waits(launch, groups, waits)
        polled = [each(launch) for each in _polled().values()]
        rows.append((launch.slot, first, texts + [line for each in polled for line in each.lines(groups)]))
        warps.append(deadlock_fixes.of_warps(launch, groups))
        phases = [*(each.fix_of_bytes(groups) for each in polled), *phases, *(each.fix(groups) for each in polled)]
        barriers.append(deadlock_fixes.of_barriers(launch, groups, launch.lanes("exited")))
    launch.slot, first, _ = next((row for row in rows if row[1] is not None), (stopped, 0, []))
    block = tuple(launch.ctx.block_index)
    instr: Instr = launch.code.sites[_wait_key(launch, first)[1]]
    who = f"block {block}" if len(launch.mates) == 1 else f"the cluster of block {block}"
    message, lines = f"no thread can continue in {who} of `{launch.entry_name}`", []
    inner = "    " if len(launch.mates) > 1 else ""
    for slot, _, texts in rows:
        if inner:
            lines.append(f"    block {tuple(slot.ctx.block_index)}:")
        lines += [inner + text for text in texts]
    for slot in launch.mates:
        if cluster_report.is_gone(slot):
            lines.append(f"    block {tuple(slot.ctx.block_index)} has exited")
    grid = deadlock_fixes.of_grid(launch)
    if grid:
        lines.append(f"    {grid[0]}")
        warps.insert(0, grid[1])
    # who waits at a barrier may wait for who waits elsewhere
    fix = next(filter(None, [report.cause(launch), *warps, *phases, *barriers]), "")
    return report.error(launch, "DEADLOCK", instr, message, lines, fix, block, first, waits)


@functools.cache
def _polled() -> dict:
    """The waits in which threads ask again and again, by opcode: see families/mbarrier/deadlock.py."""
    return {each.OPCODE: each for each in families.named("deadlock", "WAITS")}


def _groups(launch) -> dict[tuple, list[int]]:
    """The threads that wait in the block of `launch.slot`, by what they wait at."""
    groups: dict[tuple, list[int]] = defaultdict(list)
    for thread in sorted(_waiting(launch)):
        groups[_wait_key(launch, thread)].append(thread)
    return groups


def _waits(launch, groups: dict[tuple, list[int]], waits: list[dict]) -> tuple[int | None, list[str]]:
    """The first thread that waits in the block of `launch.slot`, and what each waits for; to `waits` as data too."""
    exited = launch.lanes("exited")
    lines: list[str] = []
    for key, threads in groups.items():
        text = _waiters(launch, key, threads, groups, exited)
        lines += text
        waits.append(_wait(launch, key, threads, text[1].strip()))
    if exited:
        lines.append(f"    exited: {ranges(exited)}")
    return min((thread for threads in groups.values() for thread in threads), default=None), lines


def _waiting(launch) -> list[int]:
    ready = set(launch.lanes("ready"))
    polling = ready if launch.ctx.idle >= schedule.LEAST_IDLE - 1 else set(launch.lanes("in_mbarrier")) & ready
    return launch.lanes("in_warp") + launch.lanes("in_barrier") + sorted(polling)


def _wait_key(launch, thread: int) -> tuple:
    ctx = launch.ctx
    site = ctx.wait_site[thread]
    if ctx.in_warp[thread // 32] >> (thread % 32) & 1:
        if ctx.key[thread] & 255 == meeting.WARPGROUP:
            return ("warpgroup", site, thread // 128)
        return ("warp", site, thread // 32, ctx.mask[thread])
    if ctx.ready[thread // 32] >> (thread % 32) & 1:
        sites, poll = launch.code.sites, ctx.poll_site[thread]
        if ctx.polling[thread // 32] >> (thread % 32) & 1 and sites[poll].opcode not in _polled():
            return ("poll", poll, site)
        kind = _polled().get(sites[site].opcode)
        return ("poll", site, site) if kind is None else (kind.OPCODE, site, *kind.key(ctx, thread))
    return ("block", site, ctx.b[thread])


def _waiters(launch, key: tuple, threads: list[int], groups: dict, exited: list[int]) -> list[str]:
    instr = launch.code.sites[key[1]]
    lines = [f"    {ranges(threads)} wait{'s' if len(threads) == 1 else ''} at {_at(launch, instr)}"]
    if key[0] in _polled():
        return [*lines, *_polled()[key[0]](launch).phase(*key[2:])]
    if key[0] == "poll":
        lines.append("        for memory to change, but every thread that runs only waits")
        meets = launch.code.sites[key[2]]
        return [*lines, f"        and meets others at {_at(launch, meets)}"] if is_meeting(meets) else lines
    lines.append(f"        for {_missing(launch, key, threads, groups, exited)}")
    return lines


def _wait(launch, key: tuple, threads: list[int], awaited: str) -> dict:
    """One wait as data; of an mbarrier with its phase: arrivals that came, of how many, bytes that are missing."""
    phase = _polled()[key[0]](launch).data(*key[2:]) if key[0] in _polled() else None
    instr = launch.code.sites[key[1]]
    text = f"{ranges(threads)} wait{'s' if len(threads) == 1 else ''} at {instr.text}"
    return report.access(launch, instr, "waits", text, awaited=awaited, phase=phase)


def _at(launch, instr: Instr) -> str:
    place = frames.place_of(launch, instr)
    at = f" ({short(place.file)}:{place.line}){frames.of(launch, instr).calls()}" if place else ""
    return f"`{instr.text}`{at}, PTX line {instr.line}"


def _missing(launch, key, threads, groups, exited) -> str:
    """The threads a group waits for, and where each of them is."""
    ctx = launch.ctx
    if key[0] == "warp":
        named = {32 * key[2] + lane for lane in range(32) if key[3] >> lane & 1}
        absent = sorted(named - set(threads) - set(exited))
        if not absent:
            return "lanes that wait with another mask"
    elif key[0] == "warpgroup":
        absent = sorted({*range(128 * key[2], 128 * key[2] + 128)} - set(threads))
    else:
        count = ctx.barrier_count[key[2]]
        if key[2] == context.CLUSTER_BARRIER:
            return f"{_absent_from_cluster(launch)} to arrive at the cluster's barrier"
        present = {t for k, ts in groups.items() if k[0] == "block" and k[2] == key[2] for t in ts}
        if count:
            more = count - 32 * len({t // 32 for t in present})
            return f"{more} more threads of the {count} that barrier {key[2]} counts"
        absent = sorted(set(range(ctx.threads)) - present - set(exited))
    where = []
    for other, members in groups.items():
        shared = sorted(set(absent) & set(members))
        if shared:
            there = launch.code.sites[other[1]]
            same = "the same instruction with another mask" if other[1] == key[1] else f"`{there.text}`"
            where.append(f"{ranges(shared)} (at {same}, PTX line {there.line})")
    return "; ".join(where) or ranges(absent)


def _absent_from_cluster(launch) -> str:
    """The threads that have not come to the barrier of the cluster, by block where there are several."""
    rows = []
    for slot in sorted(launch.mates, key=lambda each: each.ctx.block):
        ctx, base = slot.ctx, context.CLUSTER_BARRIER * context.MAX_WARPS
        came = [ctx.arrived[base + w] | ctx.exited[w] for w in range(context.MAX_WARPS)]
        absent = [t for t in range(ctx.threads) if not came[t // 32] >> (t % 32) & 1]
        if absent and not cluster_report.is_gone(slot):
            rows.append((tuple(ctx.block_index), ranges(absent)))
    if len(launch.mates) == 1:
        return rows[0][1] if rows else "nobody"
    return "; ".join(f"{threads} of block {block}" for block, threads in rows) or "nobody"
