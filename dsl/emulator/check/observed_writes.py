"""Writes that a thread knows of because it, or a thread it has heard of, read their place later.

PTX ISA 8.9.2, observation order: a strong write, and each atomic that read it or such an atomic, is before the strong
read of what the last of them left. 8.9.5, causality order, rule 2: such a write is before all that follows that read.
So the block with the last ticket may use the counter plainly. It holds for that place alone, not for what the others
did before; and it counts for accesses that run by what the read gave (dependence/observed.py).
"""

from __future__ import annotations

# Bits of ORDER_OBSERVES about a strong access; above SOURCE_SHIFT the bit of an atomic or load, then its bytes.
STORES, UPDATES, SOURCE_SHIFT, SIZE_SHIFT = 1, 2, 8, 40


class _Place:
    """Strong writes to some bytes, numbered. From `begins` on they are atomics that read one another's results."""

    def __init__(self, size_bytes: int):
        self.size_bytes = size_bytes
        self.count = self.begins = 0
        self.writes: dict[tuple, int] = {}  # by (block, thread, label): the last one
        # by (block, thread, label, source, begins): up to which write the thread has read
        self.observed: dict[tuple, int] = {}


class ObservedWrites:
    """Those of one launch. A key is (block of shared memory or None, address)."""

    def __init__(self) -> None:
        self._places: dict[tuple, _Place] = {}

    def access(self, slot, thread: int, key: tuple, what: int) -> None:
        """A strong access, before it is made."""
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = _Place(what >> SIZE_SHIFT)
        label = max(int(slot.labels[thread]), slot.ctx.epoch)
        source = what >> SOURCE_SHIFT & (1 << SIZE_SHIFT - SOURCE_SHIFT) - 1
        if source:
            place.observed[slot.block, thread, label, source, place.begins] = place.count
        if what & STORES:
            if not what & UPDATES:
                place.begins = place.count
            place.writes[slot.block, thread, label] = place.count
            place.count += 1

    def has_observed(self, slot, thread: int, key: tuple, writer: tuple, asked: int) -> bool:
        """Whether a write, (block, thread, label), is before what this thread does now by what `asked` gave."""
        place = self._place_of(key)
        number = place.writes.get(writer) if place is not None else None
        if place is None or number is None:
            return False
        return any(
            begins <= number < count and source & asked and _has_seen(slot, thread, *who)
            for (*who, source, begins), count in place.observed.items()
        )

    def _place_of(self, key: tuple) -> _Place | None:
        """The place that a byte is of."""
        block, address = key
        for size in (1, 2, 4, 8, 16):
            start = address & -size
            place = self._places.get((block, start))
            if place is not None and address < start + place.size_bytes:
                return place
        return None


def _has_seen(slot, thread: int, block: int, other: int, label: int) -> bool:
    if block == slot.block:
        return other == thread or bool(slot.seen(thread)[other] >= label)
    labels = slot.abroad(thread).labels(block)
    return labels is not None and bool(labels[other] >= label)
