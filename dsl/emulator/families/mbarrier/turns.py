"""The order of the phases of an mbarrier: whether they follow one another in every order of threads.

An mbarrier has the parity of its phase alone, and counts arrivals whoever makes them. So

- an arrival must come after each arrival of the phase before: else both may count for one phase;
- a phase must end after each warp that waits for the phase before has seen its end: else that wait may miss it, and
  the thread goes on a phase late, or never;
- a wait for a phase must come after the end of the phase before: else it may find the one before that, which has the
  same parity, and return at once;
- bytes must be expected before an arrival of their phase, or before a copy without which the bytes that others expect
  do not come: else the phase may end without them, and they count for the next one.

PTX ISA 9.7.13.15. Whether one comes after the other is asked of the order of execution (order.py), not of this run. A
warp counts as one: one of its lanes is enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dsl.emulator.check.clocks import later

ARRIVAL, WAIT, BYTES, EARLY = 1, 2, 3, 4  # `detail` of a report: what is not in order


class Expected(NamedTuple):
    """Bytes that a thread expects in a phase: its label then, and what it had seen."""

    block: int
    thread: int
    label: int
    site: int
    n_bytes: int
    clock: dict

    def is_before(self, clock: dict) -> bool:
        """Whether who has this clock comes after it."""
        labels = clock.get(self.block)
        return labels is not None and bool(labels[len(labels) // 2 + self.thread] >= self.label)


class Turns:
    """The arrivals at an mbarrier in its phase and in the phase before: by block a label for each thread, 0: none."""

    def __init__(self) -> None:
        self.now: dict[int, np.ndarray] = {}
        self.before: dict[int, np.ndarray] = {}
        self.older: dict[int, np.ndarray] = {}  # in the phase before that
        # whether copies, which come when they may, end this phase, the one before, and the one before that
        self.ends_late = self.ended_late = self.older_ended_late = False
        self.sites: dict[tuple[int, int], int] = {}  # by (block, thread): of its last arrival
        self.expected: list[Expected] = []  # in this phase
        self.early: list[Expected] = []  # of these, those that no arrival comes after yet
        self.come: dict = {}  # a clock: what threads had seen when they arrived, or began the copies that signal it

    def issue(self, clock: dict) -> None:
        """A thread begins a copy."""
        self.come = later(clock, self.come)

    def expect(self, expected: Expected, arrives: bool) -> None:
        """A thread expects bytes, and perhaps arrives with it."""
        self.expected.append(expected)
        if not arrives:
            self.early.append(expected)

    def late_bytes(self, copies: Iterable[tuple[int, dict]]) -> Expected | None:
        """Bytes that need not be expected before the phase ends: all arrivals and bytes that do not come after may
        come before. `copies`: of the phase, the size of each and what its thread had seen when it began it."""
        copies = list(copies)
        for one in self.early:
            others = sum(each.n_bytes for each in self.expected if each is not one and not one.is_before(each.clock))
            if sum(size for size, clock in copies if not one.is_before(clock)) >= others:
                return one
        return None

    def arrive(self, block: int, thread: int, label: int, site: int, clock: dict) -> tuple[int, int, int] | None:
        """An arrival; (block, thread, site) of one of the phase before that it need not come after."""
        n = len(clock[block]) // 2
        self.come = later(clock, self.come)
        if self.early:
            self.early = [each for each in self.early if not each.is_before(clock)]
        for other, labels in self.before.items():
            seen = clock[other][n:] if other in clock else np.zeros(n, np.uint32)
            if (first := _unseen(labels, seen)) is not None:
                return other, first, self.sites[other, first]
        self.sites[block, thread] = site
        self.now.setdefault(block, np.zeros(n, np.uint32))[thread] = label
        return None

    def end(self) -> None:
        """The phase ends."""
        self.older, self.before, self.now = self.before, self.now, {}
        self.older_ended_late, self.ended_late, self.ends_late = self.ended_late, self.ends_late, False
        self.expected, self.early = [], []

    def unseen_end(self, clock: dict) -> tuple[int, int] | None:
        """(block, thread) of an arrival of the phase before the last one that ended, which who has this clock need not
        come after; any of them if copies ended that phase, which only a wait shows."""
        for block, labels in self.older.items():
            n = len(labels)
            seen = clock[block][n:] if block in clock and not self.older_ended_late else np.zeros(n, np.uint32)
            if (first := _unseen(labels, seen)) is not None:
                return block, first
        return None

    def missed(self, block: int, waits: dict[int, int], epoch: int, threads: int) -> int | None:
        """A thread of the block whose wait need not have returned when the phase ends: `waits` has their labels."""
        labels = np.zeros(threads, np.uint32)
        labels[list(waits)] = list(waits.values())
        known = self.come.get(block)
        seen = np.full(threads, epoch - 1, np.uint32)
        return _unseen(labels, seen if known is None else np.maximum(known[threads:], seen))


def _unseen(labels: np.ndarray, seen: np.ndarray) -> int | None:
    """A thread of a warp none of whose labels are among those seen."""
    came = np.flatnonzero(labels)
    warps = {int(each) >> 5 for each in came[seen[came] >= labels[came]]}
    return next((int(each) for each in came if int(each) >> 5 not in warps), None)
