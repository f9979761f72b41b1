"""The order of launches that may overlap: griddepcontrol.wait, PTX ISA 9.7.13.13; and setmaxnreg, 9.7.19.5."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dsl.emulator.families.control import registers
from dsl.emulator.machine import context


def _wait(slot, thread: int, *_: int) -> None:
    """A thread waits until the launch before has ended: it has seen all of it."""
    slot.learn(thread, {context.EARLIER_GRID: np.full(2 * slot.threads, 1, np.uint32)})


def warnings(order, slots) -> Iterator[tuple[str, Any]]:
    """The finding that ends no launch, and a slot."""
    if order.of(registers.Ignored).first is not None:
        yield "ignored", slots[0]


def events(order) -> dict:
    """The handlers of this family for events of the order of a launch."""
    return {
        context.ORDER_GRIDS: _wait,
        context.ORDER_REGISTERS: order.of(registers.Ignored).change,
        context.ORDER_EXIT: registers.end,
    }
