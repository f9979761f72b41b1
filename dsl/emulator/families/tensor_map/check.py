"""Tensor maps that kernels change: who did, and which blocks have fenced them since."""

from __future__ import annotations

from dsl.emulator.check.clocks import joined
from dsl.emulator.check.numbers import other_kind
from dsl.emulator.machine import context


class Maps:
    """The tensor maps that a launch has changed."""

    def __init__(self, order):
        self.changed: dict[int, tuple[int, int, int, set]] = {}  # by address: block, thread, site; blocks that fenced
        self.fences: dict[tuple[int, int], dict] = {}  # by (block, address): what its fences of a map have seen

    def change(self, slot, thread: int, address: int, site: int) -> None:
        self.changed[address] = (slot.block, thread, site, set())

    def fence(self, slot, thread: int, address: int, _: int) -> None:
        if address in self.changed:
            self.changed[address][3].add(slot.block)
        key = slot.block, address
        self.fences[key] = joined(self.fences.get(key, {}), slot.clock(thread))
        slot.step(thread)

    def store(self, slot, thread: int, where: int, what: int) -> int:
        """Whether no thread of this block has fenced the map at `ctx.address` since it saw what lanes of a warp stored
        to it."""
        block, first, label, mask = where >> 5, 32 * (where & 31), what >> 32, what & 0xFFFFFFFF
        labels = self.fences.get((slot.block, slot.ctx.address), {}).get(block)
        return int(labels is None or any(mask >> lane & 1 and labels[first + lane] < label for lane in range(32)))

    def use(self, slot, thread: int, address: int, _: int) -> int:
        """Whether the map was changed and no thread of this block has fenced it since; if so, ctx gets the writer."""
        block, who, site, fenced = self.changed.get(address, (0, 0, 0, {slot.block}))
        if slot.block in fenced:
            return 0
        ctx = slot.ctx
        ctx.other_block, ctx.other_thread, ctx.other_site, ctx.other_kind = block, who, site, other_kind.OF_MAP
        return 1


def events(order) -> dict:
    """The handlers of tensor maps for events of the order of a launch."""
    mine = order.of(Maps)
    return {
        context.ORDER_MAP_CHANGED: mine.change,
        context.ORDER_MAP_FENCED: mine.fence,
        context.ORDER_MAP_STORED: mine.store,
        context.ORDER_MAP_USED: mine.use,
    }
