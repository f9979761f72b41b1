"""Native code for threads that begin: the state of a block's scheduler, and a place for each coroutine's frame."""

from __future__ import annotations

from dsl.emulator import context
from dsl.emulator.builder import Builder

SIGNATURES = {"emu_begin_block": "void (ptr)", "emu_frame": "ptr (ptr, i32, i64)"}


def functions() -> list[str]:
    """The IR text."""
    return [_begin_block(), _frame()]


def _begin_block() -> str:
    f = Builder()
    threads = f.load("threads")
    with f.for_range(f.load("warps")) as warp:
        left = f.sub(threads, f.shl(warp, 5))
        some = f.sub(f.shl(1, f.and_(left, 31)), 1)
        live = f.select(f.cmp("ult", left, 32), some, -1)
        f.store("live", live, warp)
        f.store("ready", live, warp)
        for name in ("exited", "in_warp", "in_active", "in_barrier", "at_cluster", "polling"):
            f.store(name, "0", warp)
    cells, each = 4 * context.BARRIERS * context.MAX_WARPS, 4 * context.BARRIERS
    handles = f.shl(f.cast("zext", threads, "i32", "i64"), 3, "i64")
    for name, size in (("arrived", cells), ("at_barrier", cells), ("arrived_extra", each), ("barrier_votes", each),
                       ("handle", handles)):  # fmt: skip
        f.do(f"call void @llvm.memset.p0.i64(ptr {f.field(name)}, i8 0, i64 {size}, i1 false)")
    f.store("barriers_used", "0")
    f.store("barriers_voting", "0")
    f.do("ret void")
    return f.function("define void @emu_begin_block(ptr %ctx)")


def _frame() -> str:
    """A thread's coroutine frame: slices of one allocation, made by the first thread and kept with the slot."""
    f = Builder()
    rounded = f.and_(f.add("%size", 127, "i64"), -64, "i64")
    total = f.mul(rounded, f.cast("zext", f.load("threads"), "i32", "i64"), "i64")
    with f.if_(f.cmp("ult", f.load("frame_bytes"), total, "i64")):
        f.do(f"call void @free(ptr {f.cast('inttoptr', f.load('frames'), 'i64', 'ptr')})")
        block = f.op(f"call ptr @aligned_alloc(i64 64, i64 {total})")
        f.store("frames", f.cast("ptrtoint", block, "ptr", "i64"))
        f.store("frame_bytes", total)
    offset = f.mul(rounded, f.cast("zext", "%tid", "i32", "i64"), "i64")
    address = f.add(f.load("frames"), offset, "i64")
    f.do(f"ret ptr {f.cast('inttoptr', address, 'i64', 'ptr')}")
    return f.function("define ptr @emu_frame(ptr %ctx, i32 %tid, i64 %size)")
