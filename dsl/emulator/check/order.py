"""What is ordered before what: labels of threads, and who has seen the end of which.

PTX ISA, memory consistency model. The code of a thread is cut into stretches, each with a label that no other stretch
of its block begun later has; a thread begins a new one when it releases, that is when others may learn of what it did.

- A barrier that all running threads of the block wait at begins a new epoch: one number, kept by native code. Threads
  that have exited count as having come.
- bar.sync and bar.arrive of some threads, bar.warp.sync and mbarriers order those that came before those that waited.
  Shuffles, votes, matches and redux order nothing: they move registers.
- A release (st.release, atom.release, or a fence and then a strong write) is ordered before the acquire that reads what
  it wrote (ld.acquire, atom.acquire, or a strong read and then a fence). Where one of both is .cta, only in its block.
- Two fence.sc are ordered too, if an access shows which is the earlier: sc_fences.py.
- A strong write is ordered before what runs by a read that observed it, at its place alone: observed_writes.py.

A clock is {block: the last label seen of each of its threads}. What a thread knows of its own block is a row of a
matrix that native code reads; what it learnt of other blocks is kept as facts, and whoever has seen the end of the
stretch in which a thread learnt one knows it too.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections import deque
from operator import itemgetter

import numpy as np

from dsl.emulator.check.cluster_order import ClusterOrder, Mbarrier, joined, later
from dsl.emulator.check.divergence import Divergence
from dsl.emulator.check.numbers import other_kind
from dsl.emulator.check.observed_writes import ObservedWrites
from dsl.emulator.check.sc_fences import ScFences
from dsl.emulator.families.barrier.check import Generations
from dsl.emulator.families.bulk.check import Flight
from dsl.emulator.families.warpgroup.check import GENERIC_STORES, WgmmaReads
from dsl.emulator.machine import context

SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64
)
LANDED = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32)
# What ORDER_ACCESS says of an access, as bits.
READS, WRITES, ACQUIRES, RELEASES, CTA, MODIFIES = 1, 2, 4, 8, 16, 32


class Place:
    """Memory by which threads synchronise: the clocks that readers in a block, and in any block, take over."""

    def __init__(self) -> None:
        self.near: dict[int, dict] = {}
        self.far: dict = {}
        self.version = 0


class SeenAbroad:
    """What a thread knows of other blocks: clocks, and for each block the last labels that one of them has."""

    def __init__(self, clocks: list[dict]) -> None:
        self.clocks = clocks
        self._labels: dict[int, np.ndarray | None] = {}

    def labels(self, block: int) -> np.ndarray | None:
        """By thread of the block; None where nothing is known of it."""
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
        self.labels = np.ctypeslib.as_array((ctypes.c_uint32 * n).from_address(ctx.labels))
        known = (ctypes.c_uint32 * (n * n)).from_address(ctx.known) if ctx.known else np.zeros(n * n, np.uint32)
        self.known = np.asarray(known).reshape(n, n)
        self.met_apart: tuple[list[int], list[int]] = [], []  # threads that check/divergence.py has found
        self.of_wgmma = [
            np.ctypeslib.as_array((ctypes.c_uint32 * n).from_address(array)) if array else np.zeros(n, np.uint32)
            for array in (ctx.matrix_known, ctx.proxied)
        ]
        self.begin()

    def begin(self) -> None:
        """Forget what belongs to an earlier block."""
        self.block = self.ctx.block
        self.facts: dict[
            int, list[tuple[int, dict]]
        ] = {}  # by thread: (label, all it knows of other blocks from there)
        self.folded = 0  # the epoch before which all facts are in `common`
        self.learnt: tuple[dict, dict] = {}, {}  # what was learnt last, and what of it is about other blocks
        self.generations = Generations(self)
        self.common: dict = {}  # what all threads know of other blocks
        self.seen_abroad: dict[int, SeenAbroad] = {}  # by thread, until it learns more
        self.visitors: dict[tuple[int, int], tuple] = {}  # (block, thread) -> its last access to this shared memory
        self.releases: dict[int, int] = {}  # by thread: its arrivals at mbarriers
        self.last_wait: dict[int, Mbarrier] = {}  # by thread: where it last waited for a phase
        self.stores: dict[int, int] = {}  # by thread: the site of its last bulk store
        self.copies: deque[Flight] = deque(maxlen=256)  # the last ones into this shared memory
        self.flights: list[Flight] = []  # copies into this shared memory that no thread of the block has waited for
        self.fences: dict[int, tuple[dict, bool]] = {}
        self.pending: dict[int, tuple[dict, dict]] = {}
        self.acquired: dict[tuple, int] = {}
        self.wgmma = WgmmaReads(self, *self.of_wgmma)

    def seen(self, thread: int) -> np.ndarray:
        """The last label of each thread of the block whose end this thread has seen, its own included."""
        row = np.maximum(self.known[thread], self.ctx.epoch - 1)
        row[thread] = max(self.labels[thread], self.ctx.epoch)
        return row

    def step(self, *threads: int) -> None:
        """New labels."""
        self.ctx.now += 1
        for thread in threads:
            self.labels[thread] = self.ctx.now

    def abroad(self, thread: int) -> SeenAbroad:
        """What this thread knows of other blocks.

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
        """The thread has seen all that `clocks` say."""
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

    def learn_together(self, clocks: dict) -> None:
        """All threads have seen all that `clocks` say of other blocks."""
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
        self.maps: dict[int, tuple[int, int, int, set]] = {}  # by address: who changed it where, and fenced for whom
        self.map_fences: dict[tuple[int, int], dict] = {}  # by (block, address): what its fences of a map have seen
        self.left: list[tuple[int, int, int]] = []  # bulk stores that (block, thread) has not waited for, by site
        self.callback = SIGNATURE(self.event)
        self.address = ctypes.cast(self.callback, ctypes.c_void_p).value
        self.failed = failed
        clusters = self.clusters = ClusterOrder(self.slot_of, LANDED(landed), sites)
        self._rows = {
            context.ORDER_ACROSS: self._across, context.ORDER_BARRIER: self._barrier,
            context.ORDER_GENERATION: self._generation,
            context.ORDER_WARP_MEETING: divergence.warp,
            context.ORDER_BLOCK_MEETING: lambda slot, _, number, __: divergence.block(slot, number),
            context.ORDER_ARRIVE: self._arrive, context.ORDER_WARP: self._warp,
            context.ORDER_MB_INIT: clusters.init, context.ORDER_MB_INVAL: clusters.end,
            context.ORDER_MB_ARRIVE: clusters.arrive_at,
            context.ORDER_MB_WAIT: clusters.wait_at, context.ORDER_FENCE: self._fence,
            context.ORDER_ACCESS: self._access, context.ORDER_OBSERVES: self._observes,
            context.ORDER_OBSERVED: self._observed, context.ORDER_MB_LANDED: clusters.landed,
            context.ORDER_MAP_CHANGED: self._map_changed, context.ORDER_MAP_FENCED: self._map_fenced,
            context.ORDER_BULK_STORE: self._bulk_store, context.ORDER_BULK_LEFT: self._bulk_left,
            context.ORDER_MAP_USED: self._map_used, context.ORDER_MAP_STORED: self._map_stored,
            context.ORDER_CLUSTER_ARRIVE: clusters.arrive, context.ORDER_CLUSTER_DONE: clusters.complete,
            context.ORDER_CLUSTER_WAIT: clusters.wait, context.ORDER_INIT_FENCE: clusters.fence_init,
            context.ORDER_VISIT: clusters.access, context.ORDER_EXIT: self._exit, context.ORDER_COPY: clusters.copy,
            context.ORDER_WGMMA: lambda slot, thread, group, site: slot.wgmma.begins(thread, group, site),
            context.ORDER_WGMMA_WAIT: lambda slot, thread, complete, _: slot.wgmma.waits(thread, complete),
            context.ORDER_WGMMA_DONE: self._wgmma_done,
            context.ORDER_WGMMA_ACROSS: lambda slot, thread, where, what: slot.wgmma.has_seen(thread, where, what),
            context.ORDER_PROXY: lambda slot, thread, *_: slot.wgmma.fenced(thread),
            context.ORDER_GENERIC: lambda slot, thread, site, _: self.sites[site].opcode in GENERIC_STORES,
        }  # fmt: skip

    def event(self, address: int, what: int, thread: int, a: int, b: int) -> int:
        try:
            return self._rows[what](self.slot_of(address), thread, a, b) or 0
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

    def _wgmma_done(self, slot: Slot, thread: int, group: int, owner: int) -> int:
        return self.slot_of(owner).wgmma.is_done(slot, thread, group)

    # ** threads of a block

    def _barrier(self, slot: Slot, _: int, number: int, __: int) -> None:
        """A barrier that some threads wait at is complete."""
        masks, base = slot.ctx.at_barrier, number * context.MAX_WARPS
        came = {w: masks[base + w] for w in range(slot.ctx.warps) if masks[base + w]}
        waiters = [32 * w + lane for w, mask in came.items() for lane in range(32) if mask >> lane & 1]
        more = slot.generations.complete(number)
        self._tell_apart(slot)
        more = np.zeros(slot.threads, np.uint32) if more is None else more
        left = [32 * w + lane for w in came for lane in range(32) if slot.ctx.exited[w] >> lane & 1]
        more[left] = np.maximum(slot.labels[left], slot.ctx.epoch)
        self._meet(slot, waiters, more)

    def _generation(self, slot: Slot, _: int, number: int, __: int) -> None:
        """A barrier that all threads wait at is complete, which may not be so in another order."""
        slot.generations.complete(number)
        self._tell_apart(slot)

    def _arrive(self, slot: Slot, thread: int, number: int, site: int) -> None:
        slot.generations.arrive(thread, number, site)
        self._tell_apart(slot)
        slot.step(thread)

    def _tell_apart(self, slot: Slot) -> None:
        while slot.generations.apart:
            self.divergence.apart(slot, *slot.generations.apart.pop())

    def _warp(self, slot: Slot, warp: int, mask: int, _: int) -> None:
        self._meet(slot, [32 * warp + lane for lane in range(32) if mask >> lane & 1])

    def _exit(self, slot: Slot, *_: int) -> None:
        slot.generations.note_unawaited(self.sites)
        self.clusters.exit(slot)

    @staticmethod
    def _meet(slot: Slot, threads: list[int], more: np.ndarray | None = None) -> None:
        if not threads:
            return
        together = slot.known[threads].max(axis=0)
        together[threads] = np.maximum(slot.labels[threads], slot.ctx.epoch)
        if more is not None:
            together = np.maximum(together, more)
        slot.known[threads] = together
        slot.forget(threads)
        slot.step(*threads)

    # ** bulk stores

    @staticmethod
    def _bulk_store(slot: Slot, thread: int, site: int, _: int) -> None:
        slot.stores[thread] = site

    def _bulk_left(self, slot: Slot, thread: int, *_: int) -> None:
        """A thread ends, and its last bulk store may still read shared memory."""
        self.left.append((slot.block, thread, slot.stores[thread]))

    # ** tensor maps that kernels change

    def _map_changed(self, slot: Slot, thread: int, address: int, site: int) -> None:
        self.maps[address] = (slot.block, thread, site, set())

    def _map_fenced(self, slot: Slot, thread: int, address: int, _: int) -> None:
        if address in self.maps:
            self.maps[address][3].add(slot.block)
        key = slot.block, address
        self.map_fences[key] = joined(self.map_fences.get(key, {}), slot.clock(thread))

    def _map_stored(self, slot: Slot, thread: int, where: int, what: int) -> int:
        """Whether no thread of this block has fenced the map at `ctx.address` since it saw what lanes of a warp stored
        to it."""
        block, first, label, mask = where >> 5, 32 * (where & 31), what >> 32, what & 0xFFFFFFFF
        labels = self.map_fences.get((slot.block, slot.ctx.address), {}).get(block)
        return int(labels is None or any(mask >> lane & 1 and labels[first + lane] < label for lane in range(32)))

    def _map_used(self, slot: Slot, thread: int, address: int, _: int) -> int:
        """Whether the map was changed and no thread of this block has fenced it since; then by whom, for a fault."""
        block, who, site, fenced = self.maps.get(address, (0, 0, 0, {slot.block}))
        if slot.block in fenced:
            return 0
        ctx = slot.ctx
        ctx.other_block, ctx.other_thread, ctx.other_site, ctx.other_kind = block, who, site, other_kind.OF_MAP
        return 1

    # ** by memory

    def _fence(self, slot: Slot, thread: int, cta: int, is_sc: int) -> None:
        near, far = slot.pending.pop(thread, ({}, {}))
        clocks = near if cta else joined(near, far)
        if is_sc:
            clocks = joined(clocks, self.sc_fences.learnt((slot.block, thread), bool(cta)))
        if clocks:
            slot.learn(thread, clocks)
        slot.step(thread)  # the label says when it released, too
        slot.fences[thread] = slot.clock(thread), bool(cta)
        if is_sc:
            self.sc_fences.fenced((slot.block, thread), *slot.fences[thread])
        slot.step(thread)

    def _access(self, slot: Slot, thread: int, address: int, how: int) -> None:
        """A strong access, before it is made."""
        key = self._key(slot, address)
        self.sc_fences.access((slot.block, thread), key, bool(how & READS), bool(how & WRITES))
        place = self.places.get(key)
        if place is None:
            if not how & WRITES:
                return
            place = self.places[key] = Place()
        if how & READS:
            self._read(slot, thread, key, place, how)
        if how & WRITES:
            self._write(slot, thread, place, how)

    def _key(self, slot: Slot, address: int) -> tuple:
        """What names a place: shared memory of a block is another one's later."""
        owner = self.clusters.owner(slot, address)
        return (owner.block if owner is not None else None, address)

    def _observes(self, slot: Slot, thread: int, address: int, what: int) -> None:
        self.observed.access(slot, thread, self._key(slot, address), what)

    def _observed(self, slot: Slot, thread: int, address: int, what: int) -> int:
        """Whether the strong writes that lanes of another warp made are before this access; who, as ctx has it."""
        ctx, key = slot.ctx, self._key(slot, address)
        label, mask = what >> 32, what & 0xFFFFFFFF
        writers = [(ctx.other_block, ctx.other_thread + lane, label) for lane in range(32) if mask >> lane & 1]
        return int(all(self.observed.has_observed(slot, thread, key, each, ctx.other_kind) for each in writers))

    @staticmethod
    def _read(slot: Slot, thread: int, key: tuple, place: Place, how: int) -> None:
        if slot.acquired.get((thread, key, how & ACQUIRES)) == place.version:
            return
        slot.acquired[thread, key, how & ACQUIRES] = place.version
        near, far = place.near.get(slot.block, {}), {} if how & CTA else place.far
        if how & ACQUIRES:
            clocks = joined(near, far)
            if clocks:
                slot.learn(thread, clocks)
        else:
            before = slot.pending.get(thread, ({}, {}))
            slot.pending[thread] = joined(before[0], near), joined(before[1], far)

    @staticmethod
    def _write(slot: Slot, thread: int, place: Place, how: int) -> None:
        if how & RELEASES:
            slot.step(thread)
            clocks, cta = slot.clock(thread), bool(how & CTA)
            slot.step(thread)
        else:
            clocks, cta = slot.fences.get(thread, ({}, False))
            cta = cta or bool(how & CTA)
        near = {slot.block: clocks} if clocks else {}
        far = clocks if clocks and not cta else {}
        if how & MODIFIES:
            near = place.near | {slot.block: joined(place.near.get(slot.block, {}), clocks)}
            far = joined(place.far, far)
        place.near, place.far = near, far
        place.version += 1

    def _across(self, slot: Slot, thread: int, where: int, what: int) -> int:
        """The lanes of `what` in another block's warp whose stretch this thread has not seen the end of."""
        block, first, label, mask = where >> 5, 32 * (where & 31), what >> 32, what & 0xFFFFFFFF
        if label == 0xFFFFFFFF:
            return mask
        labels = slot.abroad(thread).labels(block)
        if labels is None:
            return mask
        ended = np.packbits(labels[first : first + 32] >= label, bitorder="little")
        return mask & ~int.from_bytes(ended.tobytes(), "little")
