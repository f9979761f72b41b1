"""The life of each mbarrier, and what happens there: which warps wait and arrive, where, for what bytes.

Every 8 bytes of shared memory have an entry; pages that no kernel touches take no room. mbarrier.init gives the entry
the tag of its block, mbarrier.inval takes it away. An operation on an entry without the tag of its block is a fault:
there is no mbarrier. The rest is for reports of deadlocks. PTX ISA 9.7.13.15.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np

from dsl.emulator import context
from dsl.emulator.builder import Builder, mates

# What is noted, as bits; COPIES: a copy begins that will signal it. LOOKS: nothing, but there must be an mbarrier.
LOOKS = 0
INITS, ARRIVES, EXPECTS, WAITS, COPIES, INVALIDATES = 1, 2, 4, 8, 16, 32
# A function for each that an instruction does: these run at every arrival and at every look at an mbarrier.
_USES = (LOOKS, ARRIVES, EXPECTS, ARRIVES | EXPECTS, WAITS, COPIES)
SIGNATURES = {f"emu_note_{what}": "i32 (ptr, i32, i32, i64, i32)" for what in (*_USES, INITS, INVALIDATES)}
SIGNATURES["emu_no_mbarrier"] = "i32 (ptr, i32, i32, i64, i32)"
# An entry: i64 tag, then i32 each. Masks are of warps, and of ranks of other blocks of the cluster; sites are + 1.
# The last three are of the mbarrier.init, or of the mbarrier.inval after it: its site, its warp, that warp's lanes.
FIELDS = ("waiters", "wait_site", "arrivers", "arrive_site", "now", "peers", "peers_now", "parity", "expect_site",
          "expected", "copy_site", "ended", "passed_new", "life_site", "life_warp", "life_lanes")  # fmt: skip
ENTRY_BYTES = 8 + 4 * len(FIELDS)
_INVALIDATED = -(1 << 63)  # flips the tag
_OWN_BIT = 8


@dataclass(frozen=True)
class Life:
    """The mbarrier.init or .inval that the detail of a fault is about: its site (-1: there was none), its warp, and
    whether it is of the thread of the fault."""

    site: int
    warp: int
    is_own: bool

    @classmethod
    def of(cls, detail: int) -> Life:
        high = detail >> 32
        return cls((detail & 0xFFFFFFFF) - 1, high & (1 << _OWN_BIT) - 1, bool(high >> _OWN_BIT))


def functions() -> list[str]:
    """The IR text."""
    return [*(_note(what, _use) for what in _USES), _note(INITS, _init), _note(INVALIDATES, _inval), _written()]


def _part(f: Builder, entry: str, name: str) -> str:
    return f.op(f"getelementptr i8, ptr {entry}, i64 {8 + 4 * FIELDS.index(name)}")


def tag(f: Builder, slot: str) -> str:
    """What an entry of the block in a slot begins with (i64)."""
    block = f.and_(f.load("block", of=slot), (1 << 32) - 1, "i64")
    return f.or_(f.shl(f.cast("zext", f.load("mbarrier_serial", of=slot), "i32", "i64"), 32, "i64"), block, "i64")


def _note(what: int, write) -> str:
    """Thread %tid does this at the mbarrier at a host address: 1, or 0 after a fault. `amount`: the bytes it expects, 1
    where a wait passes, the count of an init."""
    f = Builder()
    with mates(f, "%ctx") as slot:
        offset = f.sub("%address", f.load("smem", of=slot), "i64")
        with f.if_(f.cmp("ult", offset, f.load("smem_bytes", of=slot), "i64")):
            log = f.load("mbarrier_log", of=slot)
            start = f.add(log, f.mul(f.lshr(offset, 3, "i64"), ENTRY_BYTES, "i64"), "i64")
            write(f, f.cast("inttoptr", start, "i64", "ptr"), slot, what)
            f.do("ret i32 1")
            f.start(f.fresh("dead"))
    _fault(f, context.ILLEGAL, str(context.NOT_SHARED))
    f.do("ret i32 0")
    arguments = "i32 %tid, i32 %site, i64 %address, i32 %amount"
    return f.function(f"define i32 @emu_note_{what}(ptr %ctx, {arguments})")


def _fault(f: Builder, status: int, detail: str, size: str = "8", address: str = "%address") -> None:
    where = f"i32 {status}, i32 %site, i32 %tid, i64 {address}, i64 {size}, i64 {detail}"
    f.do(f"call void @emu_fault(ptr %ctx, {where})")


def _fault_of_life(f: Builder, condition: str, status: int, entry: str, address: str = "%address") -> None:
    """End with a fault about the mbarrier.init or .inval of an entry where `condition` holds; see `Life`."""
    with f.if_(condition):
        site, warp, lanes = (f.get(_part(f, entry, name)) for name in ("life_site", "life_warp", "life_lanes"))
        own = f.cmp("eq", warp, f.lshr("%tid", 5))
        own = f.and_(own, f.cmp("ne", f.and_(lanes, f.shl(1, f.and_("%tid", 31))), 0), "i1")
        high = f.or_(warp, f.shl(f.cast("zext", own, "i1", "i32"), _OWN_BIT))
        site, high = (f.cast("zext", each, "i32", "i64") for each in (site, high))
        _fault(f, status, f.or_(site, f.shl(high, 32, "i64"), "i64"), address=address)
        f.do("ret i32 0")
        f.start(f.fresh("dead"))


def _repeats(f: Builder, entry: str) -> str:
    """Whether another lane of its warp does what the last mbarrier.init or .inval did, by the same instruction: the
    lanes of a warp make it together."""
    site, warp = f.get(_part(f, entry, "life_site")), f.get(_part(f, entry, "life_warp"))
    same = f.and_(f.cmp("eq", site, f.add("%site", 1)), f.cmp("eq", warp, f.lshr("%tid", 5)), "i1")
    mine = f.and_(f.get(_part(f, entry, "life_lanes")), f.shl(1, f.and_("%tid", 31)))
    return f.and_(same, f.cmp("eq", mine, 0), "i1")


def _begins_life(f: Builder, entry: str) -> None:
    f.put(_part(f, entry, "life_site"), f.add("%site", 1))
    f.put(_part(f, entry, "life_warp"), f.lshr("%tid", 5))
    f.put(_part(f, entry, "life_lanes"), f.shl(1, f.and_("%tid", 31)))


def _add_lane(f: Builder, entry: str) -> None:
    lanes = _part(f, entry, "life_lanes")
    f.put(lanes, f.or_(f.get(lanes), f.shl(1, f.and_("%tid", 31))))
    f.do("ret i32 1")
    f.start(f.fresh("dead"))


def _init(f: Builder, entry: str, slot: str, _: int) -> None:
    _bad_count(f)
    fresh = tag(f, slot)
    with f.if_(f.cmp("eq", f.get(entry, "i64"), fresh, "i64")):
        untouched = f.get(_part(f, entry, "arrive_site"))
        for name in ("expect_site", "copy_site"):
            untouched = f.or_(untouched, f.get(_part(f, entry, name)))
        wide = f.cast("zext", "%amount", "i32", "i64")
        word = f.get(f.cast("inttoptr", "%address", "i64", "ptr"), "i64")
        same = f.cmp("eq", word, f.or_(wide, f.shl(wide, 20, "i64"), "i64"), "i64")
        same = f.and_(f.and_(same, f.cmp("eq", untouched, 0), "i1"), _repeats(f, entry), "i1")
        _fault_of_life(f, f.xor(same, "true", "i1"), context.IN_USE, entry)
        _add_lane(f, entry)
    f.do(f"call void @llvm.memset.p0.i64(ptr {entry}, i8 0, i64 {ENTRY_BYTES}, i1 false)")
    f.put(entry, fresh, "i64")
    _begins_life(f, entry)


def _bad_count(f: Builder) -> None:
    with f.if_(f.cmp("uge", f.sub("%amount", 1), context.MOST_ARRIVALS)):
        _fault(f, context.ILLEGAL, str(context.BAD_ARRIVALS), f.cast("zext", "%amount", "i32", "i64"))
        f.do("ret i32 0")
        f.start(f.fresh("dead"))


def _inval(f: Builder, entry: str, slot: str, _: int) -> None:
    own = tag(f, slot)
    gone = f.cmp("eq", f.get(entry, "i64"), f.xor(own, _INVALIDATED, "i64"), "i64")
    with f.if_(f.and_(gone, _repeats(f, entry), "i1")):
        _add_lane(f, entry)
    _needs_life(f, entry, slot, own)
    f.put(entry, f.xor(own, _INVALIDATED, "i64"), "i64")
    _begins_life(f, entry)


def _written() -> str:
    """Thread %tid writes %size bytes of data: 1, or 0 and a fault where an mbarrier of the block lives."""
    f = Builder()
    with mates(f, "%ctx") as slot:
        offset = f.sub("%address", f.load("smem", of=slot), "i64")
        log = f.load("mbarrier_log", of=slot)
        inside = f.cmp("ult", offset, f.load("smem_bytes", of=slot), "i64")
        with f.if_(f.and_(inside, f.cmp("ne", log, 0, "i64"), "i1")):
            last = f.add(offset, f.sub(f.cast("zext", "%size", "i32", "i64"), 1, "i64"), "i64")
            first, own = f.lshr(offset, 3, "i64"), tag(f, slot)
            count = f.add(f.sub(f.lshr(last, 3, "i64"), first, "i64"), 1, "i64")
            with f.for_range(f.cast("trunc", count, "i64", "i32")) as i:
                index = f.add(first, f.cast("zext", i, "i32", "i64"), "i64")
                start = f.add(log, f.mul(index, ENTRY_BYTES, "i64"), "i64")
                entry = f.cast("inttoptr", start, "i64", "ptr")
                lives = f.cmp("eq", f.get(entry, "i64"), own, "i64")
                place = f.add(f.load("smem", of=slot), f.shl(index, 3, "i64"), "i64")
                _fault_of_life(f, lives, context.IN_USE, entry, place)
    f.do("ret i32 1")
    return f.function("define i32 @emu_no_mbarrier(ptr %ctx, i32 %tid, i32 %site, i64 %address, i32 %size)")


def _needs_life(f: Builder, entry: str, slot: str, own: str) -> None:
    """A fault where the block has no mbarrier there; its detail is the mbarrier.inval, 0 where there was none. Of
    another block's, check/cluster_order.py says it whatever block runs first."""
    found = f.get(entry, "i64")
    with f.if_(f.cmp("ne", found, own, "i64")):
        is_told = f.and_(f.cmp("ne", slot, "%ctx", "ptr"), f.cmp("ne", f.load("order_call"), 0, "i64"), "i1")
        f.return_if(is_told, "i32 1")
        gone = f.cmp("eq", found, f.xor(own, _INVALIDATED, "i64"), "i64")
        _fault_of_life(f, gone, context.NOT_INITIALIZED, entry)
        _fault(f, context.NOT_INITIALIZED, "0")
        f.do("ret i32 0")
        f.start(f.fresh("dead"))


def _use(f: Builder, entry: str, slot: str, what: int) -> None:
    _needs_life(f, entry, slot, tag(f, slot))
    number = f.add("%site", 1)
    own = f.cmp("eq", slot, "%ctx", "ptr")
    warp = f.shl(1, f.lshr("%tid", 5))

    def put(name: str, value: str) -> None:
        f.put(_part(f, entry, name), value)

    def mark(name: str, mask: str) -> None:
        place = _part(f, entry, name)
        f.put(place, f.or_(f.get(place), mask))

    word = f.get(f.cast("inttoptr", "%address", "i64", "ptr"), "i64")
    parity = f.cast("trunc", f.lshr(word, 63, "i64"), "i64", "i32")
    mark("ended", parity)  # that of a new mbarrier is 0
    if what & (ARRIVES | EXPECTS):
        with f.if_(f.cmp("ne", parity, f.get(_part(f, entry, "parity")))):
            for name, value in (("parity", parity), ("now", "0"), ("peers_now", "0"), ("expected", "0")):
                put(name, value)
    if what & ARRIVES:
        with f.if_(own):
            mark("arrivers", warp)
            mark("now", warp)
        with f.if_(f.xor(own, "true", "i1")):
            rank = f.shl(1, f.load("cluster_rank"))
            mark("peers", rank)
            mark("peers_now", rank)
        put("arrive_site", number)
    if what & EXPECTS:
        put("expect_site", number)
        place = _part(f, entry, "expected")
        f.put(place, f.add(f.get(place), "%amount"))
    if what & WAITS:
        mark("waiters", f.select(own, warp, 0))
        put("wait_site", number)
        new = f.cmp("eq", f.get(_part(f, entry, "ended")), 0)
        passes_new = f.and_(f.and_(new, f.cmp("eq", parity, 0), "i1"), f.cmp("ne", "%amount", 0), "i1")
        mark("passed_new", f.cast("zext", passes_new, "i1", "i32"))
    if what & COPIES:
        put("copy_site", number)


def entries(ctx) -> dict[int, dict[str, int]]:
    """The mbarriers of the block in a slot, by their offset in shared memory: what is noted of each."""
    if not ctx.mbarrier_log:
        return {}
    count = ctx.smem_bytes // 8
    words = np.ctypeslib.as_array((ctypes.c_uint32 * (ENTRY_BYTES // 4 * count)).from_address(ctx.mbarrier_log))
    rows = words.reshape(count, ENTRY_BYTES // 4)
    mine = np.flatnonzero((rows[:, 0] == ctx.block & 0xFFFFFFFF) & (rows[:, 1] == ctx.mbarrier_serial))
    return {8 * int(i): dict(zip(FIELDS, map(int, rows[i, 2:]))) for i in mine}
