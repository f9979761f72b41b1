"""The native scheduler: threads of one block as coroutines, warp by warp, and what happens where they meet.

A warp runs until all its lanes wait or have exited; then its warp-level meetings resolve; then the block's barriers.
When nothing can move the launch stops as a deadlock.

Warps and lanes run in order, or, where a launch has a seed, as random numbers choose in each round: which warp is
first, which of its lanes run. Threads of such a launch also give way before each access to memory that others see, and
nanosleep lasts. A launch may ask for the latter alone: then only what sleeps changes the order.
"""

from __future__ import annotations

from dsl.emulator import context
from dsl.emulator.builder import Builder, clear_bits, fault_if, lane_of, set_bits
from dsl.emulator.runtime import barriers

SIGNATURES = {
    "emu_wait_warp": "i32 (ptr, i32, i32, i32, i64, i32, i32, i32)",
    "emu_wait_barrier": "i32 (ptr, i32, i32, i32, i32, i32)",
    "emu_exit": "void (ptr, i32)",
    "emu_run_block": "void (ptr, ptr)",
}
# A block that does nothing but poll memory gives way to other blocks after so many rounds, and when it comes back.
PATIENCE, PATIENCE_AGAIN = 256, 2
CLUSTER_PATIENCE = 2  # the same of a block while others of its cluster can run, or where its threads give way
SEEDED_PATIENCE = 7  # the most rounds that a block of a seeded launch runs while others could; a bit mask
# After so many looks, one in so many rounds, that found all that could run at mbarriers, which nobody has reached, they
# wait for ever: an mbarrier's threads are of its block.
MBARRIER_LOOKS, LOOK_ROUNDS = 512, 64
# After so many polls in all, and between so many rounds, in which no thread of any block did anything else, they poll
# for ever.
IDLE_POLLS, LEAST_IDLE, MOST_IDLE = 1 << 24, 1 << 14, 1 << 20
STUCK = -(1 << 31)  # a bit of `idle`: no thread of the block can go on
RAN, MOVED = 1, 2  # a lane ran, or a meeting of the warp was over; a lane did more than poll memory


def functions() -> list[str]:
    """The IR text of what runs for every thread at every meeting; it is compiled with more care than the rest."""
    return [
        _wait_warp(), barriers.wait_barrier(), _exit(), _run_lane(), random(), _run_warp(), _at_mbarriers(),
        _all_idle(), _run_block(),
    ]  # fmt: skip


def _wait_warp() -> str:
    f = Builder()
    warp, bit = lane_of(f)
    fault_if(f, f.cmp("eq", f.and_("%mask", bit), 0), context.NOT_IN_MASK, f.cast("zext", "%mask", "i32", "i64"))
    for name in ("key", "mask", "a", "b", "c"):
        f.store(name, f"%{name}", "%tid")
    f.store("wait_site", "%site", "%tid")
    set_bits(f, "in_warp", warp, bit)
    clear_bits(f, "ready", warp, bit)
    f.do("ret i32 1")
    arguments = "i32 %tid, i32 %key, i32 %mask, i64 %a, i32 %b, i32 %c, i32 %site"
    return f.function(f"define i32 @emu_wait_warp(ptr %ctx, {arguments})")


def _exit() -> str:
    f = Builder()
    warp, bit = lane_of(f)
    set_bits(f, "exited", warp, bit)
    clear_bits(f, "ready", warp, bit)
    f.do("ret void")
    return f.function("define void @emu_exit(ptr %ctx, i32 %tid)")


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


def random() -> str:
    """The next of this slot's random numbers (Marsaglia's xorshift); 0 of a launch without a seed, and where a list of
    decisions leaves this one out."""
    f = Builder()
    x = f.load("order")
    x = f.xor(x, f.shl(x, 13))
    x = f.xor(x, f.lshr(x, 17))
    x = f.xor(x, f.shl(x, 5))
    f.store("order", x)
    listed = f.load("decisions")
    f.return_if(f.cmp("eq", listed, 0, "i64"), f"i32 {x}")
    listed = f.cast("inttoptr", listed, "i64", "ptr")
    number = f.get(listed, "i64")
    f.put(listed, f.add(number, 1, "i64"), "i64")
    limit = f.get(f.op(f"getelementptr i64, ptr {listed}, i64 1"), "i64")
    f.return_if(f.cmp("uge", number, limit, "i64"), "i32 0")
    counts = f.get(f.op(f"getelementptr i8, ptr {listed}, i64 {f.add(number, 16, 'i64')}"), "i8")
    f.do(f"ret i32 {f.select(f.cmp('eq', counts, 0, 'i8'), 0, x)}")
    return f.function("define internal i32 @random(ptr %ctx) alwaysinline")


def _run_warp() -> str:
    """Run a warp until its lanes wait, have exited or have yielded: RAN, MOVED; -1 when the launch must end."""
    f = Builder()
    ran = f.alloca("i32", 4)
    f.put(ran, 0)
    base = f.shl("%warp", 5)
    with f.loop() as done:
        ready = f.load("ready", "%warp")
        random = f.op("call i32 @random(ptr %ctx)")
        some = f.and_(ready, random)
        chosen = f.select(f.cmp("eq", some, 0), ready, some)
        clear_bits(f, "polling", "%warp", chosen)
        with f.for_bits(chosen) as lane:
            well = f.op(f"call i1 @run_lane(ptr %ctx, ptr %start, i32 {f.add(base, lane)})")
            f.return_if(f.xor(well, "true", "i1"), "i32 -1")
        left = f.load("ready", "%warp")
        idle = f.or_(left, f.load("polling", "%warp"))
        outcome = f.select(f.cmp("eq", f.and_(chosen, f.not_(idle)), 0), RAN, RAN | MOVED)
        f.put(ran, f.or_(f.get(ran), f.select(f.cmp("eq", ready, 0), 0, outcome)))
        waiting = f.or_(f.load("in_warp", "%warp"), f.load("in_active", "%warp"))
        f.break_if(f.cmp("eq", waiting, 0), done)
        moved = f.op("call i32 @emu_resolve_warp(ptr %ctx, i32 %warp)")
        f.return_if(f.cmp("ne", f.load("status"), 0), "i32 -1")
        f.break_if(f.cmp("eq", moved, 0), done)
        f.put(ran, f.or_(f.get(ran), RAN))
        f.break_if(f.cmp("ne", left, 0), done)
    f.do(f"ret i32 {f.get(ran)}")
    return f.function("define internal i32 @run_warp(ptr %ctx, ptr %start, i32 %warp)")


def _at_mbarriers() -> str:
    """After each round: whether all threads that could run wait at mbarriers, and have for long."""
    f = Builder()
    rounds = f.add(f.load("rounds"), 1)
    f.store("rounds", rounds)
    with f.if_(f.cmp("ne", "%moves", 0)):
        f.store("mbarrier_idle", "0")
    f.return_if(f.cmp("ult", rounds, LOOK_ROUNDS), "i1 false")
    f.store("rounds", "0")
    f.return_if(f.cmp("eq", f.load("mbarrier_waits"), 0), "i1 false")
    f.store("mbarrier_waits", "0")
    idle = f.add(f.load("mbarrier_idle"), 1)
    others = f.alloca("i32", 4)
    f.put(others, 0)
    with f.for_range(f.load("warps")) as warp:
        ready, waiting = f.load("ready", warp), f.load("in_mbarrier", warp)
        f.put(others, f.or_(f.get(others), f.and_(ready, f.not_(waiting))))
    idle = f.select(f.cmp("eq", f.get(others), 0), idle, 0)
    f.store("mbarrier_idle", idle)
    ends = f.cmp("ugt", idle, MBARRIER_LOOKS)
    f.return_if(ends, "i1 true")
    with f.for_range(f.load("warps")) as warp:
        f.store("in_mbarrier", "0", warp)
    f.do("ret i1 false")
    return f.function("define internal i1 @at_mbarriers(ptr %ctx, i32 %moves)")


def _all_idle() -> str:
    """Whether every block that runs has for long done nothing but poll memory. (Threads that give way before each
    access do so more often: then nobody knows.)"""
    f = Builder()
    f.return_if(f.cmp("ne", f.load("gives_way"), 0), "i1 false")
    threads = f.load("threads")
    fewer = f.op(f"call i32 @llvm.umin.i32(i32 {f.op(f'udiv i32 {IDLE_POLLS}, {threads}')}, i32 {MOST_IDLE})")
    fewer = f.select(f.cmp("eq", f.load("begin_checks"), 0, "i64"), fewer, LEAST_IDLE)  # checked code is slow
    limit = f.op(f"call i32 @llvm.umax.i32(i32 {fewer}, i32 {LEAST_IDLE})")
    f.return_if(f.cmp("ult", f.load("idle"), limit), "i1 false")
    grid = f.cast("inttoptr", f.load("shared_grid"), "i64", "ptr")
    place = f.alloca("i64")
    f.put(place, f.load_shared("slots", grid, "acquire"), "i64")
    with f.loop() as done:
        address = f.get(place, "i64")
        f.break_if(f.cmp("eq", address, 0, "i64"), done)
        slot = f.cast("inttoptr", address, "i64", "ptr")
        state = f.load_shared("state", slot)
        goes = f.or_(f.cmp("eq", state, context.RUNNING), f.cmp("eq", state, context.WAITING), "i1")
        moves = f.cmp("ult", f.load_shared("idle", slot), limit)
        f.return_if(f.and_(goes, moves, "i1"), "i1 false")
        f.put(place, f.load("every", of=slot), "i64")
    f.do("ret i1 true")
    return f.function("define internal i1 @all_idle(ptr %ctx)")


def _wait_for_cluster(f: Builder) -> None:
    """No thread of the block can go on: the block gives way to others of its cluster; where they cannot either, they
    wait for ever."""
    over = f.op("call i1 @emu_cluster_over(ptr %ctx)")
    f.store("status", f.select(over, context.DEADLOCK, 0))
    f.store("state", str(context.WAITING))


def _run_block() -> str:
    """All threads of one block, from `start(ctx, tid)` until they have exited, or until they only poll memory."""
    f = Builder()
    fresh = f.cmp("ne", f.load("state"), context.WAITING)
    seeded = f.cmp("ne", f.load("order"), 0)
    patience = f.load("patience")
    f.store("spins", f.select(f.or_(fresh, seeded, "i1"), 0, f.sub(patience, PATIENCE_AGAIN)))
    with f.if_(fresh):
        f.do("call void @emu_begin_block(ptr %ctx)")
        f.store("mbarrier_idle", "0")
        f.store("idle", "0")
    f.store("idle", f.and_(f.load("idle"), ~STUCK))
    f.store("state", str(context.RUNNING))
    progress, left = f.alloca("i32", 4), f.alloca("i32", 4)
    with f.loop() as done:
        f.put(progress, 0)
        f.put(left, 0)
        warps, random = f.load("warps"), f.op("call i32 @random(ptr %ctx)")
        first = f.op(f"urem i32 {random}, {warps}")
        with f.for_range(warps) as place:
            warp = f.add(place, first)
            warp = f.select(f.cmp("uge", warp, warps), f.sub(warp, warps), warp)
            ran = f.op(f"call i32 @run_warp(ptr %ctx, ptr %start, i32 {warp})")
            f.return_if(f.cmp("slt", ran, 0), "void")
            f.put(progress, f.or_(f.get(progress), ran))
            f.put(left, f.or_(f.get(left), f.xor(f.load("live", warp), f.load("exited", warp))))
        f.break_if(f.cmp("eq", f.get(left), 0), done)
        flag = f.alloca("i32", 4)
        f.put(flag, f.op(f"load volatile i32, ptr {f.field('stop')}"))
        with f.if_(f.cmp("ne", f.get(flag), 0)):
            f.put(flag, f.op(f"call i32 @emu_take_signals(i64 {f.cast('ptrtoint', '%ctx', 'ptr', 'i64')})"))
        stop = f.cmp("ne", f.get(flag), 0)
        with f.if_(stop):
            f.store("status", str(context.INTERRUPTED))
        f.break_if(stop, done)
        moved = f.op("call i32 @emu_resolve_barriers(ptr %ctx)")
        stuck = f.cmp("eq", f.or_(moved, f.get(progress)), 0)
        with f.if_(stuck):
            f.store("idle", f.or_(f.load("idle"), STUCK))
            f.store("mbarrier_idle", str(MBARRIER_LOOKS + 1))
            _wait_for_cluster(f)
        f.break_if(stuck, done)
        moves = f.and_(f.get(progress), MOVED)
        for_ever = f.op(f"call i1 @at_mbarriers(ptr %ctx, i32 {moves})")
        with f.if_(for_ever):
            _wait_for_cluster(f)
        f.break_if(for_ever, done)
        spins = f.select(f.cmp("eq", moves, 0), f.add(f.load("spins"), 1), 0)
        f.store("spins", spins)
        idle = f.select(f.cmp("eq", moves, 0), f.add(f.load("idle"), 1), 0)
        f.store("idle", idle)
        with f.if_(f.cmp("eq", f.and_(idle, LEAST_IDLE - 1), LEAST_IDLE - 1)):
            f.put(flag, f.cast("zext", f.op("call i1 @all_idle(ptr %ctx)"), "i1", "i32"))
            with f.if_(f.cmp("ne", f.get(flag), 0)):
                f.store("status", str(context.DEADLOCK))
        f.break_if(f.cmp("ne", f.load("status"), 0), done)
        waits = f.cmp("ugt", spins, f.select(seeded, f.and_(random, SEEDED_PATIENCE), patience))
        with f.if_(waits):
            f.store("state", str(context.WAITING))
        f.break_if(waits, done)
    f.do("ret void")
    return f.function("define void @emu_run_block(ptr %ctx, ptr %start)")
