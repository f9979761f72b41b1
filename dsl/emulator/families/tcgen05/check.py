"""The order of what a tensor core does: the commits on their way, and who has waited for them."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from dsl.emulator.check.numbers import Cell
from dsl.emulator.families.mbarrier.check import Mbarriers
from dsl.emulator.families.tcgen05.loads import LoadsInFlight
from dsl.emulator.families.tcgen05.numbers import TensorState, tensor_memory
from dsl.emulator.machine import context, native

WATCH = LoadsInFlight
_LANDED = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32)


@dataclass(eq=False)
class Commit:
    """A commit: who issued it (slot and thread) at which site, its number among the operations of its block, the label
    of what the thread had seen then, and whether a thread has waited for a later one of its thread."""

    slot: Any  # of check/order.py
    thread: int
    site: int
    number: int
    label: int
    clock: dict
    is_known: bool = False
    size_bytes = 0

    def forget(self, order) -> None:
        """No block has to wait for it."""

    def land(self, order) -> None:
        """A thread has waited for it: what the issuing thread's operations touched is of now."""
        order.of(Commits).land(self)


class Commits:
    """Those of one launch, by block and number."""

    def __init__(self, order):
        self.mbarriers = order.of(Mbarriers)
        self.begun: dict[tuple[int, int], Commit] = {}
        self.landed = _LANDED(native.address("emu_tensor_landed"))

    def commit(self, slot, thread: int, address: int, what: int) -> int:
        """A thread issues a commit to an mbarrier; 1 where that may not be there yet. `what`: the site, above it the
        number."""
        site, number = what & 0xFFFFFFFF, what >> 32
        key = slot.block, number
        if key not in self.begun:
            slot.step(thread)
            self.begun[key] = Commit(slot, thread, site, number, slot.label(thread), slot.clock(thread))
        return int(not self.mbarriers.begin_late(self.begun[key], address))

    def arrive(self, slot, thread: int, address: int, what: int) -> None:
        """It arrives at an mbarrier. `what`: whether that ends the phase, above it the number."""
        self.mbarriers.arrive_late(self.begun[slot.block, what >> 1], address, bool(what & 1))

    def land(self, commit: Commit) -> None:
        """A thread has waited for a commit: those that its thread issued before have arrived too."""
        slot = commit.slot
        self.landed(slot.address, commit.thread, commit.number, slot.label(commit.thread))
        before = [
            key for key, each in self.begun.items()
            if key[0] == slot.block and key[1] < commit.number and each.thread == commit.thread
        ]  # fmt: skip
        for key in before:
            self.begun.pop(key).is_known = True

    def fence(self, slot, thread: int, *_: int) -> None:
        """tcgen05.fence::after_thread_sync: what the thread has waited for, with .relaxed too, comes before."""
        self.mbarriers.fence(slot, thread)


def attach(ctx, new) -> None:
    """Give native code `new` memory for the state of a block."""
    if ctx.tensor:
        cells = tensor_memory.LANES // tensor_memory.GROUP * tensor_memory.COLUMNS
        state = TensorState.from_address(ctx.tensor)
        state.tensor_accesses = new(cells * ctypes.sizeof(Cell))
        state.tensor_last = new(4 * cells)
        state.matrix_last = new(4 * (ctx.smem_bytes // 16 + 1))
        state.tensor_written = new(cells) if ctx.smem_valid else 0


def events(order) -> dict:
    """The handlers of tcgen05 for events of the order of a launch."""
    mine = order.of(Commits)
    return {
        context.ORDER_TENSOR_COMMIT: mine.commit,
        context.ORDER_TENSOR_ARRIVE: mine.arrive,
        context.ORDER_TENSOR_FENCE: mine.fence,
    }
