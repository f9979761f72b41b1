"""What bulk copies read of shared memory, and the tensor maps they use.

A copy is an access of race.py that is on its way until it is waited for: its writes until the mbarrier's phase ends,
its reads until the thread's group is waited for. What it reads and generic stores wrote needs a fence.proxy.async after
the store: of the thread that wrote, or of one that had seen the write. A tensor map that a kernel changed needs a
fence.proxy.tensormap acquire by a thread of the block before a copy uses it.

PTX ISA: 8.6 (proxies), 9.7.9.25 (bulk copies), 9.7.13.4 (fence.proxy.async, fence.proxy.tensormap).
"""

from __future__ import annotations

from dsl.emulator import context
from dsl.emulator.builder import Builder
from dsl.emulator.check.access import ASYNC, WRITE
from dsl.emulator.check.race import CELL_BYTES, KIND_SHIFT, PLACE_MASK, SITE_SHIFT
from dsl.emulator.check.wgmma_reads import UNPROXIED

SIGNATURES = {"emu_bulk_proxied": "i32 (ptr, i32, i32, i64, i32)", "emu_map_asked": "i32 (ptr, i32, i32, i64, i32)"}
OF_MAP = 1 << 10  # a mark of `other_kind`, beside those of wgmma_reads.py


def functions() -> list[str]:
    """The IR text."""
    return [_proxied(), _map_asked()]


def _proxied() -> str:
    """A copy of thread %tid reads %size bytes: 1, or 0 and a fault where a generic store to them was not fenced."""
    f = Builder()
    first = f.op("call ptr @cell(ptr %ctx, i64 %address)")
    f.return_if(f.cmp("eq", first, "null", "ptr"), "i32 1")
    shift, block = f.load("race_shift"), f.load("block")
    with f.for_range(f.op(f"lshr i32 %size, {shift}")) as i:
        cell = f.op(f"getelementptr i8, ptr {first}, i64 {f.mul(f.cast('zext', i, 'i32', 'i64'), CELL_BYTES, 'i64')}")
        with f.for_range(f.get(cell)) as number:
            entry = f.op(f"call ptr @entry(ptr %ctx, ptr {cell}, i32 {number})")
            meta = f.get(entry, "i64")
            label, mask = (f.get(f.op(f"getelementptr i8, ptr {entry}, i64 {n}")) for n in (8, 12))
            place = f.and_(meta, PLACE_MASK, "i64")
            kind = f.and_(f.cast("trunc", f.lshr(meta, KIND_SHIFT, "i64"), "i64", "i32"), 15)
            mine = f.cmp("eq", f.lshr(place, 5, "i64"), block, "i64")
            with f.if_(f.and_(f.cmp("ne", f.and_(kind, WRITE), 0), mine, "i1")):
                warp = f.and_(f.cast("trunc", place, "i64", "i32"), 31)
                site = f.cast("trunc", f.lshr(meta, SITE_SHIFT, "i64"), "i64", "i32")
                _look(f, warp, mask, label, kind, site)
    f.do("ret i32 1")
    return f.function("define i32 @emu_bulk_proxied(ptr %ctx, i32 %tid, i32 %site, i64 %address, i32 %size)")


def _look(f: Builder, warp: str, mask: str, label: str, kind: str, site: str) -> None:
    """Fault where a generic store of these lanes is not yet seen by the async proxy."""
    labels = f.cast("inttoptr", f.load("proxied"), "i64", "ptr")
    with f.for_bits(mask) as lane:
        writer = f.add(f.shl(warp, 5), lane)
        hidden = f.cmp("ult", f.get(f.op(f"getelementptr i32, ptr {labels}, i32 {writer}")), label)
        with f.if_(hidden):
            asked = f"i32 {context.ORDER_GENERIC}, i32 %tid, i64 {f.cast('zext', site, 'i32', 'i64')}, i64 0"
            generic = f.op(f"call i32 @emu_order(ptr %ctx, {asked})")
            with f.if_(f.cmp("ne", generic, 0)):
                f.store("other_block", f.load("block"))
                f.store("other_thread", writer)
                f.store("other_site", site)
                f.store("other_kind", f.or_(kind, UNPROXIED))
                _fault(f, "%address", "%size.wide")


def _fault(f: Builder, address: str, size: str) -> None:
    wide = f.cast("zext", "%size", "i32", "i64") if size == "%size.wide" else size
    where = f"i32 {context.RACE}, i32 %site, i32 %tid, i64 {address}, i64 {wide}, i64 {ASYNC}"
    f.do(f"call void @emu_fault(ptr %ctx, {where})")
    f.do("ret i32 0")
    f.start(f.fresh("dead"))


def _map_asked() -> str:
    """A tensor map is changed, fenced or used: 1, or 0 and a fault where its change was not fenced."""
    f = Builder()
    asked = f"i32 %what, i32 %tid, i64 %address, i64 {f.cast('zext', '%site', 'i32', 'i64')}"
    with f.if_(f.cmp("ne", f.op(f"call i32 @emu_order(ptr %ctx, {asked})"), 0)):
        _fault(f, "%address", "128")
    f.do("ret i32 1")
    return f.function("define i32 @emu_map_asked(ptr %ctx, i32 %tid, i32 %site, i64 %address, i32 %what)")
