"""Which arrivals at barriers meet: every way in which the barriers of a block can fill up. PTX ISA 9.7.13.1"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from dsl.memory_model.events import End, Event, Kind, Position, Trace

Arrival = tuple[int, int]  # a thread and the position of its event


@dataclass(frozen=True)
class Meetings:
    """Groups of arrivals that meet, and where the threads that nobody meets wait."""

    groups: frozenset[frozenset[Arrival]]
    stuck: tuple[Arrival, ...]


def meetings(traces: Sequence[Trace], positions: Sequence[Position]) -> Iterator[Meetings]:
    """Each way, once. A barrier that counts all threads does not wait for those that have ended."""
    arrivals = [[i for i, e in enumerate(trace.events) if e.kind == Kind.BARRIER] for trace in traces]
    seen: set[Meetings] = set()
    start = _State(tuple(0 for _ in traces), frozenset(), frozenset())
    waiting, known = [start], {start}
    while waiting:
        state, pending = _advanced(waiting.pop(), traces, arrivals, positions)
        full = list(_full(pending, traces, positions, state, arrivals))
        if not full:
            stuck = tuple(sorted(a for row in pending.values() for a in row if _event(traces, a).order == "sync"))
            result = Meetings(state.groups, stuck)
            if result not in seen:
                seen.add(result)
                yield result
        for group in full:
            after = _State(state.at, state.pending - group, state.groups | {group})
            if after not in known:
                known.add(after)
                waiting.append(after)


@dataclass(frozen=True)
class _State:
    at: tuple[int, ...]  # of each thread: how many arrivals it has made
    pending: frozenset[Arrival]  # that have met nobody yet
    groups: frozenset[frozenset[Arrival]]


def _event(traces: Sequence[Trace], arrival: Arrival) -> Event:
    return traces[arrival[0]].events[arrival[1]]


def _advanced(state: _State, traces, arrivals, positions) -> tuple[_State, dict[Hashable, list[Arrival]]]:
    """The state when no thread can go on by itself, and by barrier the arrivals that have met nobody."""
    at, pending = list(state.at), set(state.pending)
    for thread, own in enumerate(arrivals):
        held = any(t == thread and _event(traces, (t, i)).order == "sync" for t, i in pending)
        while not held and at[thread] < len(own):
            arrival = thread, own[at[thread]]
            pending.add(arrival)
            at[thread] += 1
            held = _event(traces, arrival).order == "sync"
    rows: dict[Hashable, list[Arrival]] = {}
    for arrival in sorted(pending):
        rows.setdefault((positions[arrival[0]].block, _event(traces, arrival).place), []).append(arrival)
    return _State(tuple(at), frozenset(pending), state.groups), rows


def _full(pending, traces, positions, state: _State, arrivals) -> Iterator[frozenset[Arrival]]:
    for (block, _), rows in pending.items():
        count = _event(traces, rows[0]).threads or sum(
            position.block == block and not _has_ended(thread, traces, state, arrivals)
            for thread, position in enumerate(positions)
        )
        for group in combinations(rows, count) if 0 < count <= len(rows) else ():
            if len({thread for thread, _ in group}) == count:
                yield frozenset(group)


def _has_ended(thread: int, traces, state: _State, arrivals) -> bool:
    own = arrivals[thread]
    is_held = any(t == thread and _event(traces, (t, i)).order == "sync" for t, i in state.pending)
    return traces[thread].end == End.DONE and state.at[thread] == len(own) and not is_held
