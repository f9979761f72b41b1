"""The groups of wgmma of a block, and who has waited for them: wgmma_reads.cc asks."""

from __future__ import annotations

import ctypes

import numpy as np

from dsl.emulator.check.numbers import access, orders, other_kind
from dsl.emulator.families.cp_async.check import UnfencedCopies
from dsl.emulator.families.warpgroup.async_registers import AsyncRegisters
from dsl.emulator.families.warpgroup.numbers import MatrixReads
from dsl.emulator.machine import context, native

WATCH = AsyncRegisters
GENERIC_STORES = frozenset({"st", "stmatrix", "atom", "red"})


class Group:
    """The wgmma of one commit_group of a warpgroup: its last instruction, and where each thread waited for it."""

    def __init__(self, first: int, number: int, key: int):
        self.first, self.number, self.key, self.site = first, number, key, 0
        self.waited = np.zeros(128, np.uint32)  # labels; 0: not yet


class WgmmaReads:
    """The groups of the block that runs in a slot. `known` is what native code reads, a label a thread: the last that
    each warp of the warpgroup has seen the end of."""

    def __init__(self, slot):
        self.slot, self.known = slot, slot.array_at(slot.ctx.matrix_known)
        self.groups: list[Group] = []
        self.latest: dict[int, Group] = {}

    def begins(self, first: int, number: int, site: int) -> int:
        """wgmma of the warpgroup from thread `first` on; the number (from 1) of its group."""
        seen = []
        for warp in range(first, first + 128, 32):
            seen.append(self.slot.known[warp : warp + 32, : self.slot.threads].max(axis=0))
            seen[-1][warp : warp + 32] = access.PENDING - 1
        self.known[:] = np.min(seen, axis=0)
        group = self.latest.get(first)
        if group is None or group.number != number:
            # a product needs all four warps: who waits for it knows that they came
            self.slot.come([*range(first, first + 128)])
            group = self.latest[first] = Group(first, number, len(self.groups) + 1)
            self.groups.append(group)
        group.site = site
        return group.key

    def waits(self, thread: int, complete: int) -> None:
        """A thread has waited for the groups whose number is below `complete`."""
        label = self.slot.label(thread)
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
        first = who.threads + group.first  # of execution: the group reads
        part = slice(first, first + 128)
        if own or any(((group.waited != 0) & (seen[part] >= group.waited)).any() for seen in clocks):
            return 1
        ctx = who.ctx
        ctx.other_block, ctx.other_thread, ctx.other_site = self.slot.block, group.first, group.site
        ctx.other_kind = other_kind.OF_WGMMA
        return 0

    def has_seen(self, thread: int, where: int, what: int) -> int:
        """Whether each warp of the warpgroup of a thread has seen what lanes of another block's warp did."""
        block, first, label, mask = where >> 5, 32 * (where & 31), what >> 32, what & 0xFFFFFFFF
        if label == access.PENDING:
            return 0
        lanes = [first + lane for lane in range(32) if mask >> lane & 1]
        warps = range(thread & ~127, (thread & ~127) + 128, 32)

        def has_one(warp: int) -> bool:
            known = (self.slot.abroad(member).labels(block) for member in range(warp, warp + 32))
            return any(labels is not None and (labels[lanes] >= label).all() for labels in known)

        return all(has_one(warp) for warp in warps)


def attach(ctx, new) -> None:
    """Give native code `new` memory for the state of a block."""
    if ctx.order_kinds & orders.MATRICES:
        ctx.matrix_read = native.address("emu_matrix_read")
        ctx.matrix_reads = new(2 * ctx.smem_bytes + ctypes.sizeof(MatrixReads))
        ctx.matrix_known = new(4 * ctx.threads)


def events(order) -> dict:
    """The handlers of wgmma for events of the order of a launch."""

    def begins(slot, thread: int, group: int, site: int) -> int:
        return slot.of(WgmmaReads).begins(thread, group, site)

    def waits(slot, thread: int, complete: int, _: int) -> None:
        slot.of(WgmmaReads).waits(thread, complete)

    def is_done(slot, thread: int, group: int, owner: int) -> int:
        return order.slot_of(owner).of(WgmmaReads).is_done(slot, thread, group)

    def has_seen(slot, thread: int, where: int, what: int) -> int:
        return slot.of(WgmmaReads).has_seen(thread, where, what)

    def is_generic(slot, thread: int, site: int, reader: int) -> int:
        if reader:
            order.of(UnfencedCopies).look(slot, thread, site, reader - 1)
        return order.sites[site].opcode in GENERIC_STORES

    return {
        context.ORDER_WGMMA: begins,
        context.ORDER_WGMMA_WAIT: waits,
        context.ORDER_WGMMA_DONE: is_done,
        context.ORDER_WGMMA_ACROSS: has_seen,
        context.ORDER_GENERIC: is_generic,
    }
