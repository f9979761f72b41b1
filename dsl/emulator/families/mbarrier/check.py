"""The order by mbarriers, also in the shared memory of other blocks of a cluster, and the copies that signal them.
PTX ISA 9.7.13.15.

An mbarrier is another block's to arrive at once its init is ordered before that, or once its thread has fenced
(fence.mbarrier_init) and the cluster has met since, however relaxed.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dsl.emulator.check import trail
from dsl.emulator.check.clocks import Known, execution_only, joined, later
from dsl.emulator.check.numbers import scope
from dsl.emulator.families.cluster.check import Clusters
from dsl.emulator.families.mbarrier import sent, turns
from dsl.emulator.families.mbarrier.numbers import seen
from dsl.emulator.families.mbarrier.turns import Expected, Turns
from dsl.emulator.machine import context, native
from dsl.emulator.ptx.syntax import Addr, Instr
from dsl.emulator.ptx.traits import ARRIVE


class OtherWait(Exception):
    """The wait that a peek at an mbarrier may spare is for another phase or mbarrier, or there is none."""


SITE_MASK = (1 << seen.BYTES_SHIFT - seen.SITE_SHIFT) - 1
MOST_FALSE = 64  # answers in a row that may be given as false where the phase has ended

_COPIES_SEEN = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32)


@dataclass(frozen=True)
class Wait:
    """The last wait of a thread at an mbarrier: for which phase, where, how often the thread had arrived anywhere by
    then, whether it had waited for that phase before it arrived last, and its label after the wait."""

    phase: int
    site: int
    releases: int
    again: bool
    label: int = 0


class Lap(NamedTuple):
    """Phases of an mbarrier that nothing orders (turns.py): what a thread did, and the wait or arrival of another."""

    thread: int
    address: int
    site: int
    what: int
    other_block: int
    other_thread: int
    other_site: int


@dataclass(eq=False)
class Flight:
    """A copy into shared memory, which an mbarrier of the same block or pair tells of: who began it (slot and thread)
    at which site, where it goes and where in shared memory it comes from (0: elsewhere), the mbarrier's address and
    which of its phases the copy is of."""

    slot: Any  # of check/order.py
    thread: int
    site: int
    address: int
    source: int
    size_bytes: int
    barrier: int
    phase: int
    clock: dict  # what the thread had seen then
    is_known = False  # that it is complete, without a wait at the mbarrier

    def forget(self, order) -> None:
        """The block that it went to need not wait for it."""
        flights = order.owner(self.slot, self.address).of(Shared).flights
        if self in flights:
            flights.remove(self)

    def land(self, order) -> None:
        """A thread has waited for it: its accesses are of now."""
        for address in filter(None, (self.address, self.source)):
            order.race_landed(self.slot.address, self.thread, address, self.size_bytes)


class Signal(NamedTuple):
    """A cp.async.mbarrier.arrive: the thread and the site, how many copies and arrivals its thread had begun by then
    (cp_async_queue.cc), the label that the copies get once somebody has waited for them, and what the arrival makes
    known."""

    thread: int
    site: int
    number: int
    label: int
    clock: dict


class Mbarrier:
    """`arrived`: what the arrivals made known; `ended`: what those did that came before its phase last ended."""

    def __init__(self, block: int, thread: int = 0, label: int = 0, site: int = 0):
        self.block, self.thread, self.label, self.site = block, thread, label, site  # of its init
        self.uses: dict[tuple[int, int], tuple[int, int]] = {}  # by (block, thread): the last one's label and site
        self.arrived, self.ended = Known(), Known()
        self.turns = Turns()
        self.fenced_at: int | None = None  # how often the cluster had met when its init was fenced
        self.seen_by: set[tuple[int, int]] = set()  # (block, thread) that have seen its init
        self.phase = 0  # the number of the phase that goes on
        self.begun: dict[tuple[int, int], deque[Flight]] = {}  # by (block, thread): copies that will signal it
        self.late: list[Any] = []  # what will arrive, see arrive_late
        self.sent: list[tuple[int, list]] = []  # see sent.py
        self.landed: list[Flight] = []  # in this phase
        self.complete: list[Flight] = []  # in those before, and no thread of the block has waited since
        self.signals: dict[int, deque[Signal]] = {}  # by thread of the block: those whose copies are on their way
        self.copied: list[Signal] = []  # those that arrived in this phase
        self.copies_complete: list[Signal] = []  # in those before, and no thread of the block has waited since
        self.waits: dict[int, Wait] = {}  # by thread of the block
        self.older_waits: dict[int, int] = {}  # for the phase before the last that ended: by thread the label
        self.arrivers: set[tuple[int, int]] = set()  # (block, thread)
        self.peers: set[int] = set()  # other blocks that have arrived
        self.narrow: dict[
            tuple[int, int], int
        ] = {}  # by (block, thread) of another block: the site of an arrival whose
        # scope has not this block

    def lane_for(self, block: int, thread: int) -> int | None:
        """The lane that arrives here for the warp of a thread; None if the thread arrives too, or no lane does."""
        if (block, thread) in self.arrivers:
            return None
        return next((lane for lane in range(32) if (block, (thread & ~31) + lane) in self.arrivers), None)

    def ends(self) -> None:
        """The phase has ended."""
        self.ended = self.arrived.copy()
        self.older_waits = {who: wait.label for who, wait in self.waits.items() if wait.phase == self.phase - 1}
        self.turns.end()
        self.phase += 1
        self.complete += self.landed
        self.copies_complete += self.copied
        self.landed, self.copied = [], []


@dataclass(frozen=True)
class Unfenced:
    """A copy of a thread that signals an mbarrier at an address, with no fence after the mbarrier.init."""

    block: int
    thread: int
    address: int
    site: int
    init_site: int


class Shared:
    """The state that is kept of the block that runs in a slot."""

    def __init__(self, slot):
        self.releases: dict[int, int] = {}  # by thread: its arrivals at mbarriers
        self.last_wait: dict[int, Mbarrier] = {}  # by thread: where it last waited for a phase
        self.copies: deque[Flight] = deque(maxlen=256)  # the last ones into its shared memory
        self.flights: list[Flight] = []  # copies into its shared memory that no thread of it has waited for
        self.relaxed: dict[int, list[Mbarrier]] = {}  # by thread: where it waited, with .relaxed and no fence since
        self.lap: Lap | None = None
        self.peeks: dict[tuple[int, int], list] = {}  # by thread and group: mbarriers and phases of peeks that failed
        self.looks: dict[tuple, int] = {}  # by thread, site, address and phase: how often it has looked there


def _warp_of(thread: int, threads: int) -> range:
    first = thread & ~31
    return range(first, min(first + 32, threads))


class Mbarriers:
    """The mbarriers of one launch."""

    def __init__(self, order):
        self.order, self.clusters = order, order.of(Clusters)
        self.unfenced: dict[int, Unfenced] = {}  # by the site of the copy, the first of each
        self.mbarriers: dict[int, Mbarrier] = {}
        # by the site of a look that a thread goes on after: whether (address, phase) is to come late there
        self.doubted: dict[int, dict[tuple[int, int], bool]] = {}
        self._copies_seen = _COPIES_SEEN(native.address("emu_queue_seen"))

    def init(self, slot, thread: int, address: int, site: int) -> None:
        self.mbarriers[address] = Mbarrier(slot.block, thread, slot.label(thread), site)
        slot.step(thread)

    def end(self, slot, thread: int, address: int, site: int) -> None:
        """mbarrier.inval: the thread has to have seen all uses, and copies that signal it have to be complete. A
        lane that releases after another one of its warp has used the mbarrier counts for it, as in cuda::pipeline."""
        one = self.mbarriers.pop(address, None)
        if one is None or one.block != slot.block:
            return
        copies = [*(each for queue in one.begun.values() for each in queue), *one.late, *one.landed, *one.complete]
        used = [(each.slot.block, each.thread, each.site) for each in copies if not each.is_known]
        signals = [*(each for queue in one.signals.values() for each in queue), *one.copied, *one.copies_complete]
        used += [(slot.block, each.thread, each.site) for each in signals]
        used += [
            (block, user, where)
            for (block, user), (label, where) in one.uses.items()
            if not any(self._has_seen(slot, thread, block, lane, label, True) for lane in _warp_of(user, slot.threads))
        ]
        if used:
            slot.ctx.other_block, slot.ctx.other_thread, slot.ctx.other_site = used[0]
            slot.report(context.IN_USE, thread, address, site)

    @staticmethod
    def _has_seen(slot, thread: int, block: int, other: int, label: int, execution: bool = False) -> bool:
        """Whether a thread has seen the end of another thread's stretch, or only that it has come so far."""
        at = other + slot.threads * execution
        if block == slot.block:
            return thread == other or bool(slot.seen(thread)[at] >= label)
        labels = slot.abroad(thread).labels(block)
        return labels is not None and bool(labels[at] >= label)

    def fence_init(self, slot, thread: int, *_: int) -> None:
        """fence.mbarrier_init: of what the thread has initialised."""
        phases = self.clusters.barrier(slot).phases
        for each in self.mbarriers.values():
            if each.block == slot.block and each.thread == thread and each.fenced_at is None:
                each.fenced_at = phases

    def mbarrier(self, block: int, address: int) -> Mbarrier | None:
        """The one at an address of a block's shared memory; None where that block has made none there."""
        one = self.mbarriers.get(address)
        return one if one is not None and one.block == block else None

    def arrive_at(self, slot, thread: int, address: int, how: int) -> None:
        """An arrival or a change of the bytes; `how`: see numbers.seen."""
        site, owner = how >> seen.SITE_SHIFT & SITE_MASK, self.order.owner(slot, address)
        block, is_remote = (slot.block, False) if owner is None else (owner.block, owner is not slot)
        if is_remote:
            self.clusters.visit(slot, thread, address, site)
        one = self._seen(slot, thread, block, address, site)
        if one is None:
            return
        clock = slot.clock(thread)
        self._arrived(one, slot, thread, how, clock, is_remote)
        one.arrivers.add((slot.block, thread))
        if is_remote:
            one.peers.add(slot.block)
        one.uses[slot.block, thread] = slot.label(thread), site
        releases = slot.of(Shared).releases
        releases[thread] = releases.get(thread, 0) + 1
        arrives = bool(self.order.sites[site].traits & ARRIVE)
        if n_bytes := how >> seen.BYTES_SHIFT:
            slot.step(thread)  # a copy that it began before is not after this
            one.turns.expect(Expected(slot.block, thread, slot.label(thread), site, n_bytes, clock), arrives)
        if arrives:
            other = one.turns.arrive(slot.block, thread, slot.label(thread), site, clock)
            if other is not None:
                self._lap(slot, Lap(thread, address, site, turns.ARRIVAL, *other))
        if how & seen.ENDED:
            self._end(one, slot, thread, address, site)
        slot.step(thread)

    def copies(self, slot, thread: int, address: int, what: int) -> None:
        """cp.async.mbarrier.arrive: copies of a thread will arrive. `what`: the site, above it Signal.number.

        The copies get a label between what the thread did before it and what it does after it.
        """
        site = what & 0xFFFFFFFF
        one = self._seen(slot, thread, slot.block, address, site)
        if one is None:
            return
        slot.step(thread)
        clock, label = slot.clock(thread), slot.label(thread)
        one.signals.setdefault(thread, deque()).append(Signal(thread, site, what >> 32, label, clock))
        other = one.turns.arrive(slot.block, thread, label, site, clock)
        if other is not None:
            self._lap(slot, Lap(thread, address, site, turns.ARRIVAL, *other))
        one.arrivers.add((slot.block, thread))
        one.uses[slot.block, thread] = label, site
        releases = slot.of(Shared).releases
        releases[thread] = releases.get(thread, 0) + 1
        slot.step(thread)

    def copied(self, slot, thread: int, address: int, ended: int) -> None:
        """The copies of a thread are complete, and arrive."""
        one = self.mbarriers.get(address)
        if one is None or not one.signals.get(thread):  # it has ended, which is a finding
            return
        signal = one.signals[thread].popleft()
        one.copied.append(signal)
        one.turns.ends_late = True
        one.arrived.add(slot.groups(scope.CTA), signal.clock)
        if ended:
            self._end(one, slot, thread, address, signal.site)

    def _end(self, one: Mbarrier, slot, thread: int, address: int, site: int) -> None:
        """The phase ends, by what a thread does at a site."""
        owner: Any = self.order.owner(slot, address)
        waits = {who: wait.label for who, wait in one.waits.items() if wait.phase == one.phase - 1}
        if waits:
            missed = one.turns.missed(owner.block, waits, owner.ctx.epoch, owner.threads)
            if missed is not None:
                self._lap(slot, Lap(thread, address, site, turns.WAIT, owner.block, missed, one.waits[missed].site))
        if (late := one.turns.late_bytes([(each.size_bytes, each.clock) for each in one.landed])) is not None:
            its = next((each for each in one.landed if not late.is_before(each.clock)), None)
            if its is not None:
                self._lap(slot, Lap(late.thread, address, late.site, turns.BYTES, its.slot.block, its.thread, its.site))
        one.ends()

    @staticmethod
    def _lap(slot, lap: Lap) -> None:
        """Keep the first of the block: it ends the launch where nothing else does, which tells more."""
        mine = slot.of(Shared)
        mine.lap = mine.lap or lap

    @staticmethod
    def _arrived(one: Mbarrier, slot, thread: int, how: int, clocks: dict, is_remote: bool) -> None:
        """Keep what an arrival makes known to a group of threads, of the clocks of its thread.

        The ISA gives an arrival without a scope .cta. At the mbarrier of another block programs still rely on it for
        the order of execution: the other block may write what the thread has read.
        """
        reach, asked = scope.ALL, how >> seen.SCOPE_SHIFT & 3
        if how & seen.RELAXED:
            clocks, reach = slot.fences.get(thread, ({}, scope.ALL))
        if asked == scope.UNSAID and is_remote and not how & seen.RELAXED:
            one.arrived.add(slot.groups(scope.CLUSTER)[1:], execution_only(clocks))
            fenced, fence_scope = slot.fences.get(thread, ({}, scope.CTA))
            one.arrived.add(slot.groups(min(fence_scope, scope.CLUSTER)), fenced)
            asked = scope.CTA
        reach = min(reach, asked, scope.CLUSTER)
        if is_remote and reach == scope.CTA:
            one.narrow[slot.block, thread] = how >> seen.SITE_SHIFT & SITE_MASK
        one.arrived.add(slot.groups(reach), clocks)

    def copy(self, slot, thread: int, address: int, barrier: int) -> int:
        """A thread begins a copy to an address, which will signal an mbarrier of the same block, or of its pair; 1
        where that may not be there yet."""
        owner: Any = self.order.owner(slot, address)
        holder: Any = self.order.owner(slot, barrier)
        site = slot.ctx.other_site
        one = self._seen(slot, thread, holder.block, barrier, site)
        if one is None:
            return 1
        self._look_for_fence(slot, thread, barrier, one, holder)
        ctx = slot.ctx
        clock = slot.clock(thread)
        flight = Flight(slot, thread, site, address, ctx.address, ctx.access_bytes, barrier, one.phase, clock)
        one.begun.setdefault((slot.block, thread), deque()).append(flight)
        one.turns.issue(clock)
        sent.began(flight, one)
        owner.of(Shared).flights.append(flight)
        owner.of(Shared).copies.append(flight)
        return 0

    def _look_for_fence(self, slot, thread: int, address: int, one: Mbarrier, owner) -> None:
        """Keep a bulk copy that signals an mbarrier whose init the async proxy may not see."""
        site = slot.ctx.other_site
        is_fenced = one.fenced_at is not None or owner.proxied[one.thread] >= one.label
        if not is_fenced and self.order.sites[site].opcode == "cp" and site not in self.unfenced:
            self.unfenced[site] = Unfenced(slot.block, thread, address, site, one.site)

    def landed(self, slot, thread: int, address: int, ended: int) -> None:
        """Bytes that a thread's copy brings."""
        one = self.mbarriers.get(address)
        if one is None:  # it has ended, which is a finding
            return
        site, one.turns.ends_late = slot.ctx.site, True
        if one.begun.get((slot.block, thread)):
            one.landed.append(one.begun[slot.block, thread].popleft())
            site = one.landed[-1].site
        if ended:
            self._end(one, slot, thread, address, site)

    def begin_late(self, work, address: int) -> bool:
        """A thread begins what will arrive once it is done, and sees the mbarrier; else a finding. `work`: see
        arrive_late."""
        owner: Any = self.order.owner(work.slot, address)
        releases = work.slot.of(Shared).releases
        releases[work.thread] = releases.get(work.thread, 0) + 1
        one = self._seen(work.slot, work.thread, owner.block, address, work.site)
        if one is not None:
            one.late.append(work)
        return one is not None

    def arrive_late(self, work, address: int, ended: bool) -> None:
        """An arrival of what a thread has begun. `work` has what a Flight has of it, and its label."""
        one = self.mbarriers.get(address)
        if one is None:  # it has ended, which is a finding
            return
        slot, thread = work.slot, work.thread
        one.late = [each for each in one.late if each is not work]
        one.landed.append(work)
        one.turns.ends_late = True
        one.arrived.add(slot.groups(scope.CLUSTER), execution_only(work.clock))
        other = one.turns.arrive(slot.block, thread, work.label, work.site, work.clock)
        if other is not None:
            self._lap(slot, Lap(thread, address, work.site, turns.ARRIVAL, *other))
        one.uses[slot.block, thread] = work.label, work.site
        if ended:
            self._end(one, slot, thread, address, work.site)

    def _seen(self, slot, thread: int, block: int, address: int, site: int) -> Mbarrier | None:
        """The mbarrier of a block at an address; None and a finding where the thread may not know of one."""
        one = self.mbarrier(block, address)
        if one is not None and self._sees(slot, thread, block, one):
            return one
        knows = block != slot.block and slot.abroad(thread).labels(block) is not None
        slot.report(context.NOT_INITIALIZED if one is None and knows else context.NOT_VISIBLE, thread, address, site)
        return None

    def _sees(self, slot, thread: int, block: int, one: Mbarrier) -> bool:
        """Whether an mbarrier of a block has been made, as far as a thread can know."""
        if (slot.block, thread) in one.seen_by:
            return True
        if one.fenced_at is not None and self.clusters.barrier(slot).phases > one.fenced_at:
            sees = True
        else:
            sees = self._has_seen(slot, thread, block, one.thread, one.label)
        if sees:
            one.seen_by.add((slot.block, thread))
        return sees

    def look_at(self, slot, thread: int, address: int, how: int) -> int:
        """A look that the thread goes on after, whatever the answer; 1: it is to be false, as it is in an order in
        which the phase ends later. At each site that is so for every other phase, so that both ways run."""
        one = self.mbarrier(slot.block, address) if how & seen.ENDED else None
        if one is None or self._knows_end(one, slot, thread):
            return 0
        phases = self.doubted.setdefault(how >> seen.SITE_SHIFT, {})
        is_late = phases.setdefault((address, one.phase), len(phases) % 2 == 0)
        looks = slot.of(Shared).looks
        key = thread, how >> seen.SITE_SHIFT, address, one.phase
        looks[key] = looks.get(key, 0) + 1
        return int(is_late and looks[key] <= MOST_FALSE)

    @staticmethod
    def _knows_end(one: Mbarrier, slot, thread: int) -> bool:
        """Whether the thread has seen, in every order, all that ended the last phase."""
        clocks, mine = execution_only(one.ended.seen_by(slot.groups(scope.CLUSTER))), slot.clock(thread)
        return not one.complete and later(mine, clocks) is mine

    def wait_at(self, slot, thread: int, address: int, how: int) -> None:
        """A look at an mbarrier; `how` as above."""
        one = self.mbarrier(slot.block, address) if how & seen.ENDED else None
        if one is None:
            return
        if not self._sees(slot, thread, slot.block, one):
            slot.report(context.NOT_VISIBLE, thread, address, how >> seen.SITE_SHIFT)
            return
        self._look_for_early_wait(one, slot, thread, address, how >> seen.SITE_SHIFT & SITE_MASK)
        mine = slot.of(Shared)
        before, releases = one.waits.get(thread), mine.releases.get(thread, 0)
        again = before is not None and before.phase == one.phase - 1 and before.releases != releases
        mine.last_wait[thread] = one
        for block in one.peers:
            self.clusters.starts.learn(slot, thread, block)
        for flight in one.complete:
            flight.forget(self.order)
        # NVIDIA's primitives wait with .acquire.cta for arrivals of other blocks: any wait counts for the cluster
        groups = slot.groups(scope.CLUSTER)
        if how & seen.RELAXED:
            slot.pending.setdefault(thread, Known()).take(one.ended, groups)
            mine.relaxed.setdefault(thread, []).append(one)
        else:
            self._end_copies(slot, one)
            slot.learn(thread, one.ended.seen_by(groups))
        sent.waited(slot, thread, one, self.clusters)
        label = slot.label(thread)
        one.waits[thread] = Wait(one.phase - 1, how >> seen.SITE_SHIFT, releases, again, label)
        one.uses[slot.block, thread] = label, how >> seen.SITE_SHIFT

    def peek(self, slot, thread: int, address: int, how: int) -> None:
        """A peek that fails, or a wait that peeks may spare: see families/order_dependence.py. Raises OtherWait."""
        one = self.mbarrier(slot.block, address)
        instr = self.order.sites[how >> seen.SITE_SHIFT]
        look = address, -1 if one is None else one.phase - bool(how & seen.ENDED)
        peeks = slot.of(Shared).peeks.setdefault((thread, abs(instr.group)), [])
        if instr.group < 0:
            peeks.append(look)
        elif any(each != look for each in peeks):
            raise OtherWait
        else:
            peeks.clear()

    def _look_for_early_wait(self, one: Mbarrier, slot, thread: int, address: int, site: int) -> None:
        """Keep a wait for the phase that ended last, if its warp may have come before the end of the one before."""
        lanes = _warp_of(thread, slot.threads)
        older = one.phase - 2
        if older < 0 or any(lane in one.waits and one.waits[lane].phase >= older for lane in lanes):
            return
        ran = slot.seen(thread)[slot.threads :]
        waited = [one.older_waits, {who: wait.label for who, wait in one.waits.items() if wait.phase >= older}]
        if any(ran[who] >= label for waits in waited for who, label in waits.items()):
            return
        if (other := one.turns.unseen_end(slot.clock(thread))) is not None:
            self._lap(slot, Lap(thread, address, site, turns.EARLY, *other, one.turns.sites[other]))

    def _end_flights(self, slot, one: Mbarrier) -> None:
        """A thread has waited for what was copied until a phase ended: the copies are accesses of now, which all see
        who have waited for it."""
        for flight in one.complete:
            whose, thread = flight.slot, flight.thread
            flight.land(self.order)
            own = np.zeros(2 * whose.threads, np.uint32)
            whose.mark(own, [thread])
            one.ended.add(slot.groups(scope.CTA), joined({whose.block: own}, execution_only(flight.clock)))
            whose.step(thread)
        one.complete = []

    def _end_copies(self, slot, one: Mbarrier) -> None:
        """A thread has seen the end of a phase, and with it the copies that the phase counted."""
        self._end_flights(slot, one)
        for signal in one.copies_complete:
            self._copies_seen(slot.address, signal.thread, signal.number, signal.label)
        one.copies_complete = []

    def fence(self, slot, thread: int, *_: int) -> None:
        """A fence after relaxed waits of its thread makes them acquires, of copies too."""
        for one in slot.of(Shared).relaxed.pop(thread, ()):
            self._end_copies(slot, one)
            slot.learn(thread, one.ended.seen_by(slot.groups(scope.CLUSTER)))

    @staticmethod
    def exit(slot, *_: int) -> None:
        """The block has ended: it has to have waited for each copy into its shared memory, and to have heard of the end
        of each copy out of it; the phases of mbarriers that its threads came to have to be in order."""
        if any(slot.of(Shared).peeks.values()):
            raise OtherWait
        if slot.of(Shared).flights and not slot.ctx.status:
            one = slot.of(Shared).flights[0]
            slot.ctx.other_block, slot.ctx.other_thread = one.slot.block, one.thread
            slot.report(context.EXITED, one.thread, one.address, one.site, context.IN_FLIGHT)
        elif not slot.ctx.status and (one := sent.unheard(slot)) is not None:
            slot.ctx.other_block = slot.block
            slot.report(context.EXITED, one.thread, one.source, one.site, context.SENDS)
        elif (lap := slot.of(Shared).lap) is not None and not slot.ctx.status:
            slot.ctx.other_block, slot.ctx.other_thread, slot.ctx.other_site = lap[-3:]
            slot.report(context.LAPPED, lap.thread, lap.address, lap.site, lap.what)


def _value(body, instr: Instr) -> str:
    """The address of an mbarrier, and the parity that is waited for."""
    place = next((each for each in instr.operands if isinstance(each, Addr)), None)
    if place is None:
        return "0"
    value = body.and_(body.address(place), trail.ADDRESS_MASK, "i64")
    if "parity" not in instr.mods:
        return value
    parity = body.and_(body.resize(body.read(instr.operands[2], 32), 32, 64), 1, "i64")
    return body.or_(value, body.shl(parity, trail.PARITY, "i64"), "i64")


TRAIL = {"mbarrier": _value}


def warnings(order, slots) -> Iterator[tuple[str, Any]]:
    """The findings that end no launch, each with the slot that it is about."""
    for copy in [*order.of(Mbarriers).unfenced.values()][:1]:
        yield "unfenced", next(s for s in slots if 0 <= copy.address - s.ctx.smem < s.ctx.smem_bytes)


def events(order) -> dict:
    """The handlers of mbarriers for events of the order of a launch."""
    mine = order.of(Mbarriers)
    return {
        context.ORDER_MB_INIT: mine.init,
        context.ORDER_MB_INVAL: mine.end,
        context.ORDER_MB_ARRIVE: mine.arrive_at,
        context.ORDER_MB_WAIT: mine.wait_at,
        context.ORDER_MB_LOOK: mine.look_at,
        context.ORDER_MB_PEEK: mine.peek,
        context.ORDER_MB_LANDED: mine.landed,
        context.ORDER_FENCE: mine.fence,
        context.ORDER_MB_COPIES: mine.copies,
        context.ORDER_MB_COPIED: mine.copied,
        context.ORDER_INIT_FENCE: mine.fence_init,
        context.ORDER_COPY: mine.copy,
        context.ORDER_EXIT: mine.exit,
    }
