"""Copies out of a block's shared memory into another block: the block has to hear of their end before it ends.

The mbarrier of the other block tells of the end, so a thread there waits, and then lets this block know.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dsl.emulator.families.mbarrier.check import Flight, Mbarrier

_MOST = 64  # of a block that are looked at, the last ones


class Sent:
    """Those of the block that runs in a slot, each with who has waited for it: (block, thread, label after that)."""

    def __init__(self, slot):
        self.flights: deque[tuple[Flight, list[tuple[int, int, int]]]] = deque(maxlen=_MOST)


def began(flight: Flight, one: Mbarrier) -> None:
    """A copy that signals an mbarrier has begun."""
    if flight.source:
        waits: list[tuple[int, int, int]] = []
        flight.slot.of(Sent).flights.append((flight, waits))
        one.sent.append((flight.phase, waits))


def waited(slot, thread: int, one: Mbarrier) -> None:
    """A thread has seen the end of the phase before the one that goes on."""
    one.sent = [each for each in one.sent if each[0] >= one.phase - 2]
    for phase, waits in one.sent:
        if phase < one.phase:
            waits.append((slot.block, thread, slot.label(thread)))


def unheard(slot) -> Flight | None:
    """The first copy whose end no thread of the block has heard of."""
    clocks = slot.of_others()

    def is_heard(block: int, thread: int, label: int) -> bool:
        return block in clocks and bool(clocks[block][slot.threads + thread] >= label)

    return next((flight for flight, waits in slot.of(Sent).flights if not any(is_heard(*each) for each in waits)), None)
