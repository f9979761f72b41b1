"""The tensor memory of a block, and the queue of what its tensor core has to do: tensor_memory.h."""

from __future__ import annotations

from dsl.emulator.families.tcgen05.numbers import TensorState, tensor_memory
from dsl.emulator.machine.memory import Buffer, Queues


class TensorMemory(Queues):
    """Native code allocates the queue."""

    def __init__(self) -> None:
        super().__init__(TensorState, "tensor_ops", 1)
        self._cells = Buffer()

    def attach(self, ctx) -> None:
        """Once a slot is prepared."""
        ctx.tensor = self.address
        TensorState.from_address(self.address).tensor_cells = self._cells.of(
            4 * tensor_memory.LANES * tensor_memory.COLUMNS
        )

    def close(self) -> None:
        """Give its memory back."""
        super().close()
        self._cells.close()


KEPT = {"tensor memory": TensorMemory}
