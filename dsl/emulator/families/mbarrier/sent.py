"""Copies out of a block's shared memory into another block: the block has to hear of their end before it ends.

The mbarrier of the other block tells of the end, so a thread there waits, and then lets this block know. A relaxed
barrier of the cluster is enough: no memory is read after it.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from dsl.emulator.families.cluster.check import Clusters, Met

_MOST = 64  # of a block that are looked at, the last ones


class _Wait(NamedTuple):
    """A wait of a thread, its label after it, and the phase of the cluster's barrier whose end comes after it."""

    block: int
    thread: int
    label: int
    phase: int


class Sent:
    """Those of the block that runs in a slot, each with who has waited for it: see _Wait."""

    def __init__(self, slot):
        self.flights: deque[tuple[Any, list[_Wait]]] = deque(maxlen=_MOST)


def began(flight, one) -> None:
    """A copy (a Flight of check.py) that signals an mbarrier has begun."""
    if flight.source:
        waits: list[_Wait] = []
        flight.slot.of(Sent).flights.append((flight, waits))
        one.sent.append((flight.phase, waits))


def waited(slot, thread: int, one, clusters: Clusters) -> None:
    """A thread has seen the end of the phase before the one that goes on."""
    one.sent = [each for each in one.sent if each[0] >= one.phase - 2]
    for phase, waits in one.sent:
        if phase < one.phase:
            waits.append(_Wait(slot.block, thread, slot.label(thread), clusters.next_phase(slot, thread)))


def unheard(slot) -> Any:
    """The first copy whose end no thread of the block has heard of."""
    clocks = slot.of_others()

    def is_heard(by: _Wait) -> bool:
        if slot.of(Met).phase >= by.phase:
            return True
        return by.block in clocks and bool(clocks[by.block][slot.threads + by.thread] >= by.label)

    return next((flight for flight, waits in slot.of(Sent).flights if not any(map(is_heard, waits))), None)
