"""The native scheduler: threads of one block as coroutines, warp by warp, and what happens where they meet.

A warp runs until all its lanes wait or have exited; then its warp-level meetings resolve; then the block's barriers.
When nothing can move the launch stops as a deadlock. PTX ISA: shfl.sync, vote.sync, match.sync, redux.sync,
elect.sync, activemask, bar.warp.sync, barrier.
"""

from __future__ import annotations

from . import context
from .builder import Builder

# The low byte of a meeting's key; the rest tells apart what may not meet (types, modes).
WARP_SYNC, SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX, VOTE, MATCH_ANY, MATCH_ALL, REDUX, ELECT = range(10)
REDUX_ROWS = ("add", "and", "or", "xor", "smin", "smax", "umin", "umax")

SIGNATURES = {
    "emu_wait_warp": "i32 (ptr, i32, i32, i32, i64, i32, i32, i32)",
    "emu_wait_active": "void (ptr, i32, i32)",
    "emu_wait_barrier": "i32 (ptr, i32, i32, i32, i32, i32)",
    "emu_arrive": "i32 (ptr, i32, i32, i32, i32)",
    "emu_exit": "void (ptr, i32)",
    "emu_frame": "ptr (ptr, i32, i64)",
    "emu_run_block": "void (ptr, ptr)",
}


def functions() -> list[str]:
    """The IR text of the scheduler's functions."""
    return [
        _wait_warp(), _wait_active(), _wait_barrier(), _arrive(), _exit(), _frame(),
        _shuffle(), _perform(), _resolve_active(), _resolve_warp(),
        _barrier_complete(), _release_barrier(), _resolve_barriers(),
        _run_lane(), _run_warp(), _begin_block(), _run_block(), _run_grid(),
    ]  # fmt: skip


def _lane(f: Builder) -> tuple[str, str]:
    return f.lshr("%tid", 5), f.shl(1, f.and_("%tid", 31))


def _set(f: Builder, name: str, index: str, bits: str) -> None:
    f.store(name, f.or_(f.load(name, index), bits), index)


def _clear(f: Builder, name: str, index: str, bits: str) -> None:
    f.store(name, f.and_(f.load(name, index), f.not_(bits)), index)


def _first_bit(f: Builder, bits: str) -> str:
    return f.op(f"call i32 @llvm.cttz.i32(i32 {bits}, i1 false)")


def _fault_if(f: Builder, condition: str, detail: int, value: str = "0") -> None:
    """An illegal instruction of thread %tid at %site; the function returns 0."""
    with f.if_(condition):
        where = f"i32 {context.ILLEGAL}, i32 %site, i32 %tid"
        f.do(f"call void @emu_fault(ptr %ctx, {where}, i64 {value}, i64 0, i64 {detail})")
    f.return_if(condition, "i32 0")


def _wait_warp() -> str:
    f = Builder()
    warp, bit = _lane(f)
    _fault_if(f, f.cmp("eq", f.and_("%mask", bit), 0), context.NOT_IN_MASK, f.cast("zext", "%mask", "i32", "i64"))
    for name in ("key", "mask", "a", "b", "c"):
        f.store(name, f"%{name}", "%tid")
    f.store("wait_site", "%site", "%tid")
    _set(f, "in_warp", warp, bit)
    _clear(f, "ready", warp, bit)
    f.do("ret i32 1")
    arguments = "i32 %tid, i32 %key, i32 %mask, i64 %a, i32 %b, i32 %c, i32 %site"
    return f.function(f"define i32 @emu_wait_warp(ptr %ctx, {arguments})")


def _wait_active() -> str:
    f = Builder()
    warp, bit = _lane(f)
    f.store("wait_site", "%site", "%tid")
    _set(f, "in_active", warp, bit)
    _clear(f, "ready", warp, bit)
    f.do("ret void")
    return f.function("define void @emu_wait_active(ptr %ctx, i32 %tid, i32 %site)")


def _barrier_cell(f: Builder, warp: str, barrier: str = "%id") -> str:
    return f.add(f.mul(barrier, context.MAX_WARPS), warp)


def _register_arrival(f: Builder) -> tuple[str, str]:
    """Common to sync and arrive: checks the id and count, sets the lane's bit."""
    _fault_if(f, f.cmp("uge", "%id", context.BARRIERS), context.BAD_BARRIER, f.cast("zext", "%id", "i32", "i64"))
    count = f.cast("zext", "%count", "i32", "i64")
    _fault_if(f, f.cmp("ne", f.and_("%count", 31), 0), context.COUNT_NOT_WARPS, count)
    used_bit = f.shl(1, "%id")
    used = f.cmp("ne", f.and_(f.load("barriers_used"), used_bit), 0)
    differs = f.cmp("ne", f.load("barrier_count", "%id"), "%count")
    _fault_if(f, f.and_(used, differs, "i1"), context.BARRIER_COUNTS, count)
    f.store("barriers_used", f.or_(f.load("barriers_used"), used_bit))
    f.store("barrier_count", "%count", "%id")
    warp, bit = _lane(f)
    cell = _barrier_cell(f, warp)
    again = f.cast("zext", f.cmp("ne", f.and_(f.load("arrived", cell), bit), 0), "i1", "i32")
    f.store("arrived_extra", f.add(f.load("arrived_extra", "%id"), again), "%id")
    _set(f, "arrived", cell, bit)
    return warp, bit


def _wait_barrier() -> str:
    f = Builder()
    warp, bit = _register_arrival(f)
    f.store("b", "%id", "%tid")
    f.store("a", f.cast("zext", "%pred", "i32", "i64"), "%tid")
    f.store("wait_site", "%site", "%tid")
    _set(f, "in_barrier", warp, bit)
    _clear(f, "ready", warp, bit)
    f.do("ret i32 1")
    return f.function("define i32 @emu_wait_barrier(ptr %ctx, i32 %tid, i32 %id, i32 %count, i32 %pred, i32 %site)")


def _arrive() -> str:
    f = Builder()
    _register_arrival(f)
    f.do("ret i32 1")
    return f.function("define i32 @emu_arrive(ptr %ctx, i32 %tid, i32 %id, i32 %count, i32 %site)")


def _exit() -> str:
    f = Builder()
    warp, bit = _lane(f)
    _set(f, "exited", warp, bit)
    _clear(f, "ready", warp, bit)
    f.do("ret void")
    return f.function("define void @emu_exit(ptr %ctx, i32 %tid)")


def _frame() -> str:
    """A thread's coroutine frame: slices of one allocation, made by the first thread and kept for all blocks."""
    f = Builder()
    rounded = f.and_(f.add("%size", 127, "i64"), -64, "i64")
    with f.if_(f.cmp("eq", f.load("frames"), 0, "i64")):
        total = f.mul(rounded, f.cast("zext", f.load("threads"), "i32", "i64"), "i64")
        block = f.op(f"call ptr @aligned_alloc(i64 64, i64 {total})")
        f.store("frames", f.cast("ptrtoint", block, "ptr", "i64"))
    offset = f.mul(rounded, f.cast("zext", "%tid", "i32", "i64"), "i64")
    address = f.add(f.load("frames"), offset, "i64")
    f.do(f"ret ptr {f.cast('inttoptr', address, 'i64', 'ptr')}")
    return f.function("define ptr @emu_frame(ptr %ctx, i32 %tid, i64 %size)")


def _shuffle() -> str:
    """The source lane (low byte) and predicate (bit 8) of one lane, as the ISA's pseudo-code for shfl has it."""
    f = Builder()
    bval, cval = f.and_("%b", 31), f.and_("%c", 31)
    segment = f.and_(f.lshr("%c", 8), 31)
    inverse = f.xor(segment, 31)
    min_lane = f.and_("%lane", segment)
    max_lane = f.or_(min_lane, f.and_(cval, inverse))
    j = f.or_(min_lane, f.and_(bval, inverse))
    sources = {SHFL_UP: f.sub("%lane", bval), SHFL_DOWN: f.add("%lane", bval), SHFL_BFLY: f.xor("%lane", bval)}
    for mode, source in sources.items():
        j = f.select(f.cmp("eq", "%mode", mode), source, j)
    is_up = f.cmp("eq", "%mode", SHFL_UP)
    inside = f.select(is_up, f.cmp("sge", j, max_lane), f.cmp("sle", j, max_lane), "i1")
    lane = f.and_(f.select(inside, j, "%lane"), 31)
    # A source lane that is not part of the meeting: the ISA leaves the value open, here it is the lane's own.
    there = f.cmp("ne", f.and_(f.lshr("%group", lane), 1), 0)
    lane = f.select(there, lane, "%lane")
    f.do(f"ret i32 {f.or_(lane, f.shl(f.cast('zext', inside, 'i1', 'i32'), 8))}")
    return f.function("define internal i32 @shuffle(i32 %lane, i32 %mode, i32 %b, i32 %c, i32 %group) alwaysinline")


def _perform() -> str:
    """Give every lane of `group` its result; `base` is the warp's first thread."""
    f = Builder()
    mode = f.and_("%key", 255)
    families = {
        _perform_shuffle: (SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX),
        _perform_vote: (VOTE, ELECT),
        _perform_match: (MATCH_ANY, MATCH_ALL),
        _perform_redux: (REDUX,),
    }
    table = " ".join(f"i32 {key}, label %{family.__name__}" for family, keys in families.items() for key in keys)
    f.do(f"switch i32 {mode}, label %out [{table}]")
    for family in families:
        f.start(family.__name__)
        family(f, mode)
        f.do("ret void")
    f.start("out")
    f.do("ret void")
    return f.function("define internal void @perform(ptr %ctx, i32 %base, i32 %group, i32 %key)")


def _perform_shuffle(f: Builder, mode: str) -> None:
    with f.for_bits("%group") as lane:
        tid = f.add("%base", lane)
        arguments = f"i32 {lane}, i32 {mode}, i32 {f.load('b', tid)}, i32 {f.load('c', tid)}, i32 %group"
        packed = f.op(f"call i32 @shuffle({arguments})")
        source = f.add("%base", f.and_(packed, 31))
        f.store("out", f.cast("trunc", f.load("a", source), "i64", "i32"), tid)
        f.store("out_pred", f.lshr(packed, 8), tid)


def _perform_vote(f: Builder, mode: str) -> None:
    """vote: the ballot, and whether all voted; elect: the lowest lane leads."""
    ballot = f.alloca("i32", 4)
    f.put(ballot, 0)
    with f.for_bits("%group") as lane:
        vote = f.cast("trunc", f.load("a", f.add("%base", lane)), "i64", "i32")
        f.put(ballot, f.or_(f.get(ballot), f.shl(vote, lane)))
    votes = f.get(ballot)
    leader = _first_bit(f, "%group")
    elect = f.cmp("eq", mode, ELECT)
    every = f.cmp("eq", votes, "%group")
    result = f.select(elect, leader, votes)
    with f.for_bits("%group") as lane:
        tid = f.add("%base", lane)
        f.store("out", result, tid)
        flag = f.select(elect, f.cmp("eq", lane, leader), every, "i1")
        f.store("out_pred", f.cast("zext", flag, "i1", "i32"), tid)


def _perform_match(f: Builder, mode: str) -> None:
    equal = f.alloca("i32", 4)
    with f.for_bits("%group") as lane:
        tid = f.add("%base", lane)
        mine = f.load("a", tid)
        f.put(equal, 0)
        with f.for_bits("%group") as other:
            same = f.cmp("eq", mine, f.load("a", f.add("%base", other)), "i64")
            f.put(equal, f.or_(f.get(equal), f.shl(f.cast("zext", same, "i1", "i32"), other)))
        found = f.get(equal)
        whole = f.cmp("eq", found, "%group")
        none = f.and_(f.cmp("eq", mode, MATCH_ALL), f.xor(whole, "true", "i1"), "i1")
        f.store("out", f.select(none, 0, found), tid)
        f.store("out_pred", f.cast("zext", whole, "i1", "i32"), tid)


def _perform_redux(f: Builder, mode: str) -> None:
    """All reductions at once; the key's second byte picks one."""
    rows = f.alloca(f"[{len(REDUX_ROWS)} x i32]", 4)
    start = {"and": -1, "smin": 0x7FFFFFFF, "smax": -0x80000000, "umin": -1}
    slots = [f.op(f"getelementptr i32, ptr {rows}, i32 {i}") for i in range(len(REDUX_ROWS))]
    for name, slot in zip(REDUX_ROWS, slots):
        f.put(slot, start.get(name, 0))
    with f.for_bits("%group") as lane:
        value = f.cast("trunc", f.load("a", f.add("%base", lane)), "i64", "i32")
        for name, slot in zip(REDUX_ROWS, slots):
            intrinsic = f"call i32 @llvm.{name}.i32(i32 {f.get(slot)}, i32 {value})"
            plain = f"{name} i32 {f.get(slot)}, {value}"
            f.put(slot, f.op(plain if name in ("add", "and", "or", "xor") else intrinsic))
    row = f.and_(f.lshr("%key", 8), 7)
    result = f.get(f.op(f"getelementptr i32, ptr {rows}, i32 {row}"))
    with f.for_bits("%group") as lane:
        f.store("out", result, f.add("%base", lane))


def _group(f: Builder, waiting: str, base: str, same) -> str:
    """The waiting lanes for which `same(tid)` holds."""
    slot = f.alloca("i32", 4)
    f.put(slot, 0)
    with f.for_bits(waiting) as lane:
        flag = f.cast("zext", same(f.add(base, lane)), "i1", "i32")
        f.put(slot, f.or_(f.get(slot), f.shl(flag, lane)))
    return f.get(slot)


def _resolve_active() -> str:
    """activemask: the lanes that reached the same instruction before the warp could move no further."""
    f = Builder()
    waiting = f.load("in_active", "%warp")
    f.return_if(f.cmp("eq", waiting, 0), "i32 0")
    base = f.shl("%warp", 5)
    site = f.load("wait_site", f.add(base, _first_bit(f, waiting)))
    group = _group(f, waiting, base, lambda tid: f.cmp("eq", f.load("wait_site", tid), site))
    with f.for_bits(group) as lane:
        f.store("out", group, f.add(base, lane))
    _clear(f, "in_active", "%warp", group)
    _set(f, "ready", "%warp", group)
    f.do("ret i32 1")
    return f.function("define internal i32 @resolve_active(ptr %ctx, i32 %warp)")


def _resolve_warp() -> str:
    """Complete every meeting of a warp whose named, non-exited lanes have all come; 1 if one did."""
    f = Builder()
    base = f.shl("%warp", 5)
    moved, rest = f.alloca("i32", 4), f.alloca("i32", 4)
    f.put(moved, 0)
    f.put(rest, f.load("in_warp", "%warp"))
    running = f.and_(f.load("live", "%warp"), f.not_(f.load("exited", "%warp")))
    with f.loop() as done:
        left = f.get(rest)
        f.break_if(f.cmp("eq", left, 0), done)
        first = f.add(base, _first_bit(f, left))
        key, mask = f.load("key", first), f.load("mask", first)

        def same(tid: str) -> str:
            return f.and_(f.cmp("eq", f.load("key", tid), key), f.cmp("eq", f.load("mask", tid), mask), "i1")

        group = _group(f, left, base, same)
        f.put(rest, f.and_(left, f.not_(group)))
        needed = f.and_(mask, running)
        with f.if_(f.cmp("eq", f.and_(group, needed), needed)):
            f.do(f"call void @perform(ptr %ctx, i32 {base}, i32 {group}, i32 {key})")
            _clear(f, "in_warp", "%warp", group)
            _set(f, "ready", "%warp", group)
            f.put(moved, 1)
    result = f.get(moved)
    f.return_if(f.cmp("ne", result, 0), "i32 1")
    f.do(f"ret i32 {f.op('call i32 @resolve_active(ptr %ctx, i32 %warp)')}")
    return f.function("define internal i32 @resolve_warp(ptr %ctx, i32 %warp)")


def _barrier_complete() -> str:
    """Whether barrier `id` has all it waits for: every running thread, or `count` threads counted in warps."""
    f = Builder()
    total, missing = f.alloca("i32", 4), f.alloca("i32", 4)
    f.put(total, f.load("arrived_extra", "%id"))
    f.put(missing, 0)
    with f.for_range(f.load("warps")) as warp:
        arrived = f.load("arrived", _barrier_cell(f, warp))
        here = f.or_(arrived, f.or_(f.load("exited", warp), f.not_(f.load("live", warp))))
        f.put(missing, f.or_(f.get(missing), f.not_(here)))
        lanes = f.op(f"call i32 @llvm.ctpop.i32(i32 {here})")
        f.put(total, f.add(f.get(total), f.select(f.cmp("eq", arrived, 0), 0, lanes)))
    count = f.load("barrier_count", "%id")
    everybody = f.cmp("eq", f.get(missing), 0)
    enough = f.cmp("uge", f.get(total), count)
    f.do(f"ret i1 {f.select(f.cmp('eq', count, 0), everybody, enough, 'i1')}")
    return f.function("define internal i1 @barrier_complete(ptr %ctx, i32 %id)")


def _waiters(f: Builder, barrier: str, action) -> None:
    """`action(warp, lane, tid)` for every thread that waits at `barrier`."""
    with f.for_range(f.load("warps")) as warp:
        with f.for_bits(f.load("in_barrier", warp)) as lane:
            tid = f.add(f.shl(warp, 5), lane)
            with f.if_(f.cmp("eq", f.load("b", tid), barrier)):
                action(warp, lane, tid)


def _release_barrier() -> str:
    f = Builder()
    votes, waiters = f.alloca("i32", 4), f.alloca("i32", 4)
    f.put(votes, 0)
    f.put(waiters, 0)

    def count(warp: str, lane: str, tid: str) -> None:
        f.put(votes, f.add(f.get(votes), f.cast("trunc", f.load("a", tid), "i64", "i32")))
        f.put(waiters, f.add(f.get(waiters), 1))

    _waiters(f, "%id", count)
    popc = f.get(votes)
    every = f.cast("zext", f.cmp("eq", popc, f.get(waiters)), "i1", "i32")

    def release(warp: str, lane: str, tid: str) -> None:
        f.store("out", popc, tid)
        f.store("out_pred", every, tid)
        bit = f.shl(1, lane)
        _clear(f, "in_barrier", warp, bit)
        _set(f, "ready", warp, bit)

    _waiters(f, "%id", release)
    with f.for_range(f.load("warps")) as warp:
        f.store("arrived", "0", _barrier_cell(f, warp))
    f.store("arrived_extra", "0", "%id")
    f.store("barriers_used", f.and_(f.load("barriers_used"), f.not_(f.shl(1, "%id"))))
    f.do("ret void")
    return f.function("define internal void @release_barrier(ptr %ctx, i32 %id)")


def _resolve_barriers() -> str:
    f = Builder()
    moved = f.alloca("i32", 4)
    f.put(moved, 0)
    with f.for_bits(f.load("barriers_used")) as barrier:
        with f.if_(f.op(f"call i1 @barrier_complete(ptr %ctx, i32 {barrier})")):
            f.do(f"call void @release_barrier(ptr %ctx, i32 {barrier})")
            f.put(moved, 1)
    f.do(f"ret i32 {f.get(moved)}")
    return f.function("define internal i32 @resolve_barriers(ptr %ctx)")


def _run_lane() -> str:
    """Start or resume one thread; 0 when the launch must end."""
    f = Builder()
    handle = f.load("handle", "%tid")
    f.do(f"br i1 {f.cmp('eq', handle, 0, 'i64')}, label %fresh, label %resume")
    f.start("fresh")
    started = f.op("call ptr %start(ptr %ctx, i32 %tid)")
    f.store("handle", f.cast("ptrtoint", started, "ptr", "i64"), "%tid")
    f.do("br label %ran")
    f.start("resume")
    pointer = f.cast("inttoptr", handle, "i64", "ptr")
    f.do(f"call void {f.get(pointer, 'ptr')}(ptr {pointer})")
    f.do("br label %ran")
    f.start("ran")
    f.do(f"ret i1 {f.cmp('eq', f.load('status'), 0)}")
    return f.function("define internal i1 @run_lane(ptr %ctx, ptr %start, i32 %tid) alwaysinline")


def _run_warp() -> str:
    """Run a warp until its lanes wait, have exited or have yielded; 1 if any lane ran, -1 when the launch must end."""
    f = Builder()
    ran = f.alloca("i32", 4)
    f.put(ran, 0)
    base = f.shl("%warp", 5)
    with f.loop() as done:
        with f.for_bits(f.load("ready", "%warp")) as lane:
            well = f.op(f"call i1 @run_lane(ptr %ctx, ptr %start, i32 {f.add(base, lane)})")
            f.return_if(f.xor(well, "true", "i1"), "i32 -1")
            f.put(ran, 1)
        f.break_if(f.cmp("ne", f.load("ready", "%warp"), 0), done)
        moved = f.op("call i32 @resolve_warp(ptr %ctx, i32 %warp)")
        f.break_if(f.cmp("eq", moved, 0), done)
        f.put(ran, 1)
    f.do(f"ret i32 {f.get(ran)}")
    return f.function("define internal i32 @run_warp(ptr %ctx, ptr %start, i32 %warp)")


def _begin_block() -> str:
    f = Builder()
    threads = f.load("threads")
    with f.for_range(f.load("warps")) as warp:
        left = f.sub(threads, f.shl(warp, 5))
        some = f.sub(f.shl(1, f.and_(left, 31)), 1)
        live = f.select(f.cmp("ult", left, 32), some, -1)
        f.store("live", live, warp)
        f.store("ready", live, warp)
        for name in ("exited", "in_warp", "in_active", "in_barrier"):
            f.store(name, "0", warp)
    cells = 4 * context.BARRIERS * context.MAX_WARPS
    handles = f.shl(f.cast("zext", threads, "i32", "i64"), 3, "i64")
    for name, size in (("arrived", cells), ("arrived_extra", 4 * context.BARRIERS), ("handle", handles)):
        f.do(f"call void @llvm.memset.p0.i64(ptr {f.field(name)}, i8 0, i64 {size}, i1 false)")
    f.store("barriers_used", "0")
    f.do("ret void")
    return f.function("define internal void @begin_block(ptr %ctx)")


def _run_block() -> str:
    """All threads of one block, from `start(ctx, tid)` until they have exited."""
    f = Builder()
    f.do("call void @begin_block(ptr %ctx)")
    progress, left = f.alloca("i32", 4), f.alloca("i32", 4)
    with f.loop() as done:
        f.put(progress, 0)
        f.put(left, 0)
        with f.for_range(f.load("warps")) as warp:
            ran = f.op(f"call i32 @run_warp(ptr %ctx, ptr %start, i32 {warp})")
            f.return_if(f.cmp("slt", ran, 0), "void")
            f.put(progress, f.or_(f.get(progress), ran))
            f.put(left, f.or_(f.get(left), f.xor(f.load("live", warp), f.load("exited", warp))))
        f.break_if(f.cmp("eq", f.get(left), 0), done)
        stop = f.cmp("ne", f.op(f"load volatile i32, ptr {f.field('stop')}"), 0)
        with f.if_(stop):
            f.store("status", str(context.INTERRUPTED))
        f.break_if(stop, done)
        moved = f.op("call i32 @resolve_barriers(ptr %ctx)")
        stuck = f.cmp("eq", f.or_(moved, f.get(progress)), 0)
        with f.if_(stuck):
            f.store("status", str(context.DEADLOCK))
        f.break_if(stuck, done)
    f.do("ret void")
    return f.function("define void @emu_run_block(ptr %ctx, ptr %start)")


def _run_grid() -> str:
    """Every block in turn, x fastest, until one ends badly or the stop flag is set."""
    f = Builder()
    extent = [f.load("grid", str(i)) for i in range(3)]
    smem = f.cast("inttoptr", f.load("smem"), "i64", "ptr")
    smem_bytes = f.load("smem_bytes")
    with f.for_range(extent[2]) as z, f.for_range(extent[1]) as y, f.for_range(extent[0]) as x:
        for i, value in enumerate((x, y, z)):
            f.store("block_index", value, str(i))
        # Shared memory starts as garbage on hardware; here as 0xFF bytes: NaN as a float, -1 as an integer.
        f.do(f"call void @llvm.memset.p0.i64(ptr {smem}, i8 -1, i64 {smem_bytes}, i1 false)")
        f.do("call void @emu_reset_queues(ptr %ctx)")
        f.do("call void %block(ptr %ctx)")
        stop = f.op(f"load volatile i32, ptr {f.field('stop')}")
        f.return_if(f.cmp("ne", f.or_(stop, f.load("status")), 0), "void")
    f.do("ret void")
    return f.function("define void @emu_run_grid(ptr %ctx, ptr %block)")
