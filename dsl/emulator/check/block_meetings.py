"""A barrier of the block is complete: the order that it gives, in native code, and what order.py is asked about it."""

from __future__ import annotations

from dsl.emulator import context
from dsl.emulator.builder import Builder

SIGNATURES = {"emu_order_barrier": "void (ptr, i32)"}


def functions() -> list[str]:
    """The IR text."""
    return [_order_barrier()]


def _one_site(f: Builder, base: str, lanes: str) -> str:
    """Whether some lanes of the warp whose first thread is `base` wait at one instruction."""
    first = f.load("wait_site", f.add(base, f.op(f"call i32 @llvm.cttz.i32(i32 {lanes}, i1 false)")))
    apart = f.alloca("i32", 4)
    f.put(apart, 0)
    with f.for_bits(lanes) as lane:
        f.put(apart, f.or_(f.get(apart), f.xor(f.load("wait_site", f.add(base, lane)), first)))
    return f.cmp("eq", f.get(apart), 0)


def _order_barrier() -> str:
    """Barrier `id` is complete. If all threads that run wait at it, a new epoch of the block begins; order.py is told
    if others may have come instead: more came than it counts, or some met there alone before.

    Who has exited has come to a barrier of all threads, and to one of so many threads with the rest of its warp.
    """
    f = Builder()
    wide = f.cast("zext", "%id", "i32", "i64")
    counts = f.cmp("ne", f.load("barrier_count", "%id"), 0)
    absent, came = f.alloca("i32", 4), f.alloca("i32", 4)
    f.put(absent, 0)
    f.put(came, f.load("arrived_extra", "%id"))
    asks, arrived = f.alloca("i1", 1), f.alloca("i32", 4)
    f.put(asks, "false", "i1")
    f.put(arrived, 0)
    with f.for_range(f.load("warps")) as warp:
        running = f.and_(f.load("live", warp), f.not_(f.load("exited", warp)))
        cell = f.add(f.mul("%id", context.MAX_WARPS), warp)
        waits = f.load("at_barrier", cell)
        f.put(arrived, f.or_(f.get(arrived), f.and_(f.load("arrived", cell), f.not_(waits))))
        nobody = f.and_(counts, f.cmp("eq", waits, 0), "i1")
        missing = f.select(nobody, f.load("live", warp), f.and_(running, f.not_(waits)))
        f.put(absent, f.or_(f.get(absent), missing))
        f.put(came, f.add(f.get(came), f.select(f.cmp("eq", waits, 0), 0, 32)))
        apart = f.xor(_one_site(f, f.shl(warp, 5), waits), "true", "i1")
        f.put(asks, f.or_(f.get(asks, "i1"), f.or_(apart, f.cmp("ne", f.load("exited", warp), 0), "i1"), "i1"), "i1")
    with f.if_(f.get(asks, "i1")):
        f.op(f"call i32 @emu_order(ptr %ctx, i32 {context.ORDER_BLOCK_MEETING}, i32 0, i64 {wide}, i64 0)")
    some, all_ = f.fresh("some"), f.fresh("all")
    f.do(f"br i1 {f.cmp('eq', f.get(absent), 0)}, label %{all_}, label %{some}")
    f.start(all_)
    over = f.and_(counts, f.cmp("ugt", f.get(came), f.load("barrier_count", "%id")), "i1")
    before = f.cmp("ne", f.and_(f.load("partial_barriers"), f.shl(1, "%id")), 0)
    before = f.or_(before, f.cmp("ne", f.get(arrived), 0), "i1")
    with f.if_(f.or_(over, before, "i1")):
        f.op(f"call i32 @emu_order(ptr %ctx, i32 {context.ORDER_GENERATION}, i32 0, i64 {wide}, i64 0)")
    now = f.add(f.load("now"), 1)
    f.store("now", now)
    f.store("epoch", now)
    f.do("ret void")
    f.start(some)
    f.op(f"call i32 @emu_order(ptr %ctx, i32 {context.ORDER_BARRIER}, i32 0, i64 {wide}, i64 0)")
    f.do("ret void")
    return f.function("define void @emu_order_barrier(ptr %ctx, i32 %id)")
