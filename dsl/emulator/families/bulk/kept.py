"""The queue of bulk copies of a block: bulk_copies.cc."""

from __future__ import annotations

from dsl.emulator.families.bulk.numbers import BulkQueue
from dsl.emulator.machine.memory import Queues


class BulkCopies(Queues):
    """Native code allocates what it holds."""

    def __init__(self) -> None:
        super().__init__(BulkQueue, "bulk_copies", 1)

    def attach(self, ctx) -> None:
        """Once a slot is prepared."""
        ctx.bulk = self.address


KEPT = {"bulk": BulkCopies}
