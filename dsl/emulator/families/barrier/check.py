"""Generations of named barriers: whether other warps could have made one complete than those that did.

PTX ISA, barrier: a barrier with a thread count is complete when so many threads have come, whoever they are, and can
then be used again. So a warp that comes to its next generation must come after every arrival at this one: else it may
be the earlier, and the two groups of warps mix. Whether it does is asked of the order of events (order.py), not of the
order in which the warps happened to come.

A warp's arrival is ordered after another's if one lane of it has seen that one lane of the other had come: an aligned
barrier brings the lanes of a warp together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dsl.emulator.check.order import marked
from dsl.emulator.machine import context
from dsl.emulator.ptx.syntax import Instr

# The mistake in a generation: `detail` of a report, above its barrier's number.
ALONE, EARLY, AGAIN, TOO_MANY = range(1, 5)
NUMBER_BITS = 8


class Arrival(NamedTuple):
    """A warp's arrival at a barrier: by thread of the warp the label, by thread of the block what it had seen then."""

    site: int
    waits: bool
    times: int
    labels: np.ndarray
    seen: np.ndarray


class Generations:
    """The named barriers of a block."""

    def __init__(self, slot) -> None:
        self.slot = slot
        self.arriving: dict[int, dict[int, Arrival]] = {}  # by number and warp: those that do not wait
        self.last: dict[int, dict[int, Arrival]] = {}  # the generation before
        self.apart: list[tuple] = []  # arrivals of one warp by two instructions: a site and its threads, twice

    def arrive(self, thread: int, number: int, site: int) -> None:
        """A thread comes and does not wait."""
        rows = self.arriving.setdefault(number, {})
        warp = thread // 32
        new = self._arrival([thread], site, False)
        old = rows.get(warp)
        if old is not None:
            times = old.times + bool(old.labels[thread % 32])
            if site != old.site and times == old.times:
                self.apart.append(((site, [thread]), (old.site, _threads(warp, old))))
            new = Arrival(old.site, False, times, np.maximum(old.labels, new.labels), np.maximum(old.seen, new.seen))
        rows[warp] = new

    def complete(self, number: int) -> np.ndarray | None:
        """Finish a generation of the barrier, and report it if other warps could have been in it. Returns the clocks of
        the warps that arrived without waiting, None if there are none."""
        ctx, base = self.slot.ctx, number * context.MAX_WARPS
        arrived = self.arriving.pop(number, {})
        rows = dict(arrived)
        for warp in range(ctx.warps):
            if mask := ctx.at_barrier[base + warp]:
                threads = [32 * warp + lane for lane in range(32) if mask >> lane & 1]
                rows[warp] = new = self._arrival(threads, ctx.wait_site[threads[0]], True)
                if warp in arrived and (others := set(_threads(warp, arrived[warp])) - {*threads}):
                    self.apart.append(((new.site, threads), (arrived[warp].site, sorted(others))))
        if ctx.barrier_count[number]:
            self._check(number, rows)
        else:
            self._check_order(number, rows)
        everybody = all(row.waits for row in rows.values()) and len(rows) == ctx.warps
        if everybody or not ctx.barrier_count[number]:
            self.last.pop(number, None)
            ctx.partial_barriers &= ~(1 << number)
        else:
            self.last[number] = rows
            ctx.partial_barriers |= 1 << number
        return np.maximum.reduce([row.seen for row in arrived.values()]) if arrived else None

    def note_unawaited(self, sites: list[Instr]) -> None:
        """The block ends: note an arrival that no instruction of the kernel can wait for."""
        ctx = self.slot.ctx
        for number, rows in self.arriving.items():
            if self._came(number, rows) >= ctx.barrier_count[number]:
                self._report(ALONE, number, rows, max(rows), rows, min(rows))
            if not ctx.lone_site and not any(_waits_at(each, number) for each in sites):
                warp, row = next(iter(rows.items()))
                ctx.lone_site, ctx.lone_number, ctx.lone_block = row.site + 1, number, self.slot.block
                ctx.lone_thread = _threads(warp, row)[0]

    def _arrival(self, threads: list[int], site: int, waits: bool) -> Arrival:
        slot = self.slot
        epoch, first = slot.ctx.epoch, threads[0] & ~31
        labels = np.zeros(32, np.uint32)
        labels[[thread - first for thread in threads]] = np.maximum(slot.labels[threads], epoch)
        seen = np.maximum(slot.known[threads].max(axis=0), epoch - 1)
        slot.mark(seen, threads)
        return Arrival(site, waits, 1, labels, seen)

    def _came(self, number: int, rows: dict[int, Arrival]) -> int:
        return 32 * len(rows) + self.slot.ctx.arrived_extra[number]

    def _check(self, number: int, rows: dict[int, Arrival]) -> None:
        ctx = self.slot.ctx
        if self._came(number, rows) > ctx.barrier_count[number]:
            first = next(iter(rows.values()))
            late = next((warp for warp, row in rows.items() if row.site != first.site), max(rows))
            again = next((warp for warp, row in rows.items() if row.times > 1), late)
            other = next((warp for warp, row in rows.items() if row.waits), min(rows))
            what = AGAIN if again != other and rows[again].times > 1 else TOO_MANY
            self._report(what, number, rows, again, rows, other)
        elif not any(row.waits for row in rows.values()):
            self._report(ALONE, number, rows, max(rows), rows, min(rows))
        self._check_order(number, rows)

    def _check_order(self, number: int, rows: dict[int, Arrival]) -> None:
        """Whether each of these warps came after every one of the generation before."""
        before = self.last.get(number, {})
        for warp, row in rows.items():
            for other, its in before.items():
                seen = row.seen[self.slot.threads + 32 * other :][:32]  # of execution
                if not np.any((its.labels[: len(seen)] != 0) & (seen >= its.labels[: len(seen)])):
                    self._report(AGAIN if warp in before else EARLY, number, rows, warp, before, other)
                    return

    def _report(self, what: int, number: int, rows: dict, warp: int, others: dict, other: int) -> None:
        """End the launch: `warp` of `rows` may be one of `others`. The report has masks of the warps like each."""
        slot, ctx = self.slot, self.slot.ctx
        mine, its = rows[warp], others[other]
        if ctx.status:
            return
        ctx.other_site, ctx.other_thread, ctx.other_block = its.site, 32 * other, slot.block
        ctx.other_kind = self._came(number, rows)
        ctx.access_bytes = _mask(others, its.site)
        slot.report(context.COLLISION, 32 * warp, _mask(rows, mine.site), mine.site, number | what << NUMBER_BITS)


class Barriers:
    """The named barriers of one launch."""

    def __init__(self, order):
        self.order = order

    def complete(self, slot, _: int, number: int, __: int) -> None:
        """A barrier that some threads wait at is complete."""
        masks, base = slot.ctx.at_barrier, number * context.MAX_WARPS
        came = {w: masks[base + w] for w in range(slot.ctx.warps) if masks[base + w]}
        waiters = [32 * w + lane for w, mask in came.items() for lane in range(32) if mask >> lane & 1]
        more = self.generation(slot, _, number, __)
        more = np.zeros(2 * slot.threads, np.uint32) if more is None else more
        left = [32 * w + lane for w in came for lane in range(32) if slot.ctx.exited[w] >> lane & 1]
        slot.mark(more, left)
        slot.meet(waiters, more)

    def generation(self, slot, _: int, number: int, __: int) -> np.ndarray | None:
        """A barrier that all threads wait at is complete, which may not be so in another order."""
        seen = slot.of(Generations).complete(number)
        self._tell_apart(slot)
        return seen

    def arrive(self, slot, thread: int, number: int, site: int) -> None:
        slot.of(Generations).arrive(thread, number, site)
        self._tell_apart(slot)
        slot.step(thread)

    def exit(self, slot, *_: int) -> None:
        slot.of(Generations).note_unawaited(self.order.sites)

    def _tell_apart(self, slot) -> None:
        apart = slot.of(Generations).apart
        while apart:
            self.order.divergence.apart(slot, *apart.pop())


def warnings(order, slots) -> Iterator[tuple[str, Any]]:
    """The findings that end no launch, each with the slot that it is about."""
    yield from marked(slots, "lone")


def events(order) -> dict:
    """The handlers of barriers for events of the order of a launch."""
    mine = Barriers(order)
    return {
        context.ORDER_BARRIER: mine.complete,
        context.ORDER_GENERATION: lambda *event: mine.generation(*event) is None,
        context.ORDER_ARRIVE: mine.arrive,
        context.ORDER_EXIT: mine.exit,
    }


def _value(body, instr: Instr) -> str:
    """The number of a barrier, and above it its count."""
    if "cluster" in instr.mods:
        return "0"
    first, *rest = instr.operands["red" in instr.mods :]
    value = body.resize(body.read(first, 32), 32, 64)
    if not rest or ("red" in instr.mods and len(rest) == 1):
        return value
    return body.or_(value, body.shl(body.resize(body.read(rest[0], 32), 32, 64), 32, "i64"), "i64")


TRAIL = {"bar": _value, "barrier": _value}


def _threads(warp: int, row: Arrival) -> list[int]:
    return [32 * warp + int(lane) for lane in np.flatnonzero(row.labels)]


def _waits_at(instr: Instr, number: int) -> bool:
    """Whether an instruction may wait at barrier `number`."""
    if instr.opcode not in ("bar", "barrier") or not {"arrive", "warp", "cluster"}.isdisjoint(instr.mods):
        return False
    operands = instr.text.partition(instr.mods[-1])[2].rstrip("; ").split(",")  # an Instr of stored code has only text
    which = operands["red" in instr.mods].strip()
    return not which.isdigit() or int(which) == number


def _mask(rows: dict[int, Arrival], site: int) -> int:
    return sum(1 << warp for warp, row in rows.items() if row.site == site)
