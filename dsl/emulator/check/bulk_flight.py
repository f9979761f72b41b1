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
from dsl.emulator.check.access import ASYNC
from dsl.emulator.check.race import each_write, report_write
from dsl.emulator.check.wgmma_reads import UNPROXIED

SIGNATURES = {"emu_bulk_proxied": "i32 (ptr, i32, i32, i64, i32)", "emu_map_asked": "i32 (ptr, i32, i32, i64, i32)"}
MAP_BYTES = 128
OF_MAP = 1 << 10  # a mark of `other_kind`, beside those of wgmma_reads.py


def functions() -> list[str]:
    """The IR text."""
    return [_proxied(), _map_asked()]


def _proxied() -> str:
    """A copy of thread %tid reads %size bytes: 1, or 0 and a fault where a generic store to them was not fenced."""
    f = Builder()
    first = f.op("call ptr @cell(ptr %ctx, i64 %address)")
    f.return_if(f.cmp("eq", first, "null", "ptr"), "i32 1")
    with each_write(f, first, "%size") as write:
        _look(f, *write)
    f.do("ret i32 1")
    return f.function("define i32 @emu_bulk_proxied(ptr %ctx, i32 %tid, i32 %site, i64 %address, i32 %size)")


def _look(f: Builder, warp: str, lanes: str, label: str, kind: str, site: str) -> None:
    """Fault where a generic store of these lanes is not yet seen by the async proxy."""
    labels = f.cast("inttoptr", f.load("proxied"), "i64", "ptr")
    with f.for_bits(lanes) as lane:
        writer = f.add(f.shl(warp, 5), lane)
        hidden = f.cmp("ult", f.get(f.op(f"getelementptr i32, ptr {labels}, i32 {writer}")), label)
        with f.if_(hidden):
            asked = f"i32 {context.ORDER_GENERIC}, i32 %tid, i64 {f.cast('zext', site, 'i32', 'i64')}, i64 0"
            generic = f.op(f"call i32 @emu_order(ptr %ctx, {asked})")
            with f.if_(f.cmp("ne", generic, 0)):
                size = f.cast("zext", "%size", "i32", "i64")
                report_write(f, writer, f.or_(kind, UNPROXIED), site, size)


def _map_asked() -> str:
    """A tensor map is changed, fenced or used: 1, or 0 and a fault where its change was not fenced."""
    f = Builder()
    asked = f"i32 %what, i32 %tid, i64 %address, i64 {f.cast('zext', '%site', 'i32', 'i64')}"
    with f.if_(f.cmp("ne", f.op(f"call i32 @emu_order(ptr %ctx, {asked})"), 0)):
        where = f"i32 {context.RACE}, i32 %site, i32 %tid, i64 %address, i64 {MAP_BYTES}, i64 {ASYNC}"
        f.do(f"call void @emu_fault(ptr %ctx, {where})")
        f.do("ret i32 0")
        f.start(f.fresh("dead"))
    f.do("ret i32 1")
    return f.function("define i32 @emu_map_asked(ptr %ctx, i32 %tid, i32 %site, i64 %address, i32 %what)")
