"""The queues of cp.async copies of a block, one for each thread: cp_async_queue.cc."""

from __future__ import annotations

from dsl.emulator.families.cp_async.numbers import CopyQueue
from dsl.emulator.machine import context
from dsl.emulator.machine.memory import Queues


class CopyQueues(Queues):
    """Native code allocates what they hold."""

    def __init__(self) -> None:
        super().__init__(CopyQueue, "copies", context.MAX_THREADS)

    def attach(self, ctx) -> None:
        """Once a slot is prepared."""
        ctx.queues = self.address


KEPT = {"cp.async": CopyQueues}
