"""Whether a block of a cluster is known to have begun, where a thread touches its shared memory.

The CUDA programming guide asks for all blocks to exist before one touches another's shared memory, and blocks of a
cluster are only sure to run at the same time, not to begin together. It is known to a thread that has waited at the
cluster's barrier, however relaxed, that has learnt of anything the block did, or has read what it wrote, and to whoever
learns of that thread.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dsl.emulator.check.order import READS, WRITES


class Early(NamedTuple):
    """An access of a thread to the shared memory of a block that may not have begun."""

    thread: int
    address: int
    site: int
    owner: int


class Own:
    """The first such access of the block that runs in a slot."""

    def __init__(self, slot):
        self.early: Early | None = None


class Starts:
    """Of one launch."""

    def __init__(self, order):
        self.order = order
        # by (block, thread): how far it had come when it knew that another block (None: all of its cluster) has begun
        self.known: dict[tuple[int, int], dict[int | None, int]] = {}
        self.writers: dict[tuple, set[int]] = {}  # by the place of strong accesses: blocks

    def learn(self, slot, thread: int, block: int | None = None) -> None:
        """A thread knows from now on that a block has begun."""
        self.known.setdefault((slot.block, thread), {}).setdefault(block, slot.label(thread))

    def access(self, slot, thread: int, address: int, how: int) -> None:
        """A strong access: who reads what a block wrote knows of it."""
        if slot.ctx.cluster_blocks < 2:
            return
        writers = self.writers.setdefault(self.order.key(slot, address), set())
        for block in writers if how & READS else ():
            self.learn(slot, thread, block)
        if how & WRITES:
            writers.add(slot.block)

    def visit(self, slot, thread: int, address: int, site: int) -> None:
        """A thread touches another block's shared memory. The first mistake is kept: it is reported where nothing else
        is, which tells more."""
        owner: Any = self.order.owner(slot, address)
        mine = slot.of(Own)
        if owner is None or owner is slot or mine.early is not None or self._knows(slot, thread, owner.block):
            return
        mine.early = Early(thread, address, site, owner.block)

    def _knows(self, slot, thread: int, owner: int) -> bool:
        if {None, owner} & self.known.get((slot.block, thread), {}).keys():
            return True
        if slot.abroad(thread).labels(owner) is not None or any(
            slot.has_come(thread, block, other, label)
            for (block, other), begun in self.known.items()
            for key, label in begun.items()
            if key in (None, owner)
        ):
            self.learn(slot, thread, owner)
            return True
        return False
