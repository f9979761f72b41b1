"""What is noted of each mbarrier for the report of a deadlock: which warps wait and arrive there, where, what bytes.

Beside every 8 bytes of shared memory lies an entry; pages that no kernel touches take no room. An entry is of the block
whose tag it has, that of its mbarrier.init. PTX ISA 9.7.13.15.
"""

from __future__ import annotations

import ctypes

import numpy as np

from dsl.emulator.builder import Builder, mates

# What is noted, as bits; COPIES: a copy begins that will signal it.
INITS, ARRIVES, EXPECTS, WAITS, COPIES = 1, 2, 4, 8, 16
# A function for each that an instruction does: these run at every arrival and at every look at an mbarrier.
_NOTED = (INITS, ARRIVES, EXPECTS, ARRIVES | EXPECTS, WAITS, COPIES)
SIGNATURES = {f"emu_note_{what}": "void (ptr, i32, i32, i64, i32)" for what in _NOTED}
# An entry: i64 tag, then i32 each. Masks are of warps, and of ranks of other blocks of the cluster; sites are + 1.
FIELDS = ("waiters", "wait_site", "arrivers", "arrive_site", "now", "peers", "peers_now", "parity", "expect_site",
          "expected", "copy_site", "ended", "passed_new")  # fmt: skip
ENTRY_BYTES = 64


def functions() -> list[str]:
    """The IR text."""
    return [_note(what) for what in _NOTED]


def _part(f: Builder, entry: str, name: str) -> str:
    return f.op(f"getelementptr i8, ptr {entry}, i64 {8 + 4 * FIELDS.index(name)}")


def tag(f: Builder, slot: str) -> str:
    """What an entry of the block in a slot begins with (i64)."""
    block = f.and_(f.load("block", of=slot), (1 << 32) - 1, "i64")
    return f.or_(f.shl(f.cast("zext", f.load("mbarrier_serial", of=slot), "i32", "i64"), 32, "i64"), block, "i64")


def _note(what: int) -> str:
    """Thread %tid does this at the mbarrier at a host address; `amount`: bytes it expects, 1 where a wait passes."""
    f = Builder()
    with mates(f, "%ctx") as slot:
        offset = f.sub("%address", f.load("smem", of=slot), "i64")
        log = f.load("mbarrier_log", of=slot)
        inside = f.cmp("ult", offset, f.load("smem_bytes", of=slot), "i64")
        with f.if_(f.and_(inside, f.cmp("ne", log, 0, "i64"), "i1")):
            start = f.add(log, f.mul(f.lshr(offset, 3, "i64"), ENTRY_BYTES, "i64"), "i64")
            _write(f, f.cast("inttoptr", start, "i64", "ptr"), slot, what)
            f.do("ret void")
            f.start(f.fresh("dead"))
    f.do("ret void")
    arguments = "i32 %tid, i32 %site, i64 %address, i32 %amount"
    return f.function(f"define void @emu_note_{what}(ptr %ctx, {arguments})")


def _write(f: Builder, entry: str, slot: str, what: int) -> None:
    number = f.add("%site", 1)
    own = f.cmp("eq", slot, "%ctx", "ptr")
    warp = f.select(own, f.shl(1, f.lshr("%tid", 5)), 0)
    peer = f.select(own, 0, f.shl(1, f.load("cluster_rank")))

    def put(name: str, value: str) -> None:
        f.put(_part(f, entry, name), value)

    def mark(name: str, mask: str) -> None:
        place = _part(f, entry, name)
        f.put(place, f.or_(f.get(place), mask))

    if what & INITS:
        f.do(f"call void @llvm.memset.p0.i64(ptr {entry}, i8 0, i64 {ENTRY_BYTES}, i1 false)")
        f.put(entry, tag(f, slot), "i64")
    word = f.get(f.cast("inttoptr", "%address", "i64", "ptr"), "i64")
    parity = f.cast("trunc", f.lshr(word, 63, "i64"), "i64", "i32")
    mark("ended", parity)  # that of a new mbarrier is 0
    if what & (ARRIVES | EXPECTS):
        with f.if_(f.cmp("ne", parity, f.get(_part(f, entry, "parity")))):
            for name, value in (("parity", parity), ("now", "0"), ("peers_now", "0"), ("expected", "0")):
                put(name, value)
    if what & ARRIVES:
        for name, mask in (("arrivers", warp), ("now", warp), ("peers", peer), ("peers_now", peer)):
            mark(name, mask)
        put("arrive_site", number)
    if what & EXPECTS:
        put("expect_site", number)
        place = _part(f, entry, "expected")
        f.put(place, f.add(f.get(place), "%amount"))
    if what & WAITS:
        mark("waiters", warp)
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
