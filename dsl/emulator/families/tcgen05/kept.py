"""The tensor memory of a block, and the queue of what its tensor core has to do: tensor_memory.h."""

from __future__ import annotations

from dsl.emulator.families.tcgen05.numbers import TensorState, tensor_memory
from dsl.emulator.machine.memory import Buffer, Queues, free


class TensorMemory(Queues):
    """Native code allocates the queue."""

    def __init__(self) -> None:
        super().__init__(TensorState, "tensor_ops", 1)
        self._cells = Buffer()

    def attach(self, ctx) -> None:
        """Once a slot is prepared."""
        ctx.tensor = self.address
        state = TensorState.from_address(self.address)
        state.tensor_cells = self._cells.of(4 * tensor_memory.LANES * tensor_memory.COLUMNS)
        state.tensor_accesses = state.tensor_last = state.matrix_last = state.tensor_written = 0

    def close(self) -> None:
        """Give its memory back."""
        super().close()
        free(TensorState.from_address(self.address).tensor_loads)
        self._cells.close()


KEPT = {"tensor memory": TensorMemory}
