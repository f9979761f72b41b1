"""A numbered barrier of the block and how many threads take part in it.  PTX ISA: bar, barrier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dsl.core.errors import DSLUserCodeError
from dsl.gpu.sync import barrier, barrier_arrive
from dsl.layout.int_tuple import join_dynamic, split_dynamic


@dataclass(frozen=True)
class NamedBarrier:
    """Barrier `barrier_id` (0 to 15; 0 is that of sync_threads) for `num_threads`, a multiple of 32."""

    barrier_id: Any
    num_threads: Any

    def __post_init__(self) -> None:
        if isinstance(self.barrier_id, int) and not 0 <= self.barrier_id < 16:
            raise DSLUserCodeError(f"a block has the barriers 0 to 15, and this is {self.barrier_id}", fix="barrier_id=1")
        if isinstance(self.num_threads, int) and (self.num_threads <= 0 or self.num_threads % 32):
            raise DSLUserCodeError(f"a barrier counts whole warps, and {self.num_threads} is no multiple of 32",
                                   fix="round the count up to a multiple of 32")

    def __flatten__(self) -> tuple[tuple, Any]:
        return split_dynamic((self.barrier_id, self.num_threads))

    @classmethod
    def __unflatten__(cls, key: Any, children: Sequence[Any]) -> NamedBarrier:
        return cls(*join_dynamic(key, iter(children)))

    def arrive(self) -> None:
        """Say so, without waiting; all threads of a warp together."""
        barrier_arrive(self.barrier_id, self.num_threads)

    def arrive_unaligned(self) -> None:
        """Say so, without waiting; some threads of a warp may be elsewhere."""
        barrier_arrive(self.barrier_id, self.num_threads, aligned=False)

    def arrive_and_wait(self) -> None:
        """Wait until `num_threads` have come."""
        barrier(self.barrier_id, self.num_threads)

    def wait(self) -> None:
        """The same as arrive_and_wait: PTX has no wait without arriving."""
        self.arrive_and_wait()

    sync = arrive_and_wait
