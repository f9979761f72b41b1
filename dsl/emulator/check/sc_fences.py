"""The order of fence.sc. PTX ISA 8.9.3, 8.9.4, 8.10.2.

Two fence.sc whose scopes have both threads are ordered, and the earlier synchronises with the later. Which one is the
earlier is known in every run only if something shows it: a strong access after one fence and a conflicting strong
access before the other. If the second fence came first, the access of its thread would be before the access of the
first thread. An order that only this run shows does not count: a fence alone orders no two blocks.
"""

from __future__ import annotations

from dsl.emulator.check.clocks import Known


class _Place:
    """The clocks of fences before strong reads and writes of a place; `version` counts the changes."""

    def __init__(self) -> None:
        self.reads, self.writes, self.version = Known(), Known(), 0


class ScFences:
    """The fence.sc of one launch. A thread is (block, thread); a key names a place."""

    def __init__(self) -> None:
        self._fenced: dict[tuple, tuple[int, dict, tuple]] = {}  # by thread: its last fence: number, clocks, groups
        self._pending: dict[tuple, Known] = {}  # by thread: what it learns at its next fence
        self._places: dict[tuple, _Place] = {}
        self._told: dict[tuple, int] = {}  # by thread, key and whether it writes: its last fence then
        self._taken: dict[tuple, int] = {}  # the same: the last version

    def learnt(self, who: tuple, groups: tuple) -> dict:
        """Take the clocks that a thread learns at its fence.sc, whose scope has the thread in these groups."""
        pending = self._pending.pop(who, None)
        return pending.seen_by(groups) if pending is not None else {}

    def fenced(self, who: tuple, clocks: dict, groups: tuple) -> None:
        """A thread has passed a fence.sc, and knows these clocks."""
        self._fenced[who] = self._fenced[who][0] + 1 if who in self._fenced else 1, clocks, groups

    def access(self, who: tuple, groups: tuple, key: tuple, reads: bool, writes: bool) -> None:
        """A strong access of a thread that is in these groups."""
        place, fence = self._places.get(key), self._fenced.get(who)
        if place is not None and self._taken.get((who, key, writes)) != place.version:
            self._taken[who, key, writes] = place.version
            pending = self._pending.setdefault(who, Known())
            pending.take(place.writes, groups)
            if writes:
                pending.take(place.reads, groups)
        if fence is None or self._told.get((who, key, writes)) == fence[0]:
            return
        place = self._places.setdefault(key, _Place())
        self._told[who, key, writes] = fence[0]
        place.version += 1
        for does, known in ((reads, place.reads), (writes, place.writes)):
            if does:
                known.add(fence[2], fence[1])
