"""Fixes of races with copies that signal an mbarrier: which phase the copy is of, for which one the thread waited, who
gave the slot back. Found by what threads waited for, whatever the barriers are called."""

from __future__ import annotations

from dsl.emulator.check.numbers import access
from dsl.emulator.diagnosis import cluster_report, frames
from dsl.emulator.families.mbarrier.check import Flight, Mbarrier, Mbarriers, Shared, Wait
from dsl.emulator.ptx.traits import BARRIER
from dsl.span import Span


class Order:
    """The facts about two racing accesses in the order of a launch (check/order.py); `place`: the author's line of the
    one that was stopped."""

    def __init__(self, launch, place: Span | None):
        self.launch, self.place, self.ctx = launch, place, launch.ctx
        self.order = launch.checks.order

    def fix_of_wait(self, noun: str, at: str, here: str) -> str:
        """The fix for a thread that touches memory that a copy fills; `noun` names the instruction at `at`."""
        fix = f"wait for the phase of the full mbarrier that the {noun} at {at} signals (`pipeline.consumer_wait`)"
        flight = self._flight()
        one = self.order.of(Mbarriers).mbarriers.get(flight.barrier) if flight is not None else None
        wait = one.waits.get(self.ctx.thread) if one is not None else None
        if flight is None or wait is None:
            return f"{fix} before {here}"
        if wait.phase >= flight.phase:
            return (
                f"expect the bytes of the {noun} at {at} too (mbarrier.arrive.expect_tx): the phase that "
                f"{self._line(wait.site)} waits for has ended without them"
            )
        if wait.phase >= 0 and not wait.again:
            return (
                f"let {at} wait for the slot's empty mbarrier (`pipeline.producer_acquire`), where this thread arrives "
                f"after {here}: {self._line(wait.site)} waits for phase {wait.phase} of the full one, the {noun} is "
                f"for phase {flight.phase}"
            )
        return f"{fix} before {here}, phase {flight.phase} (parity {flight.phase & 1}); {self._late(wait)}"

    def fix_of_second_copy(self, at: str, here: str) -> str:
        """Of a copy into memory that another copy, at `at`, still fills."""
        empty = f"let {here} wait for the slot's empty mbarrier (`pipeline.producer_acquire`)"
        if self.ctx.other_block != self.ctx.block:
            return (
                f"{empty}; the threads of each block that the copies are for arrive there once the one at {at} has "
                "been read (mapa, mbarrier.arrive.release.cluster), and its mbarrier.init counts them all"
            )
        return f"{empty}; who reads the slot arrives there once the copy at {at} has been read, if both go to one place"

    def other_waited(self) -> bool:
        """Whether the other thread has waited at an mbarrier of its block."""
        slots = self.order.slots.values() if self.order is not None else ()
        return any(
            slot.block == self.ctx.other_block and self.ctx.other_thread in slot.of(Shared).last_wait for slot in slots
        )

    def has_waited(self) -> bool:
        """Whether the thread that was stopped has waited at the mbarrier that the copy signals."""
        flight = self._flight()
        one = self.order.of(Mbarriers).mbarriers.get(flight.barrier) if flight is not None else None
        return one is not None and self.ctx.thread in one.waits

    def _late(self, wait: Wait) -> str:
        if wait.phase < 0:
            return f"the wait at {self._line(wait.site)} is for parity 1, which a new mbarrier passes at once"
        phase = f"phase {wait.phase} (parity {wait.phase & 1})"
        return f"the wait at {self._line(wait.site)} is for {phase}, which the thread had waited for before"

    def fix_of_slot(self, at: str, here: str) -> str:
        """Of a copy into a slot that a thread still reads, or has written, at `at`."""
        ctx = self.ctx
        empty = f"let {here} wait for the slot's empty mbarrier (`pipeline.producer_acquire`)"
        if self.order is None:
            return f"{empty}; who reads or writes the slot arrives there after {at}"
        whose = next(slot for slot in self.order.slots.values() if slot.block == ctx.other_block)
        last = whose.of(Shared).last_wait.get(ctx.other_thread)
        wait = last.waits[ctx.other_thread] if last is not None else None
        if wait is not None and (wait.again or wait.phase < 0):
            full = f"let the thread at {at} wait for the next phase of the full mbarrier (`pipeline.consumer_wait`)"
            return f"{full}; {self._late(wait)}"
        if wait is None and not ctx.other_kind & access.WRITE:
            return (
                f"let the thread at {at} wait for the full mbarrier of the slot (`pipeline.consumer_wait`); if it "
                f"reads what was there before, {empty}"
            )
        mine = self.order.slot_of(self.launch.slot.address).of(Shared).last_wait.get(ctx.thread)
        if (
            mine is not None
            and not mine.begun
            and (lane := mine.lane_for(ctx.other_block, ctx.other_thread)) is not None
            and not self._meets_before(mine, lane)
        ):
            return (
                f"lane {lane} arrives at the empty mbarrier for its warp: put a barrier of the warp (bar.warp.sync, "
                f"`cute.arch.sync_warp`) between {at} and that arrival"
            )
        if ctx.other_block != ctx.block:
            return (
                f"{empty}; the threads of each block that the copy is for arrive there after {at} (mapa, "
                "mbarrier.arrive.release.cluster), and its count has them all"
            )
        return f"{empty}; who reads or writes the slot arrives there after {at}"

    def _meets_before(self, one: Mbarrier, lane: int) -> bool:
        """Whether a barrier of the warp is between the other access and the arrival of this lane of its warp."""
        site = one.turns.sites.get((self.ctx.other_block, (self.ctx.other_thread & ~31) + lane))
        if site is None:
            return False
        ranks = self.launch.code.ranks
        low, high = ranks[self.ctx.other_site], ranks[site]
        barriers = (n for n, each in enumerate(self.launch.code.sites) if each.traits & BARRIER and "warp" in each.mods)
        return any(low < ranks[n] < high for n in barriers)

    def _flight(self) -> Flight | None:
        """The copy that the other thread began, where it is one into the memory that this thread touches."""
        owner = cluster_report.owner_of(self.launch, self.ctx.address)
        if owner is None or self.order is None:
            return None
        ctx = self.ctx
        flights = (
            each
            for each in reversed(self.order.slot_of(owner[0].address).of(Shared).copies)
            if (each.slot.block, each.thread, each.site) == (ctx.other_block, ctx.other_thread, ctx.other_site)
            and each.address <= ctx.address < each.address + each.size_bytes
        )
        return next(flights, None)

    def _line(self, site: int) -> str:
        instr = self.launch.code.sites[site]
        there = frames.place_of(self.launch, instr)
        if there is None:
            return f"PTX line {instr.line}"
        return f"line {there.line}" if self.place and there.file == self.place.file else f"{there.file}:{there.line}"
