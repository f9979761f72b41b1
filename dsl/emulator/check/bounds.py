"""Bounds and alignment of every memory access: a last-hit test inline, a binary search behind it.

The inline test is one subtract, one rotate, one compare: `rotr(address - lo, log2(n)) < limit`. `lo` is the n-aligned
start of the allocation last hit by this instruction and `limit` the number of n-byte elements from there; a misaligned
offset rotates its low bits to the top and fails too.
"""

from __future__ import annotations

from dsl.emulator import context
from dsl.emulator.builder import Builder

SIGNATURES = {
    "emu_fault": "void (ptr, i32, i32, i32, i64, i64, i64)",
    "emu_slow": "{ i64, i64 } (ptr, i64, i64, i32, i32, i32)",
    "emu_fits": "i1 (ptr, i64, i64, i64, i32, i32)",
    "emu_range": "i1 (ptr, i64, i64, i64, i32, i32, i32)",
}


def functions() -> list[str]:
    """The IR text of the native slow path."""
    return [_fault(), _find(), _slow(), _fits(), _range()]


def _fault() -> str:
    """Record the first fault of a launch."""
    f = Builder()
    with f.if_(f.cmp("eq", f.load("status"), 0)):
        for name in ("status", "site", "thread", "address", "access_bytes", "detail"):
            f.store(name, f"%{name}")
    f.do("ret void")
    arguments = "i32 %status, i32 %site, i32 %thread, i64 %address, i64 %access_bytes, i64 %detail"
    return f.function(f"define void @emu_fault(ptr %ctx, {arguments}) noinline cold")


def _find() -> str:
    """The interval of an allowed kind that holds `address`: (lo, hi), or (0, 0)."""
    f = Builder()
    rows = f.cast("inttoptr", f.load("intervals"), "i64", "ptr")
    low, high = f.alloca("i64"), f.alloca("i64")
    f.put(low, 0, "i64")
    f.put(high, f.load("interval_count"), "i64")

    def row(index: str, column: int) -> str:
        cell = f.add(f.mul(index, 3, "i64"), column, "i64")
        return f.get(f.op(f"getelementptr i64, ptr {rows}, i64 {cell}"), "i64")

    with f.loop() as done:  # invariant: rows before `low` start at or below the address, rows from `high` on above it
        a, b = f.get(low, "i64"), f.get(high, "i64")
        f.break_if(f.cmp("uge", a, b, "i64"), done)
        middle = f.lshr(f.add(a, b, "i64"), 1, "i64")
        starts_above = f.cmp("ugt", row(middle, 0), "%address", "i64")
        f.put(low, f.select(starts_above, a, f.add(middle, 1, "i64"), "i64"), "i64")
        f.put(high, f.select(starts_above, middle, b, "i64"), "i64")
    below = f.get(low, "i64")
    f.return_if(f.cmp("eq", below, 0, "i64"), "{ i64, i64 } zeroinitializer")
    index = f.sub(below, 1, "i64")
    lo, hi = row(index, 0), row(index, 1)
    kind = f.cast("trunc", row(index, 2), "i64", "i32")
    allowed = f.cmp("ne", f.and_(kind, "%kinds"), 0)
    inside = f.and_(allowed, f.cmp("ult", "%address", hi, "i64"), "i1")
    pair = f.op(f"insertvalue {{ i64, i64 }} zeroinitializer, i64 {f.select(inside, lo, 0, 'i64')}, 0")
    pair = f.op(f"insertvalue {{ i64, i64 }} {pair}, i64 {f.select(inside, hi, 0, 'i64')}, 1")
    f.do(f"ret {{ i64, i64 }} {pair}")
    return f.function("define internal { i64, i64 } @find(ptr %ctx, i64 %address, i32 %kinds)")


def _report(f: Builder, status: str) -> None:
    f.do(f"call void @emu_fault(ptr %ctx, i32 {status}, i32 %site, i32 %thread, i64 %address, i64 %size, i64 0)")


def _elements(f: Builder, address: str) -> tuple[str, str]:
    """(lo, limit) of the inline test for the interval that holds an address."""
    pair = f.op(f"call {{ i64, i64 }} @find(ptr %ctx, i64 {address}, i32 %kinds)")
    lo = f.op(f"extractvalue {{ i64, i64 }} {pair}, 0")
    hi = f.op(f"extractvalue {{ i64, i64 }} {pair}, 1")
    less = f.sub("%size", 1, "i64")
    aligned = f.and_(f.add(lo, less, "i64"), f.xor(less, -1, "i64"), "i64")
    room = f.sub(hi, aligned, "i64")
    room = f.select(f.cmp("ugt", aligned, hi, "i64"), 0, room, "i64")
    return aligned, f.lshr(room, _log2_size(f), "i64")


def _log2_size(f: Builder) -> str:
    return f.and_(f.op("call i64 @llvm.cttz.i64(i64 %size, i1 false)"), 63, "i64")


def _misfit(f: Builder, address: str, aligned: str, limit: str) -> tuple[str, str]:
    """Whether an address is misaligned, and whether it is outside."""
    crooked = f.cmp("ne", f.and_(address, f.sub("%size", 1, "i64"), "i64"), 0, "i64")
    position = f.lshr(f.sub(address, aligned, "i64"), _log2_size(f), "i64")
    return crooked, f.cmp("uge", position, limit, "i64")


def _slow() -> str:
    """(lo, limit) for the inline test of an access of `size` (a power of two) bytes; (0, 0) and a fault if bad."""
    f = Builder()
    aligned, limit = _elements(f, "%address")
    bad_alignment, outside = _misfit(f, "%address", aligned, limit)
    bad = f.or_(bad_alignment, outside, "i1")
    with f.if_(bad):
        kind = f.select(bad_alignment, context.MISALIGNED, context.OUT_OF_BOUNDS)
        _report(f, kind)
    f.return_if(bad, "{ i64, i64 } zeroinitializer")
    result = f.op(f"insertvalue {{ i64, i64 }} zeroinitializer, i64 {aligned}, 0")
    result = f.op(f"insertvalue {{ i64, i64 }} {result}, i64 {limit}, 1")
    f.do(f"ret {{ i64, i64 }} {result}")
    arguments = "i64 %address, i64 %size, i32 %kinds, i32 %site, i32 %thread"
    return f.function(f"define {{ i64, i64 }} @emu_slow(ptr %ctx, {arguments}) noinline cold")


def _fits() -> str:
    """Whether accesses of `size` (a power of two) bytes from `first` to `last` lie in one interval. Then the site's
    last hit is that interval."""
    f = Builder()
    aligned, limit = _elements(f, "%first")
    for address in ("%first", "%last"):
        bad = f.or_(*_misfit(f, address, aligned, limit), "i1")
        f.return_if(bad, "i1 false")
    base = f.cast("inttoptr", f.load("sites"), "i64", "ptr")
    cell = f.shl(f.cast("zext", "%site", "i32", "i64"), 1, "i64")
    for i, value in enumerate((aligned, limit)):
        f.put(f.op(f"getelementptr i64, ptr {base}, i64 {f.add(cell, i, 'i64')}"), value, "i64")
    f.do("ret i1 true")
    arguments = "i64 %first, i64 %last, i64 %size, i32 %kinds, i32 %site"
    return f.function(f"define i1 @emu_fits(ptr %ctx, {arguments}) noinline cold")


def _range() -> str:
    """Whether `size` bytes at `address`, aligned to `alignment`, lie in one allocation; a fault if not."""
    f = Builder()
    pair = f.op("call { i64, i64 } @find(ptr %ctx, i64 %address, i32 %kinds)")
    hi = f.op(f"extractvalue {{ i64, i64 }} {pair}, 1")
    bad_alignment = f.cmp("ne", f.and_("%address", f.sub("%alignment", 1, "i64"), "i64"), 0, "i64")
    outside = f.or_(f.cmp("eq", hi, 0, "i64"), f.cmp("ult", f.sub(hi, "%address", "i64"), "%size", "i64"), "i1")
    bad = f.or_(bad_alignment, outside, "i1")
    with f.if_(bad):
        _report(f, f.select(bad_alignment, context.MISALIGNED, context.OUT_OF_BOUNDS))
    f.do(f"ret i1 {f.xor(bad, 'true', 'i1')}")
    arguments = "i64 %address, i64 %size, i64 %alignment, i32 %kinds, i32 %site, i32 %thread"
    return f.function(f"define i1 @emu_range(ptr %ctx, {arguments})")
