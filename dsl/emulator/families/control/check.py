"""The order of launches that may overlap: griddepcontrol.wait. PTX ISA 9.7.13.13."""

from __future__ import annotations

import numpy as np

from dsl.emulator.machine import context


def _wait(slot, thread: int, *_: int) -> None:
    """A thread waits until the launch before has ended: it has seen all of it."""
    slot.learn(thread, {context.EARLIER_GRID: np.full(2 * slot.threads, 1, np.uint32)})


def events(_order) -> dict:
    """The handlers of griddepcontrol for events of the order of a launch."""
    return {context.ORDER_GRIDS: _wait}
