"""Clocks: {block: labels}, the last label seen of each of its threads, twice: of memory, then of execution.

The order of memory tells which writes of a thread others know. The order of execution tells only that the thread had
come so far: what it had read by then was read. All of the first is in the second too. See order.py."""

from __future__ import annotations

import numpy as np


def joined(clocks: dict, more: dict) -> dict:
    """The later of both, block by block. Clocks are never changed in place."""
    if not clocks or not more:
        return clocks or more
    result = dict(clocks)
    for block, labels in more.items():
        mine = result.get(block)
        result[block] = labels if mine is None else np.maximum(mine, labels)
    return result


def later(clocks: dict, older: dict) -> dict:
    """`joined`, or `clocks` itself if the older ones add nothing."""
    if all(block in clocks and (clocks[block] is labels or (labels <= clocks[block]).all())
           for block, labels in older.items()):  # fmt: skip
        return clocks
    return joined(clocks, older)


def execution_only(clocks: dict) -> dict:
    """The part of clocks about execution, with none about memory."""
    return {block: np.concatenate((np.zeros_like(labels[: len(labels) // 2]), labels[len(labels) // 2 :]))
            for block, labels in clocks.items()}  # fmt: skip


class Known:
    """Clocks that threads may learn, by the group that may: a block, a cluster or all. See Slot.groups."""

    def __init__(self, by_group: dict | None = None) -> None:
        self._by_group: dict = by_group or {}
        self._seen: dict[tuple, dict] = {}

    def __bool__(self) -> bool:
        return bool(self._by_group)

    def add(self, groups: tuple, clocks: dict) -> None:
        """Threads of these groups may learn the clocks."""
        self._seen = {}
        for group in groups if clocks else ():
            self._by_group[group] = joined(self._by_group.get(group, {}), clocks)

    def seen_by(self, groups: tuple) -> dict:
        """The clocks that a thread of these groups learns; the same object until more are added."""
        if groups not in self._seen:
            result: dict = {}
            for group in groups:
                result = joined(result, self._by_group.get(group, {}))
            self._seen[groups] = result
        return self._seen[groups]

    def take(self, other: Known, groups: tuple) -> None:
        """Add the clocks that a thread of these groups may learn from `other`."""
        for group in groups:
            self.add((group,), other._by_group.get(group, {}))

    def merge(self, other: Known) -> None:
        """Add all that `other` has, for the groups that may learn it."""
        for group, clocks in other._by_group.items():
            self.add((group,), clocks)

    def most_of(self, block: int, thread: int) -> int:
        """The last label of a thread that some group may learn."""
        rows = [clocks[block] for clocks in self._by_group.values() if block in clocks]
        return max((int(labels[thread]) for labels in rows), default=0)

    def copy(self) -> Known:
        """A copy that later additions do not change."""
        return Known(dict(self._by_group))
