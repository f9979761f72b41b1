"""What orders blocks of a cluster: their barrier, mbarriers in each other's shared memory; and how long that memory is
there. PTX ISA 9.7.13.3, 9.7.13.15.

- barrier.cluster.arrive is a release and .wait an acquire; .arrive.relaxed gives only what a fence before it gave.
- An mbarrier is another block's to arrive at once its init is ordered before that, or once its thread has fenced
  (fence.mbarrier_init) and the cluster has met since, however relaxed.
- An access to a block's shared memory has to be ordered before the end of that block.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from dsl.emulator.families.bulk.check import Flight
from dsl.emulator.machine import context


def joined(clocks: dict, more: dict) -> dict:
    """The later of both, block by block. Clocks are never changed in place."""
    if not clocks or not more:
        return clocks or more
    result = dict(clocks)
    for block, labels in more.items():
        mine = result.get(block)
        result[block] = labels if mine is None else np.maximum(mine, labels)
    return result


def later(clocks: dict, older: dict) -> dict:
    """`joined`, and `clocks` itself where the older ones say nothing more."""
    if all(block in clocks and (clocks[block] is labels or (labels <= clocks[block]).all())
           for block, labels in older.items()):  # fmt: skip
        return clocks
    return joined(clocks, older)


@dataclass(frozen=True)
class Wait:
    """The last wait of a thread at an mbarrier: for which phase, where, how often the thread had arrived anywhere by
    then, and whether it had waited for that phase before it arrived last."""

    phase: int
    site: int
    releases: int
    again: bool


class Mbarrier:
    """`arrived`: what the arrivals made known; `ended`: what those did that came before its phase last ended."""

    def __init__(self, block: int, thread: int = 0, label: int = 0, site: int = 0):
        self.block, self.thread, self.label, self.site = block, thread, label, site  # of its init
        self.uses: dict[tuple[int, int], tuple[int, int]] = {}  # by (block, thread): the last one's label and site
        self.arrived: dict = {}
        self.ended: dict = {}
        self.fenced_at: int | None = None  # how often the cluster had met when its init was fenced
        self.seen_by: set[tuple[int, int]] = set()  # (block, thread) that have seen its init
        self.phase = 0  # the number of the phase that goes on
        self.begun: dict[tuple[int, int], deque[Flight]] = {}  # by (block, thread): copies that will signal it
        self.landed: list[Flight] = []  # in this phase
        self.complete: list[Flight] = []  # in those before, and no thread of the block has waited since
        self.waits: dict[int, Wait] = {}  # by thread of the block
        self.arrivers: set[tuple[int, int]] = set()  # (block, thread)

    def ends(self) -> None:
        """The phase has ended."""
        self.ended = self.arrived
        self.phase += 1
        self.complete += self.landed
        self.landed = []


@dataclass(frozen=True)
class Unfenced:
    """A copy of a thread that signals an mbarrier at an address, with no fence after the mbarrier.init."""

    block: int
    thread: int
    address: int
    site: int
    init_site: int


def _warp_of(thread: int, threads: int) -> range:
    first = thread & ~31
    return range(first, min(first + 32, threads))


def _label(slot, thread: int) -> int:
    """Of what a thread does now."""
    return max(int(slot.labels[thread]), slot.ctx.epoch)


class Barrier:
    """The barrier of the cluster that runs in some slots."""

    def __init__(self, block: int):
        self.block, self.phases = block, 0
        self.arrived: dict = {}
        self.complete: dict = {}
        self.all_wait: set[int] = set()  # blocks all of whose threads waited as it was completed


class ClusterOrder:
    """The clusters of one launch, one after another in each ring of slots. `slot_of` gives the Slot of an address;
    `race_landed` is native code."""

    def __init__(self, slot_of, race_landed, sites):
        self.slot_of, self.race_landed, self.sites = slot_of, race_landed, sites
        self.unfenced: dict[int, Unfenced] = {}  # by the site of the copy, the first of each
        self.barriers: dict[int, Barrier] = {}  # by the address of the first block's slot
        self.mbarriers: dict[int, Mbarrier] = {}

    def barrier(self, slot) -> Barrier:
        """That of the cluster of a slot."""
        leader = slot.ctx.leader
        block = context.Context.from_address(leader).block
        state = self.barriers.get(leader)
        if state is None or state.block != block:
            state = self.barriers[leader] = Barrier(block)
        return state

    def members(self, slot) -> list:
        """The slots of its cluster, its own first."""
        slots, address = [slot], slot.ctx.mate
        while address != slot.address:
            slots.append(self.slot_of(address))
            address = slots[-1].ctx.mate
        return slots

    def owner(self, slot, address: int):
        """The slot of the cluster in whose shared memory an address is; None."""
        if 0 <= address - slot.ctx.smem < slot.ctx.smem_bytes:
            return slot
        inside = (s for s in self.members(slot) if 0 <= address - s.ctx.smem < s.ctx.smem_bytes)
        return next(inside, None)

    # ** the barrier

    def arrive(self, slot, thread: int, relaxed: int, _: int) -> None:
        state = self.barrier(slot)
        clocks = slot.fences.get(thread, ({}, False))[0] if relaxed else slot.clock(thread)
        state.arrived = joined(state.arrived, clocks)
        slot.step(thread)

    def complete(self, slot, *_: int) -> None:
        """All have arrived: who waits is about to go on."""
        state = self.barrier(slot)
        state.complete, state.arrived = state.arrived, {}
        state.phases += 1
        state.all_wait.clear()
        for member in self.members(slot):
            ctx, base = member.ctx, context.CLUSTER_BARRIER * context.MAX_WARPS
            running = (ctx.live[w] & ~ctx.exited[w] & ~ctx.at_barrier[base + w] for w in range(ctx.warps))
            if not any(running):
                state.all_wait.add(member.block)
                member.learn_together({b: labels for b, labels in state.complete.items() if b != member.block})

    def wait(self, slot, thread: int, *_: int) -> None:
        state = self.barrier(slot)
        if slot.block in state.all_wait:
            own = state.complete.get(slot.block)
            slot.learn(thread, {} if own is None else {slot.block: own})
        else:
            slot.learn(thread, state.complete)

    # ** mbarriers

    def init(self, slot, thread: int, address: int, site: int) -> None:
        self.mbarriers[address] = Mbarrier(slot.block, thread, _label(slot, thread), site)
        slot.step(thread)

    def end(self, slot, thread: int, address: int, site: int) -> None:
        """mbarrier.inval: the thread has to have seen all uses, and copies that signal it have to be complete. A
        lane that releases after another one of its warp has used the mbarrier counts for it, as in cuda::pipeline."""
        one = self.mbarriers.pop(address, None)
        if one is None or one.block != slot.block:
            return
        copies = [*(each for queue in one.begun.values() for each in queue), *one.landed, *one.complete]
        used = [(each.slot.block, each.thread, each.site) for each in copies]
        used += [
            (block, user, where)
            for (block, user), (label, where) in one.uses.items()
            if not any(self._has_seen(slot, thread, block, lane, label) for lane in _warp_of(user, slot.threads))
        ]
        if used:
            slot.ctx.other_block, slot.ctx.other_thread, slot.ctx.other_site = used[0]
            slot.report(context.IN_USE, thread, address, site)

    @staticmethod
    def _has_seen(slot, thread: int, block: int, other: int, label: int) -> bool:
        """Whether a thread has seen the end of another one's stretch."""
        if block == slot.block:
            return thread == other or bool(slot.seen(thread)[other] >= label)
        labels = slot.abroad(thread).labels(block)
        return labels is not None and bool(labels[other] >= label)

    def fence_init(self, slot, thread: int, *_: int) -> None:
        """fence.mbarrier_init: of what the thread has initialised."""
        phases = self.barrier(slot).phases
        for each in self.mbarriers.values():
            if each.block == slot.block and each.thread == thread and each.fenced_at is None:
                each.fenced_at = phases

    def mbarrier(self, block: int, address: int) -> Mbarrier | None:
        """The one at an address of a block's shared memory; None where that block has made none there."""
        one = self.mbarriers.get(address)
        return one if one is not None and one.block == block else None

    def arrive_at(self, slot, thread: int, address: int, how: int) -> None:
        """An arrival or a change of the bytes; `how`: ended (bit 0), relaxed (1), the site (8 and up)."""
        owner = self.owner(slot, address)
        block = slot.block if owner is None else owner.block
        one = self.mbarrier(block, address)
        if owner is not None and owner is not slot:
            self.access(slot, thread, address, how >> 8)
        if one is None or not self._sees(slot, thread, block, one):
            slot.report(context.NOT_VISIBLE, thread, address, how >> 8)
            return
        clocks = slot.fences.get(thread, ({}, False))[0] if how & 2 else slot.clock(thread)
        one.arrived = joined(one.arrived, clocks)
        one.arrivers.add((slot.block, thread))
        one.uses[slot.block, thread] = _label(slot, thread), how >> 8
        slot.releases[thread] = slot.releases.get(thread, 0) + 1
        if how & 1:
            one.ends()
        slot.step(thread)

    def copy(self, slot, thread: int, address: int, barrier: int) -> int:
        """A thread begins a copy to an address, which will signal an mbarrier of the same block; 1 where that may not
        be there yet."""
        owner: Any = self.owner(slot, address)
        one, site = self.mbarrier(owner.block, barrier), slot.ctx.other_site
        if one is None or not self._sees(slot, thread, owner.block, one):
            slot.report(context.NOT_VISIBLE, thread, barrier, site)
            return 1
        self._look_for_fence(slot, thread, barrier, one, owner)
        ctx = slot.ctx
        flight = Flight(slot, thread, site, address, ctx.address, ctx.access_bytes, barrier, one.phase)
        one.begun.setdefault((slot.block, thread), deque()).append(flight)
        owner.flights.append(flight)
        owner.copies.append(flight)
        return 0

    def _look_for_fence(self, slot, thread: int, address: int, one: Mbarrier, owner) -> None:
        """Keep a bulk copy that signals an mbarrier whose init the async proxy may not see."""
        site = slot.ctx.other_site
        is_fenced = one.fenced_at is not None or owner.wgmma.proxied[one.thread] >= one.label
        if not is_fenced and self.sites[site].opcode == "cp" and site not in self.unfenced:
            self.unfenced[site] = Unfenced(slot.block, thread, address, site, one.site)

    def landed(self, slot, thread: int, address: int, ended: int) -> None:
        """Bytes that a thread's copy brings."""
        one = self.mbarriers.get(address)
        if one is None:  # it has ended, which is a finding
            return
        if one.begun.get((slot.block, thread)):
            one.landed.append(one.begun[slot.block, thread].popleft())
        if ended:
            one.ends()

    def _sees(self, slot, thread: int, block: int, one: Mbarrier) -> bool:
        """Whether an mbarrier of a block has been made, as far as a thread can know."""
        if (slot.block, thread) in one.seen_by:
            return True
        if one.fenced_at is not None and self.barrier(slot).phases > one.fenced_at:
            sees = True
        else:
            sees = self._has_seen(slot, thread, block, one.thread, one.label)
        if sees:
            one.seen_by.add((slot.block, thread))
        return sees

    def wait_at(self, slot, thread: int, address: int, how: int) -> None:
        """A look at an mbarrier; `how` as above."""
        one = self.mbarrier(slot.block, address) if how & 1 else None
        if one is None:
            return
        if not self._sees(slot, thread, slot.block, one):
            slot.report(context.NOT_VISIBLE, thread, address, how >> 8)
            return
        before, releases = one.waits.get(thread), slot.releases.get(thread, 0)
        again = before is not None and before.phase == one.phase - 1 and before.releases != releases
        one.waits[thread] = Wait(one.phase - 1, how >> 8, releases, again)
        slot.last_wait[thread] = one
        self._end_flights(slot, one)
        if how & 2:
            near, far = slot.pending.get(thread, ({}, {}))
            slot.pending[thread] = joined(near, one.ended), joined(far, one.ended)
        else:
            slot.learn(thread, one.ended)
        one.uses[slot.block, thread] = _label(slot, thread), how >> 8

    def _end_flights(self, slot, one: Mbarrier) -> None:
        """A thread has waited for what was copied until a phase ended: the copies are accesses of now, which all see
        who have waited for it."""
        for flight in one.complete:
            slot.flights.remove(flight)
            whose, thread = flight.slot, flight.thread
            for address in filter(None, (flight.address, flight.source)):
                self.race_landed(whose.address, thread, address, flight.size_bytes)
            own = np.zeros(whose.threads, np.uint32)
            own[thread] = max(int(whose.labels[thread]), whose.ctx.epoch)
            one.ended = joined(one.ended, {whose.block: own})
            whose.step(thread)
        one.complete = []

    # ** how long shared memory is there

    def access(self, slot, thread: int, address: int, site: int) -> None:
        """A thread touches another block's shared memory: each last time is kept."""
        owner: Any = self.owner(slot, address)
        if owner is not None and owner is not slot:
            owner.visitors[slot.block, thread] = _label(slot, thread), site, address

    @staticmethod
    def exit(slot, *_: int) -> None:
        """The block has ended: each access of others has to be one that some thread of it has seen the end of, each
        copy into its shared memory one that it has waited for."""
        if slot.ctx.status:
            return
        if slot.flights:
            one = slot.flights[0]
            slot.ctx.other_block, slot.ctx.other_thread = one.slot.block, one.thread
            slot.report(context.EXITED, one.thread, one.address, one.site, context.IN_FLIGHT)
            return
        if not slot.visitors:
            return
        clocks = slot.common
        for rows in slot.facts.values():
            clocks = later(rows[-1][1], clocks)
        for (block, thread), (label, site, address) in slot.visitors.items():
            labels = clocks.get(block)
            if labels is None or labels[thread] < label:
                slot.ctx.other_block, slot.ctx.other_thread = block, thread
                slot.report(context.EXITED, thread, address, site, context.EARLY)
                return
