"""What went wrong and where: block, thread, instruction, author's line, nearest allocation, who waits for whom."""

from __future__ import annotations

import ctypes
from collections import defaultdict

from dsl.emulator import context
from dsl.emulator.dependence.grid_groups import asks_for_workspace
from dsl.emulator.diagnosis import cluster_report, deadlock_fixes, frames, mbarrier_life, report, rings
from dsl.emulator.diagnosis.ranges import ranges, runs
from dsl.emulator.emit import mbarrier
from dsl.emulator.emit.cluster import NOBODY
from dsl.emulator.faults import Fault
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.runtime import bulk_reductions, memory, numbers
from dsl.emulator.runtime.numbers import WgmmaArea
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
        return f"{_access(launch, instr)}, which has exited", cluster_report.fix_of_exited(instr)
    if not ctx.detail and (bad := cluster_report.rank_of_nobody(ctx, ctx.address)) is not None:
        return _no_block(launch, bad)
    freed = None if ctx.detail else launch.memory.freed(ctx.address)
    message = f"{_access(launch, instr)} is {_where(launch)}"
    if freed is None:
        return message, ""
    message += f"; `{freed.label}` ({freed.size_bytes} bytes) was there and is freed"
    return message, "keep the tensor until the kernel has run, if it was meant: a pointer alone does not hold it"


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


def _access(launch, instr: Instr) -> str:
    ctx = launch.ctx
    verb = {"st": "write", "ld": "read", "ldu": "read", "cp": "copy", "atom": "atomic", "red": "atomic"}.get(
        instr.opcode, "access"
    )
    return f"{verb} of {ctx.access_bytes} bytes at {_address(launch)}"


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
    """Where a bad address lies, relative to the nearest allocation."""
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
    name = f"`{allocation.label}` ({allocation.size_bytes} bytes)"
    if distance < 0:
        return f"{_count(-distance)} before the start of {name}"
    past = distance - allocation.size_bytes
    if past >= 0:
        return f"{_count(past)} past the end of {name}" if past else f"just past the end of {name}"
    if past + ctx.access_bytes > 0:
        return f"across the end of {name}, at byte {distance}"
    return f"inside {name}, which this instruction's state space cannot reach"


def _count(nbytes: int) -> str:
    return f"{nbytes} byte" + ("s" if nbytes != 1 else "")


def _not_in_mask(launch, instr):
    ctx = launch.ctx
    return (
        f"lane {ctx.thread % 32} executes `{instr.name}` with a member mask 0x{ctx.address & 0xFFFFFFFF:08x} "
        "that does not name it",
        "every executing lane must be in its own mask",
    )


def _bad_barrier(launch, instr):
    return f"barrier {launch.ctx.address} does not exist: a block has barriers 0 to 15", "use an id from 0 to 15"


def _barrier_counts(launch, instr):
    return (
        f"it expects {launch.ctx.address or 'all'} threads, others wait at the same barrier with another count",
        "give every arrival at one barrier the same count",
    )


def _count_not_warps(launch, instr):
    count = launch.ctx.address
    fix = f"let it count {-(-count // 32) * 32}: whole warps arrive, whichever of their lanes run"
    return f"a barrier's thread count must be a multiple of 32, not {count}", fix


def _bad_source_size(launch, instr):
    ctx = launch.ctx
    return f"cp.async of {ctx.access_bytes} bytes was told to read {ctx.address}", "src-size must not exceed cp-size"


def _bad_map(launch, instr):
    dimensions = launch.ctx.address
    if dimensions:
        return f"the tensor map is of {dimensions} dimensions", "give as many coordinates as the tensor has dimensions"
    return (
        "there is no tensor map at this address, or that of a tensor whose address or strides are no multiples of "
        "16 bytes",
        "pass what the host made of the tensor, as a kernel parameter; pad its rows to a multiple of 16 bytes",
    )


def _map_misaligned(launch, instr):
    return (
        f"the address of the tensor map must be a multiple of 64, got 0x{launch.ctx.address:x}",
        "pass the map as a kernel parameter (`const __grid_constant__ CUtensorMap`), or align its memory to 64 bytes",
    )


def _map_place(launch, instr):
    where = "shared memory" if launch.ctx.address else "the thread's local memory"
    copied = (
        "copy it to global memory (tensormap.cp_fenceproxy) first"
        if launch.ctx.address
        else ("pass the map as `const __grid_constant__ CUtensorMap`: without __grid_constant__ the compiler copies it")
    )
    return f"the tensor map is in {where}; it must be in global, constant or parameter memory", copied


def _bad_start(launch, instr):
    start, unit = ctypes.c_int64(launch.ctx.address).value, launch.ctx.access_bytes
    return (
        f"the box begins {start} bytes into a row of the tensor; it must begin at a multiple of {unit}",
        "keep the first coordinate at such a multiple, and mask what is too much",
    )


def _bad_interleave(launch, instr):
    return (
        "a copy by an interleaved map of im2col, or with a step of channels, is not emulated",
        "make the map with cuTensorMapEncodeTiled, of 3 to 5 dimensions, and 1 as its first element stride",
    )


def _bad_reduction(launch, instr):
    operation = next(each for each in bulk_reductions.OPERATIONS if each in instr.mods)
    kinds = bulk_reductions.types_of(operation)
    return (
        f"`{instr.name}`: there is no .{operation} of the type of the tensor map's elements",
        f"make the map with one of {', '.join(kinds)}",
    )


def _bad_bulk(launch, instr):
    return f"size of a bulk copy must be a multiple of 16 bytes, got {launch.ctx.address}", "round the size up"


def _bad_rank(launch, instr):
    return _no_block(launch, launch.ctx.address)


def _no_block(launch, rank: int) -> tuple[str, str]:
    blocks = launch.ctx.cluster_blocks
    size = f"{blocks} blocks" if blocks > 1 else "one block"
    fix = "use a rank below %cluster_nctarank" if blocks > 1 else "launch it in clusters: `cluster=(2, 1, 1)`"
    more = " or more" if rank == NOBODY else ""
    return f"a cluster of {size} has no block {rank}{more}", fix


def _bad_index(launch, instr):
    return "the branch index is past the end of its list of targets", ""


def _partial_warp(launch, instr):
    missing = launch.ctx.address
    lanes = runs([lane for lane in range(32) if missing >> lane & 1])
    return (
        f"`{instr.name}` needs all 32 lanes of the warp, but lane{'s' if ',' in lanes or '-' in lanes else ''} "
        f"{lanes} have left, or are not in the block",
        "launch whole warps, and let no thread return before it",
    )


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
        f"{what} must be the same in all threads of the warpgroup, and is not that of thread {first} here",
        "compute it of what all threads have: not of the lane or the warp",
    )


_WGMMA_WORDS = {
    WgmmaArea.a_desc.offset: "the descriptor of A",
    WgmmaArea.b_desc.offset: "the descriptor of B",
    WgmmaArea.scale_d.offset: "scale-d",
}
_ILLEGAL = {
    context.ARRIVED_TWICE: cluster_report.arrived_twice,
    context.NOT_ARRIVED: cluster_report.not_arrived,
    context.NOT_SHARED: mbarrier_life.not_shared,
    context.BAD_ARRIVALS: mbarrier_life.bad_count,
    context.PARTIAL_WARPGROUP: _partial_warpgroup,
    context.NOT_UNIFORM: _not_uniform,
    context.PARTIAL_WARP: _partial_warp,
    context.NOT_IN_MASK: _not_in_mask,
    context.BAD_BARRIER: _bad_barrier,
    context.BARRIER_COUNTS: _barrier_counts,
    context.COUNT_NOT_WARPS: _count_not_warps,
    context.BAD_SOURCE_SIZE: _bad_source_size,
    context.BAD_INDEX: _bad_index,
    context.BAD_RANK: _bad_rank,
    context.BAD_MAP: _bad_map,
    context.MAP_MISALIGNED: _map_misaligned,
    context.MAP_PLACE: _map_place,
    context.BAD_BULK: _bad_bulk,
    context.BAD_REDUCTION: _bad_reduction,
    context.BAD_START: _bad_start,
    context.BAD_INTERLEAVE: _bad_interleave,
}


# ** deadlock


def _deadlock(launch) -> Fault:
    """Who waits where, and for whom, in each block of the cluster."""
    stopped, slots = launch.slot, [each for each in launch.mates if not cluster_report.is_gone(each)]
    slots.sort(key=lambda each: each.ctx.block)
    rows, fixes, last, waits = [], [], [], []
    for launch.slot in slots:
        words, groups, waited = rings.Words(launch), _groups(launch), _waited_mbarriers(launch)
        first, texts = _waits(launch, groups, waits)
        rows.append((launch.slot, first, texts + words.stages(waited)))
        fixes.append(_fix(launch, groups, words, waited))
        last.append(deadlock_fixes.of_barriers(launch, groups, launch.lanes("exited")))
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
        fixes.insert(0, grid[1])
    fix = next(filter(None, [*fixes, *last]), "")  # who waits at a barrier may wait for who waits elsewhere
    return report.error(launch, "DEADLOCK", instr, message, lines, fix, block, first, waits)


def _fix(launch, groups: dict[tuple, list[int]], words: rings.Words, waited: dict[int, int]) -> str | None:
    """What to do about threads of the block of `launch.slot` that wait at no barrier."""
    return (
        deadlock_fixes.of_warps(launch, groups)
        or words.fix(waited)
        or deadlock_fixes.of_one_mbarrier(launch, groups, words.of)
    )


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


def _waited_mbarriers(launch) -> dict[int, int]:
    """Offsets of mbarriers, each with the mask of the warps that wait there."""
    waited: dict[int, int] = defaultdict(int)
    for thread in _waiting(launch):
        kind, _, *where = _wait_key(launch, thread)
        if kind == "mbarrier":
            waited[where[0] - launch.ctx.smem] |= 1 << thread // 32
    return waited


def _waiting(launch) -> list[int]:
    ready = set(launch.lanes("ready"))
    polling = ready if launch.ctx.idle >= numbers.schedule.LEAST_IDLE - 1 else set(launch.lanes("in_mbarrier")) & ready
    return launch.lanes("in_warp") + launch.lanes("in_barrier") + sorted(polling)


def _wait_key(launch, thread: int) -> tuple:
    ctx = launch.ctx
    site = ctx.wait_site[thread]
    if ctx.in_warp[thread // 32] >> (thread % 32) & 1:
        if ctx.key[thread] & 255 == numbers.meeting.WARPGROUP:
            return ("warpgroup", site, thread // 128)
        return ("warp", site, thread // 32, ctx.mask[thread])
    if ctx.ready[thread // 32] >> (thread % 32) & 1:
        if (
            ctx.polling[thread // 32] >> (thread % 32) & 1
            and launch.code.sites[ctx.poll_site[thread]].opcode != "mbarrier"
        ):
            return ("poll", ctx.poll_site[thread], site)
        if launch.code.sites[site].opcode != "mbarrier":
            return ("poll", site, site)
        return ("mbarrier", site, ctx.a[thread], ctx.b[thread] & 1)
    return ("barrier", site, ctx.b[thread])


def _waiters(launch, key: tuple, threads: list[int], groups: dict, exited: list[int]) -> list[str]:
    instr = launch.code.sites[key[1]]
    lines = [f"    {ranges(threads)} wait{'s' if len(threads) == 1 else ''} at {_at(launch, instr)}"]
    if key[0] == "mbarrier":
        return [*lines, *_phase(launch, *key[2:])]
    if key[0] == "poll":
        lines.append("        for memory to change, but every thread that runs only waits")
        meets = launch.code.sites[key[2]]
        return [*lines, f"        and meets others at {_at(launch, meets)}"] if _meets(meets) else lines
    lines.append(f"        for {_missing(launch, key, threads, groups, exited)}")
    return lines


def _wait(launch, key: tuple, threads: list[int], awaited: str) -> dict:
    """One wait as data; of an mbarrier with its phase: arrivals that came, of how many, bytes that are missing."""
    phase = None
    if key[0] == "mbarrier":
        state = mbarrier.State.of(ctypes.c_uint64.from_address(key[2]).value)
        if state.count and state.parity == key[3]:
            came = state.count - state.pending
            phase = {"parity": key[3], "came": came, "of": state.count, "bytes": state.pending_bytes}
    instr = launch.code.sites[key[1]]
    text = f"{ranges(threads)} wait{'s' if len(threads) == 1 else ''} at {instr.text}"
    return report.access(launch, instr, "waits", text, awaited=awaited, phase=phase)


def _at(launch, instr: Instr) -> str:
    place = frames.place_of(launch, instr)
    at = f" ({short(place.file)}:{place.line}){frames.of(launch, instr).calls()}" if place else ""
    return f"`{instr.text}`{at}, PTX line {instr.line}"


def _meets(instr: Instr) -> bool:
    return instr.opcode in ("bar", "barrier", "shfl", "vote", "match", "redux")


def _phase(launch, address: int, parity: int) -> list[str]:
    """What the phase of an mbarrier still lacks."""
    place = f"smem+0x{address - launch.ctx.smem:x}"
    state = mbarrier.State.of(ctypes.c_uint64.from_address(address).value)
    if state.count == 0:
        return [f"        for a phase of {place} to end, where no mbarrier was made: mbarrier.init comes first"]
    if state.parity != parity:
        return [f"        for the phase of parity {parity} of {place} to end, which it has"]
    came = f"{state.count - state.pending} of {state.count} arrivals have come"
    left = state.pending_bytes
    if left > 0:
        came += f", and {_count(left)} that {'was expected has' if left == 1 else 'were expected have'} not"
    elif left < 0:
        came += f", and {_count(-left)} more than were expected"
    return [f"        for the phase of parity {parity} of the mbarrier at {place} to end: {came},",
            "        and no thread arrives at the mbarrier any more",
            *(f"        ({text})" for text in rings.Words(launch).lacks(address - launch.ctx.smem))]  # fmt: skip


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
        present = {t for k, ts in groups.items() if k[0] == "barrier" and k[2] == key[2] for t in ts}
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
