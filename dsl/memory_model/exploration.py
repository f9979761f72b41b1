"""The traces of each thread: run alone, with every value that its reads may give.

A read may give what the place held before the kernel, what its own thread wrote last, and what a trace of another
thread writes there. That value must not rest on this very read: for each value written the explorer keeps on which
choices it rests, as sets of (thread, number of the read, value). So chains of atomic operations end.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from dsl.memory_model.events import End, Kind, Trace

Choices = tuple[int, ...]  # the value of each read, in program order
Support = frozenset[tuple[int, int, int]]
MOST_SUPPORTS = 64  # of one value; more are left out, and then the result is not complete


@dataclass
class Recorded:
    """One run of a thread: its trace, and for each read the values that it may see if no other thread writes: what the
    thread wrote last, and earlier values too if another proxy reads. The first is taken if none is chosen."""

    trace: Trace
    own: list[tuple[int, ...]]


Run = Callable[[Sequence[Choices | None]], Sequence[Recorded | None]]


@dataclass
class _Thread:
    number: int
    pending: list[Choices] = field(default_factory=lambda: [()])
    recorded: list[Recorded] = field(default_factory=list)
    reads: dict[Hashable, dict[Choices, set[int]]] = field(default_factory=dict)  # by place, by what was chosen before


class Explorer:
    """`run` makes one run of each thread that gets choices; reads that have none give the thread's own value."""

    def __init__(self, count: int, run: Run, most: int | None = None):
        self.threads = [_Thread(n) for n in range(count)]
        self.run, self.most, self.is_complete = run, most, True
        # by place, by writing thread, by value
        self.supports: dict[Hashable, dict[int, dict[int, set[Support]]]] = {}
        self._has_grown = False

    def traces(self) -> list[list[Trace]]:
        """All traces of each thread."""
        made = 0
        while any(thread.pending for thread in self.threads):
            while any(thread.pending for thread in self.threads):
                if self.most is not None and made >= self.most:
                    self.is_complete = False
                    for thread in self.threads:
                        thread.pending.clear()
                    break
                choices = [thread.pending.pop() if thread.pending else None for thread in self.threads]
                made += sum(each is not None for each in choices)
                for thread, recorded in zip(self.threads, self.run(choices)):
                    if recorded is not None:
                        thread.recorded.append(recorded)
                        self._meet(thread, recorded)
            if self.is_complete:
                self._spread()
        found = [[recorded.trace for recorded in thread.recorded] for thread in self.threads]
        self.is_complete &= all(trace.end != End.CUT for row in found for trace in row)
        return found

    def _meet(self, thread: _Thread, recorded: Recorded) -> None:
        """Note the reads of a new trace; the thread's own value is tried at each."""
        reads = [event for event in recorded.trace.events if event.kind == Kind.READ]
        values = tuple(event.value for event in reads)
        for n, event in enumerate(reads):
            tried = thread.reads.setdefault(event.place, {}).setdefault(values[:n], {event.value})
            for value in recorded.own[n]:
                self._try(thread, values[:n], tried, value)

    def _try(self, thread: _Thread, before: Choices, tried: set[int], value: int) -> None:
        if value not in tried:
            tried.add(value)
            thread.pending.append((*before, value))

    def _spread(self) -> None:
        """Find on what values rest until nothing new is found, and try them at all reads of their places."""
        self._has_grown = True
        while self._has_grown:
            self._has_grown = False
            for thread in self.threads:
                for recorded in thread.recorded:
                    self._support(thread.number, recorded)
        for thread in self.threads:
            for place, rows in thread.reads.items():
                for before, tried in rows.items():
                    for value in self._foreign(thread.number, place, before) - tried:
                        self._try(thread, before, tried, value)

    def _foreign(self, reader: int, place: Hashable, before: Choices) -> set[int]:
        """The values that other threads may have written before this read."""
        return {
            value
            for writer, values in self.supports.get(place, {}).items()
            if writer != reader
            for value, supports in values.items()
            if any(_fits(support, reader, before) for support in supports)
        }

    def _support(self, number: int, recorded: Recorded) -> None:
        """On what the writes of a trace rest."""
        chosen: list[int] = []
        of_read: dict[int, set[Support]] = {}
        own: dict[Hashable, set[Support]] = {}
        for i, event in enumerate(recorded.trace.events):
            if event.kind == Kind.READ:
                of_read[i] = self._of_read(number, event, recorded.own[len(chosen)], tuple(chosen), own)
                chosen.append(event.value)
            elif event.kind == Kind.WRITE:
                own[event.place] = self._merged([of_read[n] for n in sorted(event.needs)])
                for support in own[event.place]:
                    self._keep(number, event.place, event.value, support)

    def _of_read(self, number: int, event, own_values: tuple[int, ...], chosen: Choices, own) -> set[Support]:
        this = (number, len(chosen), event.value)
        found: set[Support] = set()
        if event.value in own_values:
            found |= {support | {this} for support in own.get(event.place, {frozenset()})}
        for writer, values in self.supports.get(event.place, {}).items():
            if writer != number:
                fitting = (s for s in values.get(event.value, ()) if _fits(s, number, chosen))
                found |= {support | {this} for support in fitting}
        return _least(found)

    def _merged(self, parts: list[set[Support]]) -> set[Support]:
        merged: set[Support] = {frozenset()}
        for part in parts:
            merged = _least({a | b for a in merged for b in part if _agree(a | b)})
            if len(merged) > MOST_SUPPORTS:
                self.is_complete = False
                merged = set(sorted(merged, key=lambda s: (len(s), sorted(s)))[:MOST_SUPPORTS])
        return merged

    def _keep(self, number: int, place: Hashable, value: int, support: Support) -> None:
        known = self.supports.setdefault(place, {}).setdefault(number, {}).setdefault(value, set())
        if any(each <= support for each in known) or len(known) >= MOST_SUPPORTS:
            return
        known -= {each for each in known if support < each}
        known.add(support)
        self._has_grown = True


def _fits(support: Support, reader: int, before: Choices) -> bool:
    """Whether a value can rest on this where the thread `reader` has read `before` and reads now."""
    now = len(before)
    return all(n != now and (n > now or before[n] == value) for thread, n, value in support if thread == reader)


def _agree(support: Support) -> bool:
    return len({(thread, n) for thread, n, _ in support}) == len(support)


def _least(supports: set[Support]) -> set[Support]:
    """Those that have none of the others in them."""
    if len(supports) < 2:
        return supports
    least: list[Support] = []
    for support in sorted(supports, key=len):
        if not any(each <= support for each in least):
            least.append(support)
    return set(least)


def explore(count: int, run: Run, most: int | None = None) -> tuple[list[list[Trace]], bool]:
    """The traces of `count` threads, and whether these are all. `most`: how many runs of a thread are made."""
    explorer = Explorer(count, run, most)
    return explorer.traces(), explorer.is_complete
