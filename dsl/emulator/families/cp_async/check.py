"""Copies of cp.async that a tensor core reads by the async proxy, with no fence after them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple


class Unfenced(NamedTuple):
    block: int
    thread: int  # that reads
    reader: int  # sites
    copy: int


class UnfencedCopies:
    """The first copy of a launch that a `tcgen05.mma` or `tcgen05.cp` reads without a fence."""

    def __init__(self, order):
        self.order, self.first = order, None

    def look(self, slot, thread: int, site: int, reader: int) -> None:
        """A thread's `reader` reads by the async proxy what it does not see, written at a site."""
        sites = self.order.sites
        if self.first is None and sites[reader].opcode == "tcgen05" and is_copy(sites[site]):
            self.first = Unfenced(slot.block, thread, reader, site)


def is_copy(instr) -> bool:
    """Whether an instruction is cp.async, not a bulk copy."""
    return instr.opcode == "cp" and "bulk" not in instr.mods


def warnings(order, slots) -> Iterator[tuple[str, Any]]:
    """The finding that ends no launch, and a slot."""
    if order.of(UnfencedCopies).first is not None:
        yield "unfenced copy", slots[0]
