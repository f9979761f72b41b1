"""The traces of each thread: run alone, with every value that its reads may give.

A read may give what the place held before the kernel, what its own thread wrote last, and what a trace of another
thread writes there; an asynchronous read also what its own thread writes later. A value rests on a chain of reads,
which has each read of an execution once at most: a value whose chain has more reads of a place than there are is not
tried. So chains of atomic operations end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace

from dsl.memory_model.events import End, Event, Kind, Trace

Choices = tuple[int, ...]  # the value of each read, in program order
Chain = dict[Hashable, int]  # by place: reads of it on which a value rests, at least


@dataclass
class Recorded:
    """One run of a thread: its trace, and by read (in order) the values that it may see if no other thread writes.

    These are the last value that it wrote by the same proxy, and the earlier ones too by another proxy. The first is
    taken where none is chosen.
    """

    trace: Trace
    own: list[tuple[int, ...]]


Possible = Callable[[int, tuple[Event, ...], set[int]], bool]
Run = Callable[[Sequence[Choices | None]], Sequence[Recorded | None]]


@dataclass
class _Thread:
    number: int
    pending: list[Choices] = field(default_factory=lambda: [()])
    recorded: list[Recorded] = field(default_factory=list)
    reads: dict[Hashable, dict[Choices, set[int]]] = field(default_factory=dict)  # by place, by what was chosen before
    most_reads: Counter = field(default_factory=Counter)  # of one trace, by place
    loose: set[tuple[Hashable, Choices]] = field(default_factory=set)  # of `reads`, those that are asynchronous
    impossible: set[tuple[Hashable, Choices, int]] = field(default_factory=set)  # of `reads`, each with a value


class Explorer:
    """`run` makes one run of each thread that gets choices; reads that have none give the thread's own value.
    `most`: how many runs of a thread are made. `is_possible` tells whether a thread may come to its last event, a read
    of what it wrote or memory had before; reads at the positions of a set may have their values from others."""

    def __init__(self, count: int, run: Run, most: int | None = None, is_possible: Possible | None = None):
        self.threads = [_Thread(n) for n in range(count)]
        self.run, self.most, self.is_complete, self.is_possible = run, most, True, is_possible
        self._made = 0
        self._chains: dict[Hashable, dict[int, dict[int, Chain]]] = {}  # by place, by writing thread, by value

    def traces(self) -> list[list[Trace]]:
        """All traces of each thread."""
        while any(thread.pending for thread in self.threads) and self._run_pending():
            self._spread()
        found = [[recorded.trace for recorded in thread.recorded] for thread in self.threads]
        self.is_complete &= all(trace.end != End.CUT for row in found for trace in row)
        return found

    def _run_pending(self) -> bool:
        """Make the runs that are known of; False where these are too many."""
        while any(thread.pending for thread in self.threads):
            if self.most is not None and self._made >= self.most:
                self.is_complete = False
                return False
            choices = [thread.pending.pop() if thread.pending else None for thread in self.threads]
            self._made += sum(each is not None for each in choices)
            for thread, recorded in zip(self.threads, self.run(choices)):
                if recorded is not None:
                    self._meet(thread, recorded)
        return True

    def _meet(self, thread: _Thread, recorded: Recorded) -> None:
        """Keep a new trace; the thread's own values are tried at each of its reads."""
        thread.recorded.append(recorded)
        reads = [event for event in recorded.trace.events if event.kind == Kind.READ]
        thread.most_reads |= Counter(event.place for event in reads)
        values = tuple(event.value for event in reads)
        for n, event in enumerate(reads):
            tried = thread.reads.setdefault(event.place, {}).setdefault(values[:n], {event.value})
            if event.until is not None:
                thread.loose.add((event.place, values[:n]))
            for value in recorded.own[n]:
                if value not in tried and self._may_read(thread, recorded.trace, n, value):
                    self._try(thread, values[:n], tried, value)

    def _may_read(self, thread: _Thread, trace: Trace, n: int, value: int) -> bool:
        """Whether the thread's n-th read may give this value, which it wrote or memory had before the kernel."""
        positions = [i for i, event in enumerate(trace.events) if event.kind == Kind.READ][: n + 1]
        last = trace.events[positions[-1]]
        if self.is_possible is None or last.until is not None or not any(e.until is not None for e in trace.events):
            return True
        key = last.place, tuple(trace.events[i].value for i in positions[:-1]), value
        if key in thread.impossible:
            return False
        events = (*trace.events[: positions[-1]], replace(last, value=value))
        open_ones = {i for i in positions if events[i].until is not None or self._is_foreign(thread, events[i])}
        if not self.is_possible(thread.number, events, open_ones):
            thread.impossible.add(key)
        return key not in thread.impossible

    def _is_foreign(self, thread: _Thread, read: Event) -> bool:
        """Whether another thread is known to write what a read gives."""
        writers = self._chains.get(read.place, {}).items()
        return any(read.value in chains for writer, chains in writers if writer != thread.number)

    def _try(self, thread: _Thread, before: Choices, tried: set[int], value: int) -> None:
        if value not in tried:
            tried.add(value)
            thread.pending.append((*before, value))

    def _spread(self) -> None:
        """Find the chains of values, and try those that others write at the reads of their places."""
        while sum(self._follow(thread.number, one) for thread in self.threads for one in thread.recorded):
            pass
        most = sum((thread.most_reads for thread in self.threads), Counter())
        for thread in self.threads:
            for place, rows in thread.reads.items():
                foreign, own = set(), set()
                for writer, chains in self._chains.get(place, {}).items():
                    (own if writer == thread.number else foreign).update(
                        value
                        for value, chain in chains.items()
                        if all(count <= most[each] for each, count in chain.items())
                    )
                for before, tried in rows.items():
                    values = foreign | own if (place, before) in thread.loose else foreign
                    for value in sorted(values - tried):
                        self._try(thread, before, tried, value)

    def _follow(self, number: int, recorded: Recorded) -> bool:
        """The chains of what a trace writes; whether one is shorter than was known."""
        own: dict[Hashable, dict[int, Chain]] = {}  # by place, by value
        of_read: dict[int, Chain] = {}
        has_changed = False
        for i, event in enumerate(recorded.trace.events):
            if event.kind == Kind.READ:
                chains = [
                    rows[event.value]
                    for writer, rows in self._chains.get(event.place, {}).items()
                    if (writer != number or event.until is not None) and event.value in rows
                ]
                if event.value in recorded.own[len(of_read)]:
                    chains.append(own.get(event.place, {}).get(event.value, {}))
                chain = _least(chains)
                of_read[i] = chain | {event.place: chain.get(event.place, 0) + 1}
            elif event.kind == Kind.WRITE:
                chain = _most([of_read[n] for n in event.needs])
                own.setdefault(event.place, {})[event.value] = chain
                known = self._chains.setdefault(event.place, {}).setdefault(number, {})
                before = known.get(event.value)
                known[event.value] = chain if before is None else _least([before, chain])
                has_changed |= known[event.value] != before
        return has_changed


def _least(chains: list[Chain]) -> Chain:
    """For each place the least of the counts."""
    least = dict(chains[0]) if chains else {}
    for chain in chains[1:]:
        least = {place: min(count, chain[place]) for place, count in least.items() if place in chain}
    return least


def _most(chains: list[Chain]) -> Chain:
    """For each place the largest of the counts."""
    most: Chain = {}
    for chain in chains:
        for place, count in chain.items():
            most[place] = max(most.get(place, 0), count)
    return most


def explore(
    count: int, run: Run, most: int | None = None, is_possible: Possible | None = None
) -> tuple[list[list[Trace]], bool]:
    """The traces of `count` threads, and whether these are all. See Explorer."""
    explorer = Explorer(count, run, most, is_possible)
    return explorer.traces(), explorer.is_complete
