"""Bulk stores that a thread has not waited for. Bulk copies into shared memory are in mbarrier/check.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dsl.emulator.machine import context


class Stores:
    """The site of the last bulk store of each thread of the block that runs in a slot."""

    def __init__(self, slot):
        self.last: dict[int, int] = {}


class StoresLeft:
    """The bulk stores of a launch that (block, thread) has not waited for, by site."""

    def __init__(self, order):
        self.left: list[tuple[int, int, int]] = []

    @staticmethod
    def store(slot, thread: int, site: int, _: int) -> None:
        slot.of(Stores).last[thread] = site

    def leave(self, slot, thread: int, *_: int) -> None:
        """A thread ends, and its last bulk store may still read shared memory."""
        self.left.append((slot.block, thread, slot.of(Stores).last[thread]))


def warnings(order, slots) -> Iterator[tuple[str, Any]]:
    """The finding that ends no launch, and a slot."""
    if order.of(StoresLeft).left:
        yield "left", slots[0]


def events(order) -> dict:
    """The handlers of bulk stores for events of the order of a launch."""
    mine = order.of(StoresLeft)
    return {context.ORDER_BULK_STORE: mine.store, context.ORDER_BULK_LEFT: mine.leave}
