"""The order of accesses: labels of threads, and which threads have seen their end.

PTX ISA, memory consistency model. The code of a thread is cut into stretches, each with a label that no other stretch
of its block begun later has; a thread begins a new one when it releases, that is when others may learn of what it did.

- A barrier that all running threads of the block wait at begins a new epoch: one number, kept by native code. Threads
  that have exited count as having come.
- bar.sync and bar.arrive of some threads, bar.warp.sync and mbarriers order those that came before those that waited.
  Shuffles, votes, matches and redux pass on what a lane has acquired, and nothing of what the lanes did themselves.
- A release (st.release, atom.release, or a fence and then a strong write) is ordered before the acquire that reads what
  it wrote (ld.acquire, atom.acquire, or a strong read and then a fence), if each is in the scope of the other.
- elect.sync orders the execution of its lanes, not their writes: what they had read before it, they had read.
- Two fence.sc are ordered too, if an access shows which is the earlier: sc_fences.py.
- A strong write is ordered before what runs by a read that observed it, at its place alone: observed_writes.py.

A clock is {block: the last label seen of each of its threads}, of memory and of execution (clocks.py). The knowledge of
a thread about its block is a row of a matrix that native code reads; its knowledge about other blocks is kept as facts,
and a thread that has seen the end of the stretch in which another thread learnt a fact knows it too.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np

from dsl.emulator import families
from dsl.emulator.check.clocks import Known, execution_only, joined, later
from dsl.emulator.check.divergence import Divergence
from dsl.emulator.check.numbers import scope
from dsl.emulator.check.observed_writes import ObservedWrites
from dsl.emulator.check.ordering import GLOBAL, SHARED
from dsl.emulator.check.sc_fences import ScFences
from dsl.emulator.machine import context

Kept = TypeVar("Kept")
SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64
)
LANDED = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32)
# Bits of ORDER_ACCESS about an access.
READS, WRITES, ACQUIRES, RELEASES, MODIFIES, SCOPE_SHIFT, SCOPE_MASK = 1, 2, 4, 8, 16, 5, 3  # above it: of `scope`
# Above SIZE_SHIFT its bytes; of ORDER_OLD whether its loop counts, and above SITE_SHIFT its site.
SIZE_SHIFT, COUNTED, SITE_SHIFT = 8, 1 << 16, 20
UNASKED = 1 << 17  # an atomic whose result nobody reads


class Place:
    """Memory by which threads synchronise: the clocks that its readers take over."""

    def __init__(self) -> None:
        self.known, self.version = Known(), 0


class SeenAbroad:
    """The knowledge of a thread about other blocks: clocks, and for each block the last labels that one of them has."""

    def __init__(self, clocks: list[dict]) -> None:
        self.clocks = clocks
        self._labels: dict[int, np.ndarray | None] = {}

    def labels(self, block: int) -> np.ndarray | None:
        """The last label of each thread of the block; None if nothing is known of the block."""
        if block not in self._labels:
            rows = [clocks[block] for clocks in self.clocks if block in clocks]
            self._labels[block] = np.maximum.reduce(rows) if rows else None
        return self._labels[block]


class Slot:
    """The threads of the block that runs in a slot."""

    def __init__(self, address: int):
        ctx = self.ctx = context.Context.from_address(address)
        self.address = address
        n = self.threads = ctx.threads
        self.labels = self.array_at(ctx.labels)
        size = 2 * n * n
        known = (ctypes.c_uint32 * size).from_address(ctx.known) if ctx.known else np.zeros(size, np.uint32)
        self.known = np.asarray(known).reshape(n, 2 * n)
        self.met_apart: tuple[list[int], list[int]] = [], []  # threads that check/divergence.py has found
        self.proxied = self.array_at(ctx.proxied)  # by thread: the last label whose writes the async proxy sees
        self.begin()

    def begin(self) -> None:
        """Forget what belongs to an earlier block."""
        self.block = self.ctx.block
        row, x = divmod(self.block, self.ctx.grid[0])
        place = (x, row % self.ctx.grid[1], row // self.ctx.grid[1])
        self.cluster = tuple(n // size for n, size in zip(place, self.ctx.cluster))
        self.facts: dict[
            int, list[tuple[int, dict]]
        ] = {}  # by thread: (label, all it knows of other blocks from there)
        self.folded = 0  # the epoch before which all facts are in `common`
        self.learnt: tuple[dict, dict] = {}, {}  # what was learnt last, and what of it is about other blocks
        self.common: dict = {}  # what all threads know of other blocks
        self.seen_abroad: dict[int, SeenAbroad] = {}  # by thread, until it learns more
        self._kept: dict[type, Any] = {}
        self.fences: dict[int, tuple[dict, int]] = {}  # by thread: what it knew at its last fence, and the scope
        self.pending: dict[int, Known] = {}  # by thread: what it learns at its next fence
        self.ctx.learnt[:] = [0] * len(self.ctx.learnt)
        self.acquired: dict[tuple, int] = {}

    def of(self, kind: type[Kept]) -> Kept:
        """The state that a family keeps of the block: a `kind`, made from the slot at the first call."""
        if kind not in self._kept:
            self._kept[kind] = kind(self)  # type: ignore[call-arg]
        return self._kept[kind]

    def array_at(self, address: int) -> np.ndarray:
        """The array of native code there: a number for each thread of the block. Zeros if the address is 0."""
        kind = ctypes.c_uint32 * self.threads
        return np.ctypeslib.as_array(kind.from_address(address) if address else kind())

    def label(self, thread: int) -> int:
        """The label of the stretch that a thread is in now."""
        return max(int(self.labels[thread]), self.ctx.epoch)

    def seen(self, thread: int) -> np.ndarray:
        """The last label of each thread of the block whose end this thread has seen, its own included."""
        row = np.maximum(self.known[thread], self.ctx.epoch - 1)
        row[[thread, self.threads + thread]] = self.label(thread)
        return row

    def has_come(self, thread: int, block: int, other: int, label: int) -> bool:
        """Whether a thread knows that another one, of some block, has come as far as a label."""
        if block == self.block:
            return bool(self.seen(thread)[self.threads + other] >= label)
        labels = self.abroad(thread).labels(block)
        return labels is not None and bool(labels[self.threads + other] >= label)

    def of_others(self) -> dict:
        """All that some thread of the block knows of other blocks."""
        clocks = self.common
        for rows in self.facts.values():
            clocks = later(rows[-1][1], clocks)
        return clocks

    def groups(self, scope: int) -> tuple:
        """The groups of threads in a scope: all that know of what a thread of the block does with this scope."""
        return (("block", self.block), ("cluster", *self.cluster), ("all",))[: scope + 1]

    def step(self, *threads: int) -> None:
        """New labels."""
        self.ctx.now += 1
        for thread in threads:
            self.labels[thread] = self.ctx.now

    def abroad(self, thread: int) -> SeenAbroad:
        """The knowledge of this thread about other blocks.

        It changes where the thread learns something, where an epoch begins and where all learn together: what another
        thread learns later has a label that this one has not seen.
        """
        epoch = self.ctx.epoch
        if epoch != self.folded:
            self._fold(epoch)
        seen = self.seen_abroad.get(thread)
        if seen is None:
            seen = self.seen_abroad[thread] = SeenAbroad(self._visible(thread))
        return seen

    def forget(self, threads: list[int]) -> None:
        """These threads know more of their block now, and with it of others."""
        for thread in threads:
            self.seen_abroad.pop(thread, None)

    def _visible(self, thread: int) -> list[dict]:
        clocks = {id(self.common): self.common} if self.common else {}
        known = self.known[thread].tolist()
        for other, rows in self.facts.items():
            # its facts have rising labels
            seen = len(rows) if other == thread else bisect_right(rows, known[other], key=itemgetter(0))
            if seen:
                clocks[id(rows[seen - 1][1])] = rows[seen - 1][1]
            ran = bisect_right(rows, known[self.threads + other], seen, key=itemgetter(0))
            if ran > seen:
                clocks[id(rows[ran - 1])] = execution_only(rows[ran - 1][1])
        return list(clocks.values())

    def _fold(self, epoch: int) -> None:
        """All threads know what one of them learnt before the epoch began."""
        self.folded = epoch
        self.seen_abroad.clear()
        for thread, rows in list(self.facts.items()):
            before = [clocks for label, clocks in rows if label < epoch]
            if before:
                self.common = later(before[-1], self.common)
                self.facts[thread] = rows[len(before) :]
                if not self.facts[thread]:
                    del self.facts[thread]

    def clock(self, thread: int) -> dict:
        """All that a release of this thread makes known."""
        times: dict = {}
        for clocks in self.abroad(thread).clocks:
            times = joined(times, clocks)
        return times | {self.block: self.seen(thread)}

    def learn(self, thread: int, clocks: dict) -> None:
        """The thread has seen all that is in `clocks`."""
        own = clocks.get(self.block)
        if own is not None:
            np.maximum(self.known[thread], own, out=self.known[thread])
        self.step(thread)
        self.forget([thread])
        if clocks is not self.learnt[0]:
            self.learnt = clocks, {block: labels for block, labels in clocks.items() if block != self.block}
        rest = self.learnt[1]
        if rest:
            rows = self.facts.setdefault(thread, [])
            # what others saw of this thread's earlier facts stays
            rows.append((int(self.ctx.now), later(rest, rows[-1][1]) if rows else rest))

    def meet(self, threads: list[int], more: np.ndarray | None = None) -> None:
        """Some threads have seen all that each of them had, and `more` of the block."""
        if not threads:
            return
        together = self.known[threads].max(axis=0)
        self.mark(together, threads)
        if more is not None:
            together = np.maximum(together, more)
        self.known[threads] = together
        self.forget(threads)
        self.step(*threads)

    def mark(self, labels: np.ndarray, threads: list[int]) -> None:
        """Write into a clock of the block that these threads have come as far as they are now."""
        now = np.maximum(self.labels[threads], self.ctx.epoch)
        labels[threads] = now
        labels[[self.threads + thread for thread in threads]] = now

    def come(self, threads: list[int]) -> None:
        """Some threads have seen that the others have come so far, and nothing of their writes."""
        n = self.threads
        ran = self.known[threads, n:].max(axis=0)
        ran[threads] = np.maximum(self.labels[threads], self.ctx.epoch)
        self.known[threads, n:] = ran
        self.forget(threads)
        self.step(*threads)

    def learn_together(self, clocks: dict) -> None:
        """All threads have seen all that is in `clocks` about other blocks."""
        self.common = later(clocks, self.common)
        self.seen_abroad.clear()
        self.facts = {
            thread: rows for thread, rows in self.facts.items() if later(self.common, rows[-1][1]) is not self.common
        }

    def report(self, status: int, thread: int, address: int, site: int, detail: int = 0) -> None:
        """End the launch with a finding."""
        ctx = self.ctx
        if not ctx.status:
            ctx.status, ctx.thread, ctx.address, ctx.site, ctx.detail = status, thread, address, site, detail


class Order:
    """The order of one launch. `event` is what native code calls; it never raises. `landed` is the address of
    emu_race_landed."""

    def __init__(self, failed, sites, landed: int, divergence: Divergence) -> None:
        self.sites, self.divergence = sites, divergence
        self.slots: dict[int, Slot] = {}
        self.places: dict[tuple, Place] = {}
        self.observed, self.sc_fences = ObservedWrites(), ScFences()
        self.callback = SIGNATURE(self.event)
        self.address = ctypes.cast(self.callback, ctypes.c_void_p).value
        self.failed, self.race_landed = failed, LANDED(landed)
        self.proxied: dict = {}  # a clock: the writes to global memory that the async proxy sees
        self._kept: dict[type, Any] = {}
        self._rows: dict[int, tuple[Callable, ...]] = {
            context.ORDER_ACROSS: (self._across,), context.ORDER_WARP: (self._warp,),
            context.ORDER_WARP_MEETING: (divergence.warp,),
            context.ORDER_BLOCK_MEETING: (lambda slot, _, number, __: divergence.block(slot, number),),
            context.ORDER_FENCE: (self._fence,), context.ORDER_ACCESS: (self._access,),
            context.ORDER_OBSERVES: (self._observes,), context.ORDER_OBSERVED: (self._observed,),
            context.ORDER_PROXY: (self._proxy,), context.ORDER_UNPROXIED: (self._unproxied,),
        }  # fmt: skip
        for events in families.named("check", "events"):
            for event, handler in events(self).items():
                self._rows[event] = *self._rows.get(event, ()), handler

    def of(self, kind: type[Kept]) -> Kept:
        """The state that a family keeps of the launch: a `kind`, made from the order at the first call."""
        if kind not in self._kept:
            self._kept[kind] = kind(self)  # type: ignore[call-arg]
        return self._kept[kind]

    def event(self, address: int, what: int, thread: int, a: int, b: int) -> int:
        try:
            slot, answer = self.slot_of(address), 0
            for handler in self._rows[what]:
                answer = handler(slot, thread, a, b) or 0
            return answer
        except BaseException as error:
            self.failed(address, error)
            return 0

    def slot_of(self, address: int) -> Slot:
        """The slot whose context is at an address, its block the one that runs there now."""
        slot = self.slots.get(address)
        if slot is None:
            slot = self.slots[address] = Slot(address)
        if slot.block != slot.ctx.block:
            slot.begin()
        return slot

    def members(self, slot: Slot) -> list[Slot]:
        """The slots of its cluster, its own first."""
        slots, address = [slot], slot.ctx.mate
        while address != slot.address:
            slots.append(self.slot_of(address))
            address = slots[-1].ctx.mate
        return slots

    def owner(self, slot: Slot, address: int) -> Slot | None:
        """The slot of the cluster in whose shared memory an address is."""
        if 0 <= address - slot.ctx.smem < slot.ctx.smem_bytes:
            return slot
        inside = (s for s in self.members(slot) if 0 <= address - s.ctx.smem < s.ctx.smem_bytes)
        return next(inside, None)

    @staticmethod
    def _warp(slot: Slot, warp: int, mask: int, is_election: int) -> None:
        lanes = [32 * warp + lane for lane in range(32) if mask >> lane & 1]
        (slot.come if is_election else slot.meet)(lanes)

    # ** by memory

    def _fence(self, slot: Slot, thread: int, scope: int, is_sc: int) -> None:
        groups = slot.groups(scope)
        clocks = slot.pending.pop(thread, Known()).seen_by(groups)
        if is_sc:
            clocks = joined(clocks, self.sc_fences.learnt(slot, thread, groups))
        if clocks:
            slot.learn(thread, clocks)
        slot.step(thread)  # the label shows when it released, too
        slot.fences[thread] = slot.clock(thread), scope
        if is_sc:
            self.sc_fences.fenced(slot, thread, slot.fences[thread][0], groups)
        slot.step(thread)

    def _proxy(self, slot: Slot, thread: int, spaces: int, _: int) -> None:
        """fence.proxy.async: the async proxy sees in these state spaces all that the thread has seen."""
        if spaces & SHARED:
            np.maximum(slot.proxied, slot.seen(thread)[: slot.threads], out=slot.proxied)
        if spaces & GLOBAL:
            self.proxied = later(slot.clock(thread), self.proxied)
        slot.step(thread)

    def _unproxied(self, slot: Slot, thread: int, where: int, what: int) -> int:
        """Whether lanes of `what` in a block's warp wrote global memory that the async proxy does not see."""
        block, first, label, mask = where >> 5, 32 * (where & 31), what >> 32, what & 0xFFFFFFFF
        labels = self.proxied.get(block)
        return int(labels is None or any(mask >> lane & 1 and labels[first + lane] < label for lane in range(32)))

    def _access(self, slot: Slot, thread: int, address: int, how: int) -> None:
        """A strong access, before it is made."""
        if not how & (READS | WRITES):
            return
        key = self.key(slot, address)
        if how & UNASKED and not any((thread, key, acquires) in slot.acquired for acquires in (0, ACQUIRES)):
            how &= ~READS  # in another order it comes before the writes that it read here
        self.sc_fences.access(slot, thread, slot.groups(scope.ALL), key, bool(how & READS), bool(how & WRITES))
        place = self.places.get(key)
        if place is None:
            if not how & WRITES:
                return
            place = self.places[key] = Place()
        if how & READS:
            self._read(slot, thread, key, place, how)
        if how & WRITES:
            self._write(slot, thread, place, how)

    def key(self, slot: Slot, address: int) -> tuple:
        """The key of a place: shared memory of a block belongs to another block later."""
        owner = self.owner(slot, address)
        return (owner.block if owner is not None else None, address)

    def _observes(self, slot: Slot, thread: int, address: int, what: int) -> None:
        self.observed.access(slot, thread, self.key(slot, address), what)

    def _observed(self, slot: Slot, thread: int, address: int, what: int) -> int:
        """Whether the strong writes that lanes of another warp made are before this access; who, as ctx has it."""
        ctx, key = slot.ctx, self.key(slot, address)
        label, mask = what >> 32, what & 0xFFFFFFFF
        writers = [(ctx.other_block, ctx.other_thread + lane, label) for lane in range(32) if mask >> lane & 1]
        return int(all(self.observed.has_observed(slot, thread, key, each, ctx.other_kind) for each in writers))

    @staticmethod
    def _read(slot: Slot, thread: int, key: tuple, place: Place, how: int) -> None:
        if slot.acquired.get((thread, key, how & ACQUIRES)) == place.version:
            return
        slot.acquired[thread, key, how & ACQUIRES] = place.version
        slot.ctx.learnt[thread >> 5] |= 1 << (thread & 31)
        groups = slot.groups(how >> SCOPE_SHIFT & SCOPE_MASK)
        if how & ACQUIRES:
            if clocks := place.known.seen_by(groups):
                slot.learn(thread, clocks)
        else:
            slot.pending.setdefault(thread, Known()).take(place.known, groups)

    @staticmethod
    def _write(slot: Slot, thread: int, place: Place, how: int) -> None:
        if how & RELEASES:
            slot.step(thread)
            clocks, reach = slot.clock(thread), scope.ALL
            slot.step(thread)
        else:
            clocks, reach = slot.fences.get(thread, ({}, scope.ALL))
        if not how & MODIFIES:
            place.known = Known()
        place.known.add(slot.groups(min(reach, how >> SCOPE_SHIFT & SCOPE_MASK)), clocks)
        place.version += 1

    def _across(self, slot: Slot, thread: int, where: int, what: int) -> int:
        """The lanes of `what` in another block's warp whose stretch this thread has not seen the end of.

        `where` has its top bit set if they only read: then the order of execution is enough.
        """
        only_read, where = where >> 63, where & (1 << 63) - 1
        block, first, label, mask = where >> 5, 32 * (where & 31), what >> 32, what & 0xFFFFFFFF
        if label == 0xFFFFFFFF:
            return mask
        labels = slot.abroad(thread).labels(block)
        if labels is None:
            return mask
        lanes = labels[slot.threads * only_read :][first : min(first + 32, slot.threads)]
        ended = np.packbits(lanes >= label, bitorder="little")
        return mask & ~int.from_bytes(ended.tobytes(), "little")


def marked(slots: Iterable, what: str) -> Iterator[tuple[str, Any]]:
    """A warning that native code has noted in a field of some slots, and the slot with the lowest block of them."""
    those = [each for each in slots if getattr(each.ctx, f"{what}_site")]
    if those:
        yield what, min(those, key=lambda each: getattr(each.ctx, f"{what}_block"))
