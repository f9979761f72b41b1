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
            stuck = tuple(sorted(filter(None, (_held_at(t, state, traces, arrivals) for t, _ in enumerate(traces)))))
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
    at: tuple[int, ...]  # of each thread: how many arrivals and waits it has made
    pending: frozenset[Arrival]  # that have met nobody yet
    groups: frozenset[frozenset[Arrival]]


def _barrier_of(arrival: Arrival, traces: Sequence[Trace], positions: Sequence[Position]) -> Hashable:
    event, position = _event(traces, arrival), positions[arrival[0]]
    return event.scope, position.cluster if event.scope == "cluster" else position.block, event.place


def _first_of(position: Position, positions: Sequence[Position]) -> int:
    """The first thread of the same block."""
    return next(t for t, other in enumerate(positions) if other.block == position.block)


def _event(traces: Sequence[Trace], arrival: Arrival) -> Event:
    return traces[arrival[0]].events[arrival[1]]


def _advanced(state: _State, traces, arrivals, positions) -> tuple[_State, dict[Hashable, list[Arrival]]]:
    """The state when no thread can go on by itself, and by barrier the arrivals that have met nobody."""
    at, pending = list(state.at), set(state.pending)
    for thread, own in enumerate(arrivals):
        held = _is_held(thread, at[thread], pending, traces, own)
        while not held and at[thread] < len(own):
            arrival = thread, own[at[thread]]
            if _event(traces, arrival).order != "wait":
                pending.add(arrival)
            at[thread] += 1
            held = _is_held(thread, at[thread], pending, traces, own)
    rows: dict[Hashable, list[Arrival]] = {}
    for arrival in sorted(pending):
        rows.setdefault(_barrier_of(arrival, traces, positions), []).append(arrival)
    return _State(tuple(at), frozenset(pending), state.groups), rows


def _full(pending, traces, positions, state: _State, arrivals) -> Iterator[frozenset[Arrival]]:
    for rows in pending.values():
        first = rows[0]
        scope, here = _event(traces, first).scope, positions[first[0]]
        block = sum(1 << t for t, other in enumerate(positions) if here.reaches(other, scope))
        members = (_event(traces, first).value << _first_of(here, positions) or -1) & block
        count = _event(traces, first).threads or sum(
            members >> thread & 1 and not _has_ended(thread, traces, state, arrivals)
            for thread, _ in enumerate(positions)
        )
        for group in combinations(rows, count) if 0 < count <= len(rows) else ():
            if len({thread for thread, _ in group}) == count:
                yield frozenset(group)


def _has_ended(thread: int, traces, state: _State, arrivals) -> bool:
    is_held = _is_held(thread, state.at[thread], state.pending, traces, arrivals[thread])
    return traces[thread].end == End.DONE and state.at[thread] == len(arrivals[thread]) and not is_held


def arrival_of(wait: int, trace: Trace) -> int | None:
    """The last arrival of the thread at the barrier of a wait, before it."""
    place = trace.events[wait].place
    before = (i for i in range(wait) if trace.events[i].kind == Kind.BARRIER and trace.events[i].place == place)
    return max((i for i in before if trace.events[i].order != "wait"), default=None)


def _is_held(thread: int, at: int, pending, traces, own: list[int]) -> bool:
    """Whether the thread, which has come as far as `at`, waits there."""
    if at == 0:
        return False
    last, trace = own[at - 1], traces[thread]
    order = trace.events[last].order
    if order == "wait":
        arrival = arrival_of(last, trace)
        return arrival is None or (thread, arrival) in pending
    return order in ("sync", "meet") and (thread, last) in pending


def _held_at(thread: int, state: _State, traces, arrivals) -> Arrival | None:
    at, own = state.at[thread], arrivals[thread]
    return (thread, own[at - 1]) if _is_held(thread, at, state.pending, traces, own) else None
