"""What bulk copies read and write of shared memory, and the tensor maps they use.

A copy is an access of race.py that is on its way until it is waited for: its writes until a thread of the
block that they are in waits for the phase of the mbarrier, its reads until the thread's group is waited for (or, of a
copy to another block, that phase). What it reads and generic stores wrote needs a fence.proxy.async after
the store: of the thread that wrote, or of one that had seen the write. A tensor map that a kernel changed needs a
fence.proxy.tensormap acquire by a thread of the block before a copy uses it.

PTX ISA: 8.6 (proxies), 9.7.9.25 (bulk copies), 9.7.13.4 (fence.proxy.async, fence.proxy.tensormap).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsl.emulator import context
from dsl.emulator.builder import Builder
from dsl.emulator.check.access import ASYNC
from dsl.emulator.check.race import Write, each_write, report_write
from dsl.emulator.check.wgmma_reads import UNPROXIED

if TYPE_CHECKING:
    from dsl.emulator.check.order import Slot

SIGNATURES = {
    "emu_bulk_proxied": "i32 (ptr, i32, i32, i64, i32)",
    "emu_bulk_begins": "i32 (ptr, i32, i32, i64, i32, i32, i64, i32, i64)",
    "emu_map_asked": "i32 (ptr, i32, i32, i64, i32)",
}
MAP_BYTES = 128
OF_MAP = 1 << 10  # a mark of `other_kind`, beside those of wgmma_reads.py


def functions() -> list[str]:
    """The IR text."""
    return [_proxied(), _begins(), _map_asked()]


def _proxied() -> str:
    """A copy of thread %tid reads %size bytes: 1, or 0 and a fault where a generic store to them was not fenced."""
    f = Builder()
    first = f.op("call ptr @cell(ptr %ctx, i64 %address)")
    f.return_if(f.cmp("eq", first, "null", "ptr"), "i32 1")
    with each_write(f, first, "%size") as write:
        with f.if_(f.cmp("eq", write.block, f.load("block"), "i64")):
            _look(f, write)
    f.do("ret i32 1")
    return f.function("define i32 @emu_bulk_proxied(ptr %ctx, i32 %tid, i32 %site, i64 %address, i32 %size)")


def _look(f: Builder, write: Write) -> None:
    """Fault where a generic store is not yet seen by the async proxy."""
    labels = f.cast("inttoptr", f.load("proxied"), "i64", "ptr")
    with f.for_bits(write.lanes) as lane:
        writer = f.add(f.shl(write.warp, 5), lane)
        hidden = f.cmp("ult", f.get(f.op(f"getelementptr i32, ptr {labels}, i32 {writer}")), write.label)
        with f.if_(hidden):
            asked = f"i32 {context.ORDER_GENERIC}, i32 %tid, i64 {f.cast('zext', write.site, 'i32', 'i64')}, i64 0"
            generic = f.op(f"call i32 @emu_order(ptr %ctx, {asked})")
            with f.if_(f.cmp("ne", generic, 0)):
                report_write(f, write, lane, UNPROXIED, f.cast("zext", "%size", "i32", "i64"))


def _begins() -> str:
    """A copy into shared memory at %smem begins, in each block of its %mask: 1, or 0 and a fault. %smem and %barrier,
    which it signals, are addresses in shared::cluster; %source is one of the host, 0 outside of shared memory."""
    f = Builder()
    many = f.cmp("ne", f.and_("%mask", context.MULTICAST), 0)
    with f.for_bits(f.select(many, f.and_("%mask", context.MULTICAST - 1), 1)) as bit:
        rank = f.shl(f.cast("zext", f.add(bit, 1), "i32", "i64"), context.RANK_SHIFT, "i64")
        inside = (1 << context.RANK_SHIFT) - 1
        places = []
        for address in ("%smem", "%barrier"):
            there = f.select(many, f.or_(rank, f.and_(address, inside, "i64"), "i64"), address, "i64")
            own = f.cmp("ult", there, 1 << context.RANK_SHIFT, "i64")
            places.append(f.add(there, f.select(own, f.load("smem"), f.load("cluster_base"), "i64"), "i64"))
        where = f"i32 %tid, i32 %site, i64 {places[0]}, i32 %size, i32 %kind"
        f.return_if(f.cmp("eq", f.op(f"call i32 @emu_race(ptr %ctx, {where})"), 0), "i32 0")
        f.store("other_site", "%site")
        f.store("address", "%source")
        f.store("access_bytes", f.cast("zext", "%size", "i32", "i64"))
        asked = f"i32 {context.ORDER_COPY}, i32 %tid, i64 {places[0]}, i64 {places[1]}"
        f.return_if(f.cmp("ne", f.op(f"call i32 @emu_order(ptr %ctx, {asked})"), 0), "i32 0")
    f.do("ret i32 1")
    arguments = "i32 %tid, i32 %site, i64 %smem, i32 %size, i32 %kind, i64 %barrier, i32 %mask, i64 %source"
    return f.function(f"define i32 @emu_bulk_begins(ptr %ctx, {arguments})")


def _map_asked() -> str:
    """A tensor map is changed, fenced or used: 1, or 0 and a fault where its change was not fenced."""
    f = Builder()
    asked = f"i32 %what, i32 %tid, i64 %address, i64 {f.cast('zext', '%site', 'i32', 'i64')}"
    with f.if_(f.cmp("ne", f.op(f"call i32 @emu_order(ptr %ctx, {asked})"), 0)):
        where = f"i32 {context.RACE}, i32 %site, i32 %tid, i64 %address, i64 {MAP_BYTES}, i64 {ASYNC}"
        f.do(f"call void @emu_fault(ptr %ctx, {where})")
        f.do("ret i32 0")
        f.start(f.fresh("dead"))
    f.return_if(f.cmp("ne", "%what", context.ORDER_MAP_USED), "i32 1")
    in_smem = f.cmp("ne", f.op("call ptr @owner(ptr %ctx, i64 %address)"), "null", "ptr")
    f.return_if(in_smem, "i32 1")  # no place for a map, which is another mistake
    first = f.op("call ptr @cell(ptr %ctx, i64 %address)")
    f.return_if(f.cmp("eq", first, "null", "ptr"), "i32 1")
    with each_write(f, first, str(MAP_BYTES)) as write:
        _look_for_map_fence(f, write)
    f.do("ret i32 1")
    return f.function("define i32 @emu_map_asked(ptr %ctx, i32 %tid, i32 %site, i64 %address, i32 %what)")


def _look_for_map_fence(f: Builder, write: Write) -> None:
    """Fault where a store of this launch to the tensor map that a copy uses was not fenced."""
    place = f.or_(f.shl(write.block, 5, "i64"), f.cast("zext", write.warp, "i32", "i64"), "i64")
    label, lanes = (f.cast("zext", each, "i32", "i64") for each in (write.label, write.lanes))
    f.store("address", "%address")
    what = f.or_(f.shl(label, 32, "i64"), lanes, "i64")
    asked = f"i32 {context.ORDER_MAP_STORED}, i32 %tid, i64 {place}, i64 {what}"
    with f.if_(f.cmp("ne", f.op(f"call i32 @emu_order(ptr %ctx, {asked})"), 0)):
        lane = f.op(f"call i32 @llvm.cttz.i32(i32 {write.lanes}, i1 false)")
        report_write(f, write, lane, OF_MAP, str(MAP_BYTES))


@dataclass(eq=False)
class Flight:
    """A copy into shared memory, which an mbarrier of the same block tells of: who began it (slot and thread) at which
    site, where it goes and where in shared memory it comes from (0: elsewhere), the mbarrier's address and which of its
    phases the copy is of."""

    slot: Slot
    thread: int
    site: int
    address: int
    source: int
    size_bytes: int
    barrier: int
    phase: int
