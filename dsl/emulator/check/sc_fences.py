"""The order of fence.sc. PTX ISA 8.9.3, 8.9.4, 8.10.2.

Two fence.sc whose scopes have both threads are ordered, and the earlier synchronises with the later. Which one is the
earlier is known in every run only if something shows it: a strong access after one fence and a conflicting strong
access before the other. If the second fence came first, the access of its thread would be before the access of the
first thread. An order that only this run shows does not count: a fence alone orders no two blocks.
"""

from __future__ import annotations

import numpy as np

from dsl.emulator.check.clocks import Known
from dsl.emulator.check.numbers import scope


class _Left:
    """The fences of a block's threads, or the clocks that their accesses learnt, for threads that hear of them."""

    def __init__(self, slot) -> None:
        self.labels = np.zeros(slot.threads, np.uint32)  # by thread, of the stretch of the last one; 0: none
        self.rows: dict[int, Known] = {}  # by thread, since the epoch began
        self.common, self.epoch = Known(), 0  # all before the epoch: every thread of the block has heard of it
        self.version = 0
        self._heard: dict[int, tuple[tuple, Known]] = {}  # by thread, with its label and the version then

    def leave(self, slot, thread: int, known: Known) -> None:
        """A thread leaves something, from the stretch that it is in."""
        self._fold(slot.ctx.epoch)
        mine = self.rows.setdefault(thread, Known())
        mine.merge(known)
        self.labels[thread] = slot.label(thread)
        self.version += 1

    def heard(self, slot, thread: int) -> tuple[tuple, Known]:
        """All that a thread has heard of, itself included, and what tells whether that changed."""
        self._fold(slot.ctx.epoch)
        state = slot.label(thread), self.version
        if self._heard.get(thread, (None,))[0] != state:
            seen = slot.seen(thread)[: len(self.labels)]
            known = self.common.copy()
            for other in np.flatnonzero((self.labels != 0) & (seen >= self.labels)):
                known.merge(self.rows[int(other)])
            self._heard[thread] = state, known
        return self._heard[thread]

    def _fold(self, epoch: int) -> None:
        if epoch == self.epoch:
            return
        for known in self.rows.values():
            self.common.merge(known)
        self.epoch, self.rows = epoch, {}
        self.labels[:] = 0
        self.version += 1


class _Fences(_Left):
    """The fences of a block."""


class _Accesses(_Left):
    """The clocks that strong accesses of a block have learnt for fences after them."""


class _Place:
    """The clocks of fences before strong reads and writes of a place; `version` counts the changes."""

    def __init__(self) -> None:
        self.reads, self.writes, self.version = Known(), Known(), 0


class ScFences:
    """The fence.sc of one launch. A key names a place."""

    def __init__(self) -> None:
        self._places: dict[tuple, _Place] = {}
        # by block, thread, key and whether it writes: what it had heard of then, and the last version that it took
        self._told: dict[tuple, tuple] = {}
        self._taken: dict[tuple, int] = {}
        self._any = False

    def learnt(self, slot, thread: int, groups: tuple) -> dict:
        """The clocks that a thread learns at its fence.sc, whose scope has the thread in these groups."""
        return slot.of(_Accesses).heard(slot, thread)[1].seen_by(groups)

    def fenced(self, slot, thread: int, clocks: dict, groups: tuple) -> None:
        """A thread has passed a fence.sc, and knows these clocks."""
        self._any = True
        known = Known()
        known.add(groups, clocks)
        slot.of(_Fences).leave(slot, thread, known)

    def written(self, key: tuple) -> Known:
        """The clocks that a fence learns after a strong read of the last write of a place."""
        place = self._places.get(key)
        return place.writes.copy() if place is not None else Known()

    def read(self, slot, thread: int, fences: Known) -> None:
        """A thread has read a write of which `written` gave this."""
        if fences:
            learnt = Known()
            learnt.take(fences, slot.groups(scope.ALL))
            slot.of(_Accesses).leave(slot, thread, learnt)

    def access(self, slot, thread: int, groups: tuple, key: tuple, reads: bool, writes: bool) -> None:
        """A strong access of a thread that is in these groups."""
        if not self._any:
            return
        place, who = self._places.get(key), (slot.block, thread, key, writes)
        if place is not None and self._taken.get(who) != place.version:
            self._taken[who] = place.version
            learnt = Known()
            if reads:
                learnt.take(place.writes, groups)
            if writes:
                learnt.take(place.reads, groups)
            slot.of(_Accesses).leave(slot, thread, learnt)
        state, fences = slot.of(_Fences).heard(slot, thread)
        if not fences or self._told.get(who) == state:
            return
        place = self._places.setdefault(key, _Place())
        self._told[who] = state
        place.version += 1
        for does, known in ((reads, place.reads), (writes, place.writes)):
            if does:
                known.merge(fences)
