"""Native code for threads of a block that meet at one of its 16 barriers. PTX ISA: barrier."""

from __future__ import annotations

from dsl.emulator import context
from dsl.emulator.builder import Builder, clear_bits, fault_if, is_absent, lane_of, mates, set_bits

SIGNATURES = {
    "emu_arrive": "i32 (ptr, i32, i32, i32, i32)",
    "emu_arrive_cluster": "i32 (ptr, i32, i32)",
    "emu_wait_cluster": "i32 (ptr, i32, i32)",
    "emu_resolve_barriers": "i32 (ptr)",
}
PASSES, WAITS = 1, 2  # what a wait at the barrier of the cluster answers; 0: a fault
NO_VOTE = 2  # the vote of a barrier that reduces nothing


def functions() -> list[str]:
    """The IR text but for `wait_barrier`, which is the scheduler's."""
    return [_arrive(), _arrive_cluster(), _wait_cluster(), _barrier_complete(), _tell_votes(), _release_barrier(),
            _resolve_cluster(), _resolve_barriers()]  # fmt: skip


def _barrier_cell(f: Builder, warp: str, barrier: str = "%id") -> str:
    return f.add(f.mul(barrier, context.MAX_WARPS), warp)


def tell_order(f: Builder, what: int, thread: str, number: str, slot: str = "%ctx", more: str = "0") -> None:
    """Of a launch whose races are looked for: tell check/order.py. `more` is an i32 too."""
    order = f.load("order_call", of=slot)
    with f.if_(f.cmp("ne", order, 0, "i64")):
        function = f.cast("inttoptr", order, "i64", "ptr")
        address, wide = f.cast("ptrtoint", slot, "ptr", "i64"), f.cast("zext", number, "i32", "i64")
        rest = f.cast("zext", more, "i32", "i64")
        f.op(f"call i32 {function}(i64 {address}, i32 {what}, i32 {thread}, i64 {wide}, i64 {rest})")


def _register_arrival(f: Builder) -> tuple[str, str]:
    """Common to sync and arrive: checks the id and count, sets the lane's bit."""
    fault_if(f, f.cmp("uge", "%id", context.CLUSTER_BARRIER), context.BAD_BARRIER, f.cast("zext", "%id", "i32", "i64"))
    count = f.cast("zext", "%count", "i32", "i64")
    fault_if(f, f.cmp("ne", f.and_("%count", 31), 0), context.COUNT_NOT_WARPS, count)
    used_bit = f.shl(1, "%id")
    used = f.cmp("ne", f.and_(f.load("barriers_used"), used_bit), 0)
    differs = f.cmp("ne", f.load("barrier_count", "%id"), "%count")
    fault_if(f, f.and_(used, differs, "i1"), context.BARRIER_COUNTS, count)
    f.store("barriers_used", f.or_(f.load("barriers_used"), used_bit))
    f.store("barrier_count", "%count", "%id")
    warp, bit = lane_of(f)
    cell = _barrier_cell(f, warp)
    again = f.cast("zext", f.cmp("ne", f.and_(f.load("arrived", cell), bit), 0), "i1", "i32")
    f.store("arrived_extra", f.add(f.load("arrived_extra", "%id"), again), "%id")
    set_bits(f, "arrived", cell, bit)
    return warp, bit


def wait_barrier() -> str:
    """A thread comes and waits; its vote is 0, 1, or NO_VOTE where nothing is reduced."""
    f = Builder()
    warp, bit = _register_arrival(f)
    f.store("b", "%id", "%tid")
    f.store("wait_site", "%site", "%tid")
    with f.if_(f.cmp("ne", "%vote", NO_VOTE)):
        f.store("barrier_votes", f.add(f.load("barrier_votes", "%id"), "%vote"), "%id")
        f.store("barriers_voting", f.or_(f.load("barriers_voting"), f.shl(1, "%id")))
    set_bits(f, "at_barrier", _barrier_cell(f, warp), bit)
    set_bits(f, "in_barrier", warp, bit)
    clear_bits(f, "ready", warp, bit)
    f.do("ret i32 1")
    return f.function("define i32 @emu_wait_barrier(ptr %ctx, i32 %tid, i32 %id, i32 %count, i32 %vote, i32 %site)")


def _arrive() -> str:
    f = Builder()
    _register_arrival(f)
    tell_order(f, context.ORDER_ARRIVE, "%tid", "%id", more="%site")
    f.do("ret i32 1")
    return f.function("define i32 @emu_arrive(ptr %ctx, i32 %tid, i32 %id, i32 %count, i32 %site)")


def _arrive_cluster() -> str:
    """A thread comes to the barrier of its cluster: until that is complete its bit is set."""
    f = Builder()
    warp, bit = lane_of(f)
    fault_if(f, f.cmp("ne", f.and_(f.load("at_cluster", warp), bit), 0), context.ARRIVED_TWICE)
    set_bits(f, "at_cluster", warp, bit)
    f.store("barriers_used", f.or_(f.load("barriers_used"), 1 << context.CLUSTER_BARRIER))
    f.store("barrier_count", "0", str(context.CLUSTER_BARRIER))
    set_bits(f, "arrived", _barrier_cell(f, warp, str(context.CLUSTER_BARRIER)), bit)
    f.do("ret i32 1")
    return f.function("define i32 @emu_arrive_cluster(ptr %ctx, i32 %tid, i32 %site)")


def _wait_cluster() -> str:
    """Whether the thread has to wait (WAITS) for others at the barrier of its cluster, or all have come (PASSES)."""
    f = Builder()
    warp, bit = lane_of(f)
    fault_if(f, f.cmp("eq", f.and_(f.load("at_cluster", warp), bit), 0), context.NOT_ARRIVED)
    clear_bits(f, "at_cluster", warp, bit)
    cell = _barrier_cell(f, warp, str(context.CLUSTER_BARRIER))
    f.return_if(f.cmp("eq", f.and_(f.load("arrived", cell), bit), 0), f"i32 {PASSES}")
    f.store("b", str(context.CLUSTER_BARRIER), "%tid")
    f.store("wait_site", "%site", "%tid")
    set_bits(f, "at_barrier", cell, bit)
    set_bits(f, "in_barrier", warp, bit)
    clear_bits(f, "ready", warp, bit)
    f.do(f"ret i32 {WAITS}")
    return f.function("define i32 @emu_wait_cluster(ptr %ctx, i32 %tid, i32 %site)")


def _barrier_complete() -> str:
    """Whether barrier `id` has all it waits for: every running thread, or `count` threads of warps whose threads have
    all come."""
    f = Builder()
    total, missing = f.alloca("i32", 4), f.alloca("i32", 4)
    f.put(total, f.load("arrived_extra", "%id"))
    f.put(missing, 0)
    with f.for_range(f.load("warps")) as warp:
        arrived = f.load("arrived", _barrier_cell(f, warp))
        here = f.or_(arrived, f.or_(f.load("exited", warp), f.not_(f.load("live", warp))))
        f.put(missing, f.or_(f.get(missing), f.not_(here)))
        f.put(total, f.add(f.get(total), f.select(_is_here(f, warp, arrived), 32, 0)))
    count = f.load("barrier_count", "%id")
    everybody = f.cmp("eq", f.get(missing), 0)
    enough = f.cmp("uge", f.get(total), count)
    f.do(f"ret i1 {f.select(f.cmp('eq', count, 0), everybody, enough, 'i1')}")
    return f.function("define internal i1 @barrier_complete(ptr %ctx, i32 %id)")


def _is_here(f: Builder, warp: str, arrived: str) -> str:
    """Whether a warp has come to a barrier: some lane has, and every other has too or has exited."""
    here = f.or_(arrived, f.or_(f.load("exited", warp), f.not_(f.load("live", warp))))
    return f.and_(f.cmp("ne", arrived, 0), f.cmp("eq", here, -1), "i1")


def _release_barrier() -> str:
    """Who waits is ready again, and has what the barrier reduced: each runs before the barrier can be complete again.
    Of more warps than it counts the first go on; the others have come to its next generation."""
    f = Builder()
    voting = f.and_(f.lshr(f.load("barriers_voting"), "%id"), 1)
    with f.if_(f.cmp("ne", voting, 0)):
        f.do("call void @tell_votes(ptr %ctx, i32 %id)")
    count = f.load("barrier_count", "%id")
    counts = f.cmp("ne", count, 0)
    came, later = f.alloca("i32", 4), f.alloca("i32", 4)
    f.put(came, f.load("arrived_extra", "%id"))
    f.put(later, 0)
    with f.for_range(f.load("warps")) as warp:
        cell = _barrier_cell(f, warp)
        arrived = f.load("arrived", cell)
        full = f.cmp("uge", f.get(came), count)
        stays = f.or_(full, f.xor(_is_here(f, warp, arrived), "true", "i1"), "i1")
        stays = f.and_(counts, f.and_(stays, f.cmp("ne", arrived, 0), "i1"), "i1")
        with f.if_(stays):
            f.put(later, 1)
        with f.if_(f.xor(stays, "true", "i1")):
            waiters = f.load("at_barrier", cell)
            clear_bits(f, "in_barrier", warp, waiters)
            set_bits(f, "ready", warp, waiters)
            f.store("at_barrier", "0", cell)
            f.store("arrived", "0", cell)
            f.put(came, f.add(f.get(came), f.select(f.cmp("eq", arrived, 0), 0, 32)))
    f.store("arrived_extra", "0", "%id")
    bit = f.select(f.cmp("eq", f.get(later), 0), f.shl(1, "%id"), 0)
    f.store("barriers_used", f.and_(f.load("barriers_used"), f.not_(bit)))
    f.do("ret void")
    return f.function("define internal void @release_barrier(ptr %ctx, i32 %id)")


def _tell_votes() -> str:
    """barrier.red: the number of true predicates, and whether all were true."""
    f = Builder()
    waiters = f.alloca("i32", 4)
    f.put(waiters, 0)
    warps = f.load("warps")
    with f.for_range(warps) as warp:
        lanes = f.op(f"call i32 @llvm.ctpop.i32(i32 {f.load('at_barrier', _barrier_cell(f, warp))})")
        f.put(waiters, f.add(f.get(waiters), lanes))
    votes = f.load("barrier_votes", "%id")
    every = f.cast("zext", f.cmp("eq", votes, f.get(waiters)), "i1", "i32")
    with f.for_range(warps) as warp:
        with f.for_bits(f.load("at_barrier", _barrier_cell(f, warp))) as lane:
            tid = f.add(f.shl(warp, 5), lane)
            f.store("out", votes, tid)
            f.store("out_pred", every, tid)
    f.store("barrier_votes", "0", "%id")
    f.store("barriers_voting", f.and_(f.load("barriers_voting"), f.not_(f.shl(1, "%id"))))
    f.do("ret void")
    return f.function("define internal void @tell_votes(ptr %ctx, i32 %id) noinline")


def _resolve_cluster() -> str:
    """Release the barrier of the cluster in all its blocks, if their threads have arrived or exited."""
    f = Builder()
    barrier = context.CLUSTER_BARRIER
    with mates(f, "%ctx") as slot:
        complete = f.op(f"call i1 @barrier_complete(ptr {slot}, i32 {barrier})")
        f.return_if(f.xor(f.or_(complete, is_absent(f, slot), "i1"), "true", "i1"), "i32 0")
    tell_order(f, context.ORDER_CLUSTER_DONE, "0", "0")
    with mates(f, "%ctx") as slot:
        f.do(f"call void @release_barrier(ptr {slot}, i32 {barrier})")
        f.store("mbarrier_idle", "0", of=slot)
        f.store("idle", f.and_(f.load("idle", of=slot), (1 << 31) - 1), of=slot)
    f.do("ret i32 1")
    return f.function("define internal i32 @resolve_cluster(ptr %ctx)")


def _resolve_barriers() -> str:
    f = Builder()
    moved = f.alloca("i32", 4)
    f.put(moved, 0)
    used = f.load("barriers_used")
    with f.if_(f.cmp("ne", f.lshr(used, context.CLUSTER_BARRIER), 0)):
        f.put(moved, f.op("call i32 @resolve_cluster(ptr %ctx)"))
    with f.for_bits(f.and_(used, (1 << context.CLUSTER_BARRIER) - 1)) as barrier, f.loop() as done:
        f.break_if(f.cmp("eq", f.and_(f.lshr(f.load("barriers_used"), barrier), 1), 0), done)
        complete = f.op(f"call i1 @barrier_complete(ptr %ctx, i32 {barrier})")
        f.break_if(f.xor(complete, "true", "i1"), done)
        order = f.load("order_barrier")
        with f.if_(f.cmp("ne", order, 0, "i64")):
            function = f.cast("inttoptr", order, "i64", "ptr")
            f.do(f"call void {function}(ptr %ctx, i32 {barrier})")
        f.do(f"call void @release_barrier(ptr %ctx, i32 {barrier})")
        f.put(moved, 1)
    f.do(f"ret i32 {f.get(moved)}")
    return f.function("define i32 @emu_resolve_barriers(ptr %ctx)")
