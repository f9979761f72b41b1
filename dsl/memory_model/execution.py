"""Which executions the axioms allow: the relations of PTX ISA 8.6 to 8.10 over the events of all threads.

Coherence order is partial: two writes that race are not ordered. Whoever writes last then is open.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from dsl.memory_model import relation as rel
from dsl.memory_model.events import Event, Kind, Position, Proxy, Trace
from dsl.memory_model.relation import Relation

INITIAL = -1  # the thread of the writes before the kernel


@dataclass(frozen=True)
class Consistent:
    """An execution that the model allows: for each read the write it reads from, and coherence order."""

    reads_from: tuple[int, ...]
    coherence: Relation


class Events:
    """The events of one trace a thread, first a write of its initial value for each place, and what does not depend
    on which write a read reads from."""

    def __init__(self, traces: Sequence[Trace], positions: Sequence[Position], initial: dict[Hashable, int]):
        self.traces, self.positions = traces, positions
        self.events: list[Event] = [Event(Kind.WRITE, place, value=value) for place, value in initial.items()]
        self.thread = [INITIAL] * len(self.events)
        self.first: list[int] = []  # event of each thread
        for thread, trace in enumerate(traces):
            self.first.append(len(self.events))
            self.events += trace.events
            self.thread += [thread] * len(trace.events)
        self.size = len(self.events)
        self.reads = self._those(lambda e: e.kind == Kind.READ)
        self.writes = self._those(lambda e: e.kind == Kind.WRITE)
        self.memory = self._those(lambda e: e.kind <= Kind.WRITE)
        self.started = (1 << self.size) - (1 << len(initial))
        self.po = [self._later_in_thread(i) for i in range(self.size)]
        self._relate()

    def _those(self, test) -> int:
        return sum(1 << i for i, event in enumerate(self.events) if test(event))

    def _later_in_thread(self, i: int) -> int:
        thread = self.thread[i]
        if thread == INITIAL:
            return 0
        first, until = self.first[thread], self.events[i].until
        end = first + len(self.traces[thread].events)
        start = i + 1 if until is None else min(first + until, end)
        return (1 << end) - (1 << start) | sum(1 << first + n for n in self.events[i].then)

    def _relate(self) -> None:
        size, events = self.size, self.events
        by_place: dict[Hashable, int] = {}
        by_address: dict[Hashable, int] = {}
        for i, event in enumerate(events):
            if event.kind <= Kind.WRITE:
                by_place[event.place] = by_place.get(event.place, 0) | 1 << i
                key = event.place, event.address
                by_address[key] = by_address.get(key, 0) | 1 << i
        self.places = by_place
        accesses = [e.kind <= Kind.WRITE for e in events]
        self.same_place = [by_place[e.place] if is_access else 0 for e, is_access in zip(events, accesses)]
        self.same_address = [
            by_address[e.place, e.address] if is_access else 0 for e, is_access in zip(events, accesses)
        ]
        self.same_proxy = [self._those(lambda o, e=e: o.proxy == e.proxy) for e in events]
        self.morally_strong = [self._morally_strong_with(i) for i in range(size)]
        counted = self._those(lambda e: e.is_counted)
        self.mutual = rel.union(self.morally_strong, rel.within(self.same_place, counted, counted))
        self.mutual = [row & ~(1 << i) for i, row in enumerate(self.mutual)]
        po_place = rel.both(self.po, self.same_address)
        strong_reads = self._those(lambda e: e.kind == Kind.READ and e.is_strong)
        strong_writes = self._those(lambda e: e.kind == Kind.WRITE and e.is_strong)
        fences_out = self._those(lambda e: e.kind == Kind.FENCE and e.releases)
        fences_in = self._those(lambda e: e.kind == Kind.FENCE and e.acquires)
        released = self._those(lambda e: e.kind == Kind.WRITE and e.releases)
        acquired = self._those(lambda e: e.kind == Kind.READ and e.acquires)
        self.release_pattern = rel.union(
            rel.within(rel.or_equal(po_place), released, strong_writes), rel.within(self.po, fences_out, strong_writes)
        )
        self.acquire_pattern = rel.union(
            rel.within(rel.or_equal(po_place), strong_reads, acquired), rel.within(self.po, strong_reads, fences_in)
        )
        self.update = [
            1 << i + 1 if e.is_update and e.kind == Kind.READ and self._updates(i) else 0 for i, e in enumerate(events)
        ]
        self.needs = rel.of_pairs(
            size, ((self.first[self.thread[i]] + n, i) for i, e in enumerate(events) for n in e.needs)
        )
        self.sc_fences = [i for i, e in enumerate(events) if e.kind == Kind.FENCE and e.order == "sc"]
        self.po_place = rel.both(self.po, self.same_place)
        self.has_proxies = any(e.address is not None or e.proxy for e in events)
        self.begins = self._those(lambda e: e.kind == Kind.WRITE and e.order == "begins")
        self.generic = self._those(lambda e: e.proxy == Proxy.GENERIC)
        fences = self._those(lambda e: e.kind == Kind.FENCE and e.order == "proxy")
        self.alias_fences = self._those(lambda e: e.kind == Kind.FENCE and e.order == "alias")
        self.in_block = [self._in_block(i) for i in range(size)]
        self.to_proxy = rel.within(rel.both(self.same_proxy, self.in_block), fences, self.memory)
        for i, event in enumerate(events):
            if event.proxy == Proxy.ASYNC and fences >> i & 1:  # for the threads of all blocks
                self.to_proxy[i] = self._those(
                    lambda o, e=event: o.kind <= Kind.WRITE and o.proxy == Proxy.ASYNC and e.region in (None, o.region)
                )

    def _updates(self, i: int) -> bool:
        after = self.events[i + 1] if i + 1 < self.size else None
        return (
            after is not None and after.is_update and after.kind == Kind.WRITE and self.thread[i + 1] == self.thread[i]
        )

    def _in_block(self, i: int) -> int:
        own = self.thread[i]
        if own == INITIAL:
            return 0
        return sum(
            1 << j
            for j, thread in enumerate(self.thread)
            if thread != INITIAL and self.positions[thread].block == self.positions[own].block
        )

    def _morally_strong_with(self, i: int) -> int:
        """The events that are morally strong with this one. PTX ISA 8.6"""
        event, own, result = self.events[i], self.thread[i], 0
        if own == INITIAL or event.kind == Kind.BARRIER:
            return 0
        for j, other in enumerate(self.events):
            its = self.thread[j]
            if j == i or its == INITIAL or other.kind == Kind.BARRIER or other.proxy != event.proxy:
                continue
            if event.kind <= Kind.WRITE and other.kind <= Kind.WRITE and not self.same_address[i] >> j & 1:
                continue
            if own != its:
                if not (event.is_strong and other.is_strong):
                    continue
                here, there = self.positions[own], self.positions[its]
                if not (here.reaches(there, event.scope) and there.reaches(here, other.scope)):
                    continue
            result |= 1 << j
        return result

    # ** choices

    @classmethod
    def of_one(
        cls, own: tuple[Event, ...], position: Position, open_ones: set[int], initial: dict[Hashable, int]
    ) -> Events:
        """The events of one thread. Reads in `open_ones` may have their values from anywhere, and stand for nothing."""
        nothing = Event(Kind.FENCE, order="none")
        return cls([Trace(tuple(nothing if i in open_ones else e for i, e in enumerate(own)))], [position], initial)

    def sources(self) -> Iterator[tuple[int, ...]]:
        """Each way in which reads can have their values from writes: for each event the write, -1 if it reads none."""
        candidates = []
        for i, event in enumerate(self.events):
            if event.kind != Kind.READ:
                candidates.append((-1,))
                continue
            found = tuple(
                j
                for j in rel.bits(self.places[event.place] & self.writes & ~self.po[i])
                if self.events[j].value == event.value and not self._is_hidden(j, i)
            )
            if not found:
                return
            candidates.append(found)
        yield from product(*candidates)

    def _is_hidden(self, write: int, read: int) -> bool:
        """Whether the reading thread itself wrote the place between the two by the same address."""
        if self.thread[write] not in (INITIAL, self.thread[read]):
            return False
        if self.events[read].proxy or self.events[read].address is not None:
            return False
        later = self.po[write] if self.thread[write] != INITIAL else self.started
        own = self.same_address[read] & self.writes & later & ~(1 << write) & self.generic
        return any(self.po[j] >> read & 1 for j in rel.bits(own))

    def fence_orders(self) -> Iterator[Relation]:
        """Each Fence-SC order. PTX ISA 8.10.2"""
        linked = [(a, b) for a, b in combinations(self.sc_fences, 2) if self.morally_strong[a] >> b & 1]
        own = [(a, b) for a, b in linked if self.po[a] >> b & 1]
        free = [pair for pair in linked if pair not in own]
        for turned in product((False, True), repeat=len(free)):
            order = rel.of_pairs(self.size, [*own, *((b, a) if t else (a, b) for (a, b), t in zip(free, turned))])
            if rel.is_acyclic(order):
                yield order

    def allowed(
        self, barriers: Relation, is_fine=lambda execution: True, of_mbarriers: Relation | None = None
    ) -> Iterator[Consistent]:
        """The executions of these events that satisfy the axioms. `barriers`: synchronisation by barriers;
        `of_mbarriers`: more of it, which orders nothing but the writes that begin mbarriers."""
        for sources in self.sources():
            reads_from = rel.of_pairs(self.size, ((w, r) for r, w in enumerate(sources) if w >= 0))
            if not rel.is_acyclic(rel.union(reads_from, self.needs, self.update)):  # No-Thin-Air
                continue
            observed = rel.closure(rel.union(rel.both(self.mutual, reads_from), self.update))
            observed = rel.within(observed, self.writes, self.reads)
            synchronizes = rel.both(
                self.morally_strong, rel.then(rel.then(self.release_pattern, observed), self.acquire_pattern)
            )
            for fence_order in self.fence_orders():
                base = self._base(synchronizes, fence_order, barriers)
                if not rel.is_irreflexive(rel.then(fence_order, base)):  # Fence-SC
                    continue
                preserved = self._preserved(base)
                if of_mbarriers is not None:
                    more = self._preserved(rel.closure(rel.union(base, of_mbarriers)))
                    preserved = rel.union(preserved, rel.within(more, self.begins, -1))
                cause = rel.union(preserved, rel.then(observed, preserved))
                if not rel.is_irreflexive(rel.then(reads_from, cause)):  # Causality, of reads-from
                    continue
                for coherence in self._coherence_orders(cause):
                    execution = Consistent(sources, coherence)
                    if self._is_coherent(reads_from, coherence, cause) and is_fine(execution):
                        yield execution

    def _base(self, synchronizes: Relation, fence_order: Relation, barriers: Relation) -> Relation:
        """Base causality order. PTX ISA 8.9.5"""
        return rel.closure(rel.union(self.po, synchronizes, fence_order, barriers))

    def _preserved(self, base: Relation) -> Relation:
        """Proxy-preserved base causality order, between accesses of one place. PTX ISA 8.9.6"""
        here = rel.both(self.same_address, base)
        if not self.has_proxies:
            return here
        generic = rel.within(here, self.generic, self.generic)
        same = rel.both(rel.within(here, self.memory, self.memory), rel.both(self.same_proxy, self.in_block))
        first = rel.both(base, rel.inverse(self.to_proxy))  # an access, then a fence of its proxy
        last = rel.both(base, self.to_proxy)  # such a fence, then the access
        out, into = rel.then(first, base), rel.then(base, last)
        by_fence = rel.both(
            self.same_address,
            rel.union(rel.within(out, -1, self.generic), rel.within(into, self.generic, -1), rel.then(first, into)),
        )
        # a fence of aliases between accesses of one place by two addresses
        to_alias, of_alias = rel.within(base, -1, self.alias_fences), rel.within(base, self.alias_fences, -1)
        begin = rel.union(rel.within(to_alias, self.generic, -1), rel.then(first, to_alias))
        end = rel.union(rel.within(of_alias, -1, self.generic), rel.then(of_alias, last))
        by_alias = rel.both(self.same_place, rel.then(begin, end))
        return rel.union(generic, same, by_fence, by_alias)

    def _coherence_orders(self, cause: Relation) -> Iterator[Relation]:
        """Each coherence order: writes that are morally strong, or in causality order, are related. PTX ISA 8.9.3"""
        caused = rel.both(rel.within(cause, self.writes, self.writes), self.same_place)
        initial = [
            self.places[e.place] & self.writes & ~(1 << i) if self.thread[i] == INITIAL else 0
            for i, e in enumerate(self.events)
        ]
        order = rel.closure(rel.union(caused, initial))
        if not rel.is_irreflexive(order):
            return
        strong = rel.both(rel.within(self.mutual, self.writes, self.writes), self.same_place)
        open_pairs = [(a, b) for a, b in rel.pairs(strong) if a < b]
        yield from self._with_pairs(order, open_pairs)

    def _with_pairs(self, order: Relation, open_pairs: list[tuple[int, int]]) -> Iterator[Relation]:
        for n, (a, b) in enumerate(open_pairs):
            if order[a] >> b & 1 or order[b] >> a & 1:
                continue
            for first, second in ((a, b), (b, a)):
                more = list(order)
                more[first] |= 1 << second
                more = rel.closure(more)
                yield from self._with_pairs(more, open_pairs[n + 1 :])
            return
        yield order

    def _is_coherent(self, reads_from: Relation, coherence: Relation, cause: Relation) -> bool:
        """Causality of from-reads, SC-per-Location, Atomicity. PTX ISA 8.10.3 to 8.10.6"""
        from_reads = rel.then(rel.inverse(reads_from), coherence)
        from_reads = [row & ~(1 << i) for i, row in enumerate(from_reads)]
        if not rel.is_irreflexive(rel.then(from_reads, cause)):
            return False
        strong = self.mutual
        communication = rel.both(strong, rel.union(reads_from, coherence, from_reads))
        if not rel.is_acyclic(rel.union(communication, self.po_place if not self.has_proxies else self._own_order())):
            return False
        between = rel.then(rel.both(strong, from_reads), rel.both(strong, coherence))
        return not any(row & update for row, update in zip(between, self.update))

    def _own_order(self) -> Relation:
        return rel.both(rel.both(self.po, self.same_address), self.same_proxy)
