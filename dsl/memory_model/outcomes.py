"""All outcomes of a few threads: each combination of what their reads may give, tried against the axioms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

from dsl.memory_model import relation as rel
from dsl.memory_model.barriers import Meetings, meetings
from dsl.memory_model.events import End, Event, Kind, Position, Trace
from dsl.memory_model.execution import Consistent, Events

Final = tuple[tuple[Any, int], ...]  # places and their values


@dataclass(frozen=True)
class Outcome:
    """The contents of memory at the end, or the threads that wait for ever (thread, site), with an execution of it."""

    final: Final
    stuck: tuple[tuple[int, int], ...]
    events: Events
    execution: Consistent
    fault: int = -1  # the number of the fault that a thread comes to; then nothing else counts


class Search:
    """The outcomes of threads, of which each has some traces.

    `initial(place)` gives the value before the kernel; `is_seen(place)` whether anybody reads it after the kernel.
    `most`: how many combinations of traces are tried.
    """

    def __init__(
        self,
        traces: Sequence[Sequence[Trace]],
        positions: Sequence[Position],
        initial: Callable[[Any], int],
        is_seen: Callable[[Any], bool] = lambda place: True,
        most: int | None = None,
    ):
        self.traces, self.positions, self.initial, self.is_seen, self.most = traces, positions, initial, is_seen, most
        self.tried = 0
        self.is_complete = not any(trace.end == End.CUT for row in traces for trace in row)
        self._found: set[tuple] = set()

    def outcomes(self) -> Iterator[Outcome]:
        """Each outcome once, with the first execution that was found."""
        for chosen in self._fitting([], {}, Counter()):
            if self.tried == self.most:
                self.is_complete = False
                return
            self.tried += 1
            for met in meetings(chosen, self.positions):
                yield from self._of(_stopped(chosen, dict(met.stuck)), met)

    def _fitting(self, chosen: list[Trace], wanted: dict[tuple, int], written: Counter) -> Iterator[Sequence[Trace]]:
        """One trace a thread, each combination in which every read has a write, and no two updates have the same one
        where each is atomic to the other.

        `wanted`: by place and value that is read, how many atomic updates read it; `written`: how often it is written.
        """
        thread = len(chosen)
        if thread == len(self.traces):
            yield tuple(chosen)
            return
        rest = self._rest[thread + 1]
        for trace, (reads, updates, writes) in zip(self.traces[thread], self._uses[thread]):
            if trace.end == End.CUT:
                continue
            needs, has = dict(wanted), written + writes
            for key in reads:
                needs.setdefault(key, 0)
            for key, count in updates.items():
                needs[key] = needs.get(key, 0) + count
            for key, count in needs.items():
                if has[key] + rest[key] + (self.initial(key[0]) == key[1]) < max(count, 1):
                    break
            else:
                yield from self._fitting([*chosen, trace], needs, has)

    @cached_property
    def _uses(self) -> list[list[tuple[set, Counter, Counter]]]:
        """Of each trace, by place and value: what is read, how many atomic updates read it, how often it is written."""
        return [
            [
                (
                    {(e.place, e.value) for e in trace.events if e.kind == Kind.READ and not self._is_atomic(e)},
                    Counter((e.place, e.value) for e in trace.events if e.kind == Kind.READ and self._is_atomic(e)),
                    Counter((e.place, e.value) for e in trace.events if e.kind == Kind.WRITE),
                )
                for trace in traces
            ]
            for traces in self.traces
        ]

    @cached_property
    def _rest(self) -> list[Counter]:
        """By thread: how often it and the threads after it write a value at most."""
        rest = [Counter()]
        for uses in reversed(self._uses):
            most: Counter = Counter()
            for _, _, writes in uses:
                most |= writes
            rest.append(rest[-1] + most)
        return rest[::-1]

    def _is_atomic(self, event: Event) -> bool:
        return event.is_update and (event.is_counted or event.place in self._atomic)

    @cached_property
    def _atomic(self) -> set[Hashable]:
        """The places that are only updated by atomic operations of a scope that has all threads in it."""
        plain: set[Hashable] = set()
        every: set[Hashable] = set()
        for own, traces in zip(self.positions, self.traces):
            for event in {event for trace in traces for event in trace.events if event.kind <= Kind.WRITE}:
                every.add(event.place)
                if not (event.is_strong and all(own.reaches(other, event.scope) for other in self.positions)):
                    plain.add(event.place)
        return every - plain

    def _of(self, chosen: Sequence[Trace], met: Meetings) -> Iterator[Outcome]:
        """The outcomes of one trace a thread."""
        fault = min((trace.fault for trace in chosen if trace.fault >= 0), default=-1)
        stuck = tuple(sorted(_waiting(chosen))) if fault < 0 else ()
        is_cut_short = bool(stuck) or fault >= 0
        users = _users(chosen)
        several = _unordered(chosen)
        alone = {place for place, threads in users.items() if len(threads) == 1} - several
        own = {e.place: e.value for t in chosen for e in t.events if e.kind == Kind.WRITE and e.place in alone}
        open_places = [
            place
            for place in users.keys() - alone
            if any(e.kind == Kind.WRITE and e.place == place for t in chosen for e in t.events)
        ]
        if is_cut_short or not any(map(self.is_seen, open_places)):
            final = () if is_cut_short else self._final(own)
            if (final, stuck, fault) in self._found:
                return
        kept = [_without(trace, alone) for trace in chosen]
        initial = {place: self.initial(place) for place in users.keys() - alone}
        events = Events([trace for trace, _ in kept], self.positions, initial)
        barriers, of_mbarriers = self._barriers(events, [places for _, places in kept], met)
        polled = [events.first[t] + i for t, (trace, _) in enumerate(kept) for i in trace.polled]
        for execution in events.allowed(barriers, lambda each: _is_last(each, polled), of_mbarriers):
            for final in [()] if is_cut_short else self._finals(own, open_places, events, execution):
                if (final, stuck, fault) not in self._found:
                    self._found.add((final, stuck, fault))
                    yield Outcome(final, stuck, events, execution, fault)
            if is_cut_short:
                return

    def _final(self, values: dict[Hashable, int]) -> Final:
        return tuple(sorted(((p, v) for p, v in values.items() if self.is_seen(p)), key=repr))

    def _finals(self, own: dict[Hashable, int], places, events: Events, execution: Consistent) -> Iterator[Final]:
        """The contents that memory may have: of each place the value of a write that no write is coherence-after."""
        last = []
        for place in places:
            writes = events.places[place] & events.writes
            last.append({events.events[i].value for i in rel.bits(writes) if not execution.coherence[i] & writes})
        for values in product(*last):
            yield self._final({**own, **dict(zip(places, values))})

    def _barriers(
        self, events: Events, kept: list[dict[int, int]], met: Meetings
    ) -> tuple[rel.Relation, rel.Relation | None]:
        """An arrival synchronises with each wait of its group. PTX ISA 8.9.4. The second relation orders only the
        writes that begin mbarriers: it comes from their fences before relaxed arrivals."""
        pairs, of_mbarriers = [], []
        for group in met.groups:
            members = [events.first[thread] + kept[thread][i] for thread, i in group]
            waits = [wait for i in members for wait in _waits(events, i)]
            for member in members:
                order = events.events[member].order
                others = [wait for wait in waits if events.thread[wait] != events.thread[member]]
                if order in ("sync", "arrive"):
                    pairs += [(member, wait) for wait in others]
                elif order == "relaxed":
                    fences = [i for i in range(events.first[events.thread[member]], member) if _is_release(events, i)]
                    plain = [i for i in fences if events.events[i].order != "mbarriers"]
                    pairs += [(fence, wait) for fence in plain for wait in others]
                    of_mbarriers += [(fence, wait) for fence in fences for wait in others]
        second = rel.of_pairs(events.size, of_mbarriers) if of_mbarriers else None
        return rel.of_pairs(events.size, pairs), second


def _waits(events: Events, arrival: int) -> list[int]:
    """The event at which the thread of an arrival waits for the others, if there is one."""
    event, thread = events.events[arrival], events.thread[arrival]
    if event.order == "sync":
        return [arrival]
    for i in range(arrival + 1, events.first[thread] + len(events.traces[thread].events)):
        other = events.events[i]
        if other.kind == Kind.BARRIER and other.place == event.place and other.scope == event.scope:
            return [i] if other.order == "wait" else []
    return []


def _is_release(events: Events, i: int) -> bool:
    """Whether a fence orders what is before it and a relaxed arrival of a cluster after it."""
    event = events.events[i]
    if event.kind != Kind.FENCE:
        return False
    return event.order == "mbarriers" or (event.releases and event.scope != "cta")


def _unordered(chosen: Sequence[Trace]) -> set[Hashable]:
    """The places whose accesses program order may not order: by several addresses, or asynchronously, unless that is
    the only access."""
    found = {e.place for t in chosen for e in t.events if e.address is not None}
    loose = {e.place for t in chosen for e in t.events if e.until is not None and e.kind <= Kind.WRITE}
    accesses = Counter(e.place for t in chosen for e in t.events if e.place in loose)
    return found | {place for place in loose if accesses[place] > 1}


def _stopped(chosen: Sequence[Trace], stuck: dict[int, int]) -> list[Trace]:
    """The traces, of threads that wait at a barrier for ever up to it."""
    return [
        Trace(trace.events[: stuck[thread] + 1], End.WAITING) if thread in stuck else trace
        for thread, trace in enumerate(chosen)
    ]


def _waiting(chosen: Sequence[Trace]) -> set[tuple[int, int]]:
    return {
        (thread, trace.events[max(trace.polled, default=-1)].site)
        for thread, trace in enumerate(chosen)
        if trace.end == End.WAITING and trace.events
    }


def _users(chosen: Sequence[Trace]) -> dict[Hashable, set[int]]:
    """By place: the threads that access it."""
    users: dict[Hashable, set[int]] = {}
    for thread, trace in enumerate(chosen):
        for event in trace.events:
            if event.kind <= Kind.WRITE:
                users.setdefault(event.place, set()).add(thread)
    return users


def _without(trace: Trace, places: set) -> tuple[Trace, dict[int, int]]:
    """The trace without accesses of these places, which no other thread sees; and the new position of each event."""
    kept: dict[int, int] = {}
    events: list[Event] = []
    needs: dict[int, frozenset[int]] = {}  # of reads that are left out, in new positions
    written: dict[Hashable, frozenset[int]] = {}

    def moved(event: Event) -> frozenset[int]:
        return frozenset().union(*(needs[n] if n in needs else {kept[n]} for n in event.needs))

    for i, event in enumerate(trace.events):
        now = moved(event)
        if event.kind <= Kind.WRITE and event.place in places:
            if event.kind == Kind.WRITE:
                written[event.place] = now
            else:
                needs[i] = now | written.get(event.place, frozenset())
            continue
        kept[i] = len(events)
        events.append(replace(event, needs=now))
    for i, event in enumerate(events):
        if event.until is not None:
            then = tuple(kept[n] for n in event.then if n in kept)
            events[i] = replace(event, until=sum(old < event.until for old in kept), then=then)
    polled = frozenset(kept[i] for i in trace.polled if i in kept)
    return Trace(tuple(events), trace.end, polled), kept


def _is_last(execution: Consistent, polled: list[int]) -> bool:
    """Whether the reads of waiting threads see what nobody overwrites."""
    return all(not execution.coherence[execution.reads_from[i]] for i in polled)
