"""What wgmma reads of shared memory: the async proxy, until the threads of its warpgroup wait for it.

Beside shared memory lies, for each 16 bytes and warpgroup, the number of the last group of wgmma that read them. A
write there must come after a thread of that warpgroup has waited for the group, in the order that order.py knows. What
wgmma reads must have been written before, as each warp of the warpgroup has seen; what generic stores wrote needs a
fence.proxy.async after it: of the thread that wrote, or of one that had seen the write.

PTX ISA: 8.6 (proxies), 9.7.15.5 (wgmma), 9.7.13.4 (fence.proxy.async).
"""

from __future__ import annotations

import numpy as np

from dsl.emulator import context
from dsl.emulator.builder import Builder
from dsl.emulator.check.access import WRITE
from dsl.emulator.check.race import Write, each_write, report_write

SIGNATURES = {"emu_matrix_read": "i32 (ptr, i32, i32, i64)", "emu_matrix_written": "i32 (ptr, i32, i32, i64, i32)"}
CHUNK_BYTES, WARPGROUPS = 16, 8
ROW_BYTES = 4 * WARPGROUPS
# Marks of `other_kind`, beside the bits of a kind.
OF_WGMMA, UNPROXIED = 1 << 8, 1 << 9
PENDING = 0xFFFFFFFF  # the label of a copy that was not waited for: nobody has seen its end
GENERIC_STORES = frozenset({"st", "stmatrix", "atom", "red"})


def functions() -> list[str]:
    """The IR text."""
    return [_read(), _written()]


def _rows(f: Builder, offset: str, slot: str = "%ctx") -> str:
    """The numbers of the groups that read the 16 bytes at an offset in shared memory (i64) of the block in a slot."""
    index = f.mul(f.lshr(offset, 4, "i64"), ROW_BYTES, "i64")
    return f.cast("inttoptr", f.add(f.load("matrix_reads", of=slot), index, "i64"), "i64", "ptr")


def _ask(f: Builder, what: int, tid: str, a: str, b: str = "0") -> str:
    return f.op(f"call i32 @emu_order(ptr %ctx, i32 {what}, i32 {tid}, i64 {a}, i64 {b})")


def _array(f: Builder, name: str, index: str) -> str:
    array = f.cast("inttoptr", f.load(name), "i64", "ptr")
    return f.get(f.op(f"getelementptr i32, ptr {array}, i32 {index}"))


def _read() -> str:
    """wgmma of the warpgroup of thread %tid reads 16 bytes: 1, or 0 and a fault."""
    f = Builder()
    row = _rows(f, f.sub("%address", f.load("smem"), "i64"))
    f.put(f.op(f"getelementptr i32, ptr {row}, i32 {f.lshr('%tid', 7)}"), f.load("matrix_group"))
    first = f.op("call ptr @cell(ptr %ctx, i64 %address)")
    with each_write(f, first, str(CHUNK_BYTES)) as write:
        mine = f.cmp("eq", write.block, f.load("block"), "i64")
        with f.if_(mine):
            _look(f, write)
        with f.if_(f.xor(mine, "true", "i1")):
            _look_across(f, write)
    f.do("ret i32 1")
    return f.function("define i32 @emu_matrix_read(ptr %ctx, i32 %tid, i32 %site, i64 %address)")


def _look(f: Builder, write: Write) -> None:
    """Fault where a write of this block was not seen, or is not yet seen by the async proxy."""
    fresh = f.cmp("uge", write.label, f.load("epoch"))
    with f.for_bits(write.lanes) as lane:
        writer = f.add(f.shl(write.warp, 5), lane)
        seen = f.cmp("uge", _array(f, "matrix_known", writer), write.label)
        with f.if_(f.and_(fresh, f.xor(seen, "true", "i1"), "i1")):
            report_write(f, write, lane, 0, str(CHUNK_BYTES))
        hidden = f.cmp("ult", _array(f, "proxied", writer), write.label)
        with f.if_(hidden):
            generic = _ask(f, context.ORDER_GENERIC, "%tid", f.cast("zext", write.site, "i32", "i64"))
            with f.if_(f.cmp("ne", generic, 0)):
                report_write(f, write, lane, UNPROXIED, str(CHUNK_BYTES))


def _look_across(f: Builder, write: Write) -> None:
    """Fault where a write of another block of the cluster was not seen. The last write asked about is remembered: one
    copy fills many cells."""
    here = f.op(f"call i1 @is_mate(ptr %ctx, i64 {write.block})")
    label, lanes = (f.cast("zext", each, "i32", "i64") for each in (write.label, write.lanes))
    what, group = f.or_(f.shl(label, 32, "i64"), lanes, "i64"), f.load("matrix_group")
    same = f.and_(
        f.cmp("eq", f.load("peer_meta"), write.meta, "i64"), f.cmp("eq", f.load("peer_labels"), what, "i64"), "i1"
    )
    same = f.and_(same, f.cmp("eq", f.load("peer_group"), group), "i1")
    with f.if_(f.and_(here, f.xor(same, "true", "i1"), "i1")):
        where = f.or_(f.shl(write.block, 5, "i64"), f.cast("zext", write.warp, "i32", "i64"), "i64")
        with f.if_(f.cmp("eq", _ask(f, context.ORDER_WGMMA_ACROSS, "%tid", where, what), 0)):
            report_write(f, write, f.op(f"call i32 @llvm.cttz.i32(i32 {write.lanes}, i1 false)"), 0, str(CHUNK_BYTES))
        f.store("peer_meta", write.meta)
        f.store("peer_labels", what)
        f.store("peer_group", group)


def _written() -> str:
    """Thread %tid writes %size bytes of shared memory, or begins a copy that will: 1, or 0 and a fault."""
    f = Builder()
    owner = f.op("call ptr @owner(ptr %ctx, i64 %address)")
    f.return_if(f.cmp("eq", owner, "null", "ptr"), "i32 1")
    f.return_if(f.cmp("eq", f.load("matrix_reads", of=owner), 0, "i64"), "i32 1")
    offset = f.sub("%address", f.load("smem", of=owner), "i64")
    first = f.and_(offset, -CHUNK_BYTES, "i64")
    last = f.sub(f.add(offset, f.cast("zext", "%size", "i32", "i64"), "i64"), 1, "i64")
    count = f.add(f.cast("trunc", f.lshr(f.sub(last, first, "i64"), 4, "i64"), "i64", "i32"), 1)
    asked = f.alloca("i32", 4)
    f.put(asked, 0)
    with f.for_range(count) as i:
        at = f.add(first, f.shl(f.cast("zext", i, "i32", "i64"), 4, "i64"), "i64")
        row = _rows(f, at, owner)
        with f.for_range(f.lshr(f.add(f.load("threads"), 127), 7)) as warpgroup:
            slot = f.op(f"getelementptr i32, ptr {row}, i32 {warpgroup}")
            group = f.get(slot)
            with f.if_(f.and_(f.cmp("ne", group, 0), f.cmp("ne", group, f.get(asked)), "i1")):
                whose = f.cast("ptrtoint", owner, "ptr", "i64")
                done = _ask(f, context.ORDER_WGMMA_DONE, "%tid", f.cast("zext", group, "i32", "i64"), whose)
                with f.if_(f.cmp("eq", done, 0)):
                    place = f.add(f.load("smem", of=owner), at, "i64")
                    where = f"i32 {context.RACE}, i32 %site, i32 %tid, i64 {place}, i64 {CHUNK_BYTES}, i64 {WRITE}"
                    f.do(f"call void @emu_fault(ptr %ctx, {where})")
                    f.do("ret i32 0")
                    f.start(f.fresh("dead"))
                f.put(asked, group)
    f.do("ret i32 1")
    return f.function("define i32 @emu_matrix_written(ptr %ctx, i32 %tid, i32 %site, i64 %address, i32 %size)")


class Group:
    """The wgmma of one commit_group of a warpgroup: its last instruction, and where each thread waited for it."""

    def __init__(self, first: int, number: int, key: int):
        self.first, self.number, self.key, self.site = first, number, key, 0
        self.waited = np.zeros(128, np.uint32)  # labels; 0: not yet


class WgmmaReads:
    """The groups of the block that runs in a slot. `known` and `proxied` are what native code reads, a label a
    thread: the last that each warp of the warpgroup has seen the end of; the last whose writes the async proxy sees.
    """

    def __init__(self, slot, known: np.ndarray, proxied: np.ndarray):
        self.slot, self.known, self.proxied = slot, known, proxied
        self.groups: list[Group] = []
        self.latest: dict[int, Group] = {}

    def begins(self, first: int, number: int, site: int) -> int:
        """wgmma of the warpgroup from thread `first` on; the number (from 1) of its group."""
        seen = []
        for warp in range(first, first + 128, 32):
            seen.append(self.slot.known[warp : warp + 32].max(axis=0))
            seen[-1][warp : warp + 32] = PENDING - 1
        self.known[:] = np.min(seen, axis=0)
        group = self.latest.get(first)
        if group is None or group.number != number:
            group = self.latest[first] = Group(first, number, len(self.groups) + 1)
            self.groups.append(group)
        group.site = site
        return group.key

    def waits(self, thread: int, complete: int) -> None:
        """A thread has waited for the groups whose number is below `complete`."""
        label = max(int(self.slot.labels[thread]), self.slot.ctx.epoch)
        for group in reversed(self.groups):
            if group.first <= thread < group.first + 128 and group.number < complete:
                if group.waited[thread - group.first]:
                    break
                group.waited[thread - group.first] = label

    def is_done(self, who, thread: int, which: int) -> int:
        """Whether a thread of slot `who` knows that a group is complete; else native code makes a fault of the fields
        set here."""
        group = self.groups[which - 1]
        if who is self.slot:
            own = group.waited[thread - group.first] if group.first <= thread < group.first + 128 else 0
            clocks = [who.seen(thread)]
        else:
            labels = who.abroad(thread).labels(self.slot.block)
            own, clocks = 0, [] if labels is None else [labels]
        part = slice(group.first, group.first + 128)
        if own or any(((group.waited != 0) & (seen[part] >= group.waited)).any() for seen in clocks):
            return 1
        ctx = who.ctx
        ctx.other_block, ctx.other_thread, ctx.other_site = self.slot.block, group.first, group.site
        ctx.other_kind = OF_WGMMA
        return 0

    def has_seen(self, thread: int, where: int, what: int) -> int:
        """Whether each warp of the warpgroup of a thread has seen what lanes of another block's warp did."""
        block, first, label, mask = where >> 5, 32 * (where & 31), what >> 32, what & 0xFFFFFFFF
        if label == PENDING:
            return 0
        lanes = [first + lane for lane in range(32) if mask >> lane & 1]
        warps = range(thread & ~127, (thread & ~127) + 128, 32)

        def has_one(warp: int) -> bool:
            known = (self.slot.abroad(member).labels(block) for member in range(warp, warp + 32))
            return any(labels is not None and (labels[lanes] >= label).all() for labels in known)

        return all(has_one(warp) for warp in warps)

    def fenced(self, thread: int) -> None:
        """fence.proxy.async: what the thread has seen, the async proxy sees."""
        np.maximum(self.proxied, self.slot.seen(thread), out=self.proxied)
        self.slot.step(thread)
