"""Synchronization of a kernel's threads: groups of them, arrays of mbarriers, named barriers, fences of bulk stores.

CuTe DSL documentation: cutlass.pipeline (SyncObject and below).
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from dsl.core import pytree
from dsl.core.control_flow.branches.branch import if_
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number.dtypes import Boolean, Int32, Int64, Numeric, is_dynamic, numeric
from dsl.core.number.operators import select, type_name
from dsl.core.number.pointer import Pointer
from dsl.core.phrase import shown
from dsl.gpu.memory import copy
from dsl.gpu.threads import index, mbarrier, sync as gpu_sync, warp
from dsl.layout import shape_of
from dsl.layout.int_tuple import flatten_to_tuple, join_dynamic, split_dynamic
from dsl.tile.memory.memory import SmemAllocator, SmemPartition

NAMED_BARRIERS = 16
_REFUSED = "see docs/pipelines.md for what is"


class Agent(enum.Enum):
    """Who takes part: single threads, whole warps, the block, the cluster."""

    Thread = enum.auto()
    Warp = enum.auto()
    ThreadBlock = enum.auto()
    ThreadBlockCluster = enum.auto()


class PipelineOp(enum.Enum):
    """The way in which the threads of a group arrive."""

    AsyncThread = enum.auto()
    TCGen05Mma = enum.auto()
    TmaLoad = enum.auto()
    ClcLoad = enum.auto()
    TmaStore = enum.auto()
    Composite = enum.auto()
    AsyncLoad = enum.auto()


class CooperativeGroup:
    """`size` agents that arrive together: the arrivals that end a phase. Raises DSLUserCodeValueError for none."""

    def __init__(self, agent: Agent, size: int | Int32 = 1, alignment: int | None = None):
        if alignment is not None:
            refuse("CooperativeGroup(alignment=)")
        static = size.value if isinstance(size, Numeric) and not is_dynamic(size) else size
        if isinstance(static, int) and static <= 0:
            raise DSLUserCodeValueError(
                f"a CooperativeGroup has one agent or more, got {static}", fix="CooperativeGroup(Agent.Thread, 32)"
            )
        if agent not in (Agent.Thread, Agent.Warp):
            refuse(f"a CooperativeGroup of {shown(agent)}")
        self.agent, self.size = agent, size

    @property
    def arrivals(self) -> int | Int32:
        """How many threads arrive."""
        return self.size * warp.WARP_SIZE if self.agent is Agent.Warp else self.size


def refuse(what: str) -> None:
    """Raise for a part of cutlass.pipeline that is not here, by its name."""
    raise DSLUserCodeError(f"{what} is not part of this compiler yet", id="UNSUPPORTED_NAME", fix=_REFUSED)


def refuse_op(op_type: Any) -> NoReturn:
    """Raise for an operation whose threads do not arrive at an mbarrier of Hopper."""
    raise DSLUserCodeError(
        f"arriving by {shown(op_type)} needs Blackwell"
        if op_type in (PipelineOp.TCGen05Mma, PipelineOp.ClcLoad)
        else f"no group arrives at an mbarrier by {shown(op_type)}",
        id="UNSUPPORTED_NAME",
        fix="on Hopper threads arrive: pipeline.PipelineOp.AsyncThread",
    )


def when(condition: Any, body: Callable[[], Any]) -> None:
    """Do `body` where `condition` holds, which may be known while running only."""

    def then() -> tuple:
        body()
        return ()

    if_(Boolean(condition), then, tuple, (), ())


class Carried:
    """An object that a dynamic statement may change: `parts` are the values in it, `with_parts` is one like it."""

    def parts(self) -> tuple:
        raise NotImplementedError

    def with_parts(self, parts: tuple):
        raise NotImplementedError

    def __extract_mlir_values__(self) -> list:
        return [leaf.ir() for leaf in pytree.flatten(self.parts())[0]]

    def __new_from_mlir_values__(self, values: list):
        leaves, node = pytree.flatten(self.parts())
        leaves_with_ir = iter([leaf.with_ir(value) for leaf, value in zip(leaves, values)])
        return self.with_parts(pytree.unflatten(node, leaves_with_ir, self.parts()))


class PipelineState(Carried):
    """The position of one side of a pipeline: stage `index`, the parity `phase` of that stage's barrier, and `count`,
    the stages passed."""

    def __init__(self, stages: int, count: Int32, index: Int32, phase: Int32):
        self._stages, self._count, self._index, self._phase = stages, count, index, phase

    stages = property(lambda self: self._stages)
    count = property(lambda self: self._count)
    index = property(lambda self: self._index)
    phase = property(lambda self: self._phase)

    def parts(self) -> tuple:
        return self._count, self._index, self._phase

    def with_parts(self, parts: tuple) -> PipelineState:
        return PipelineState(self._stages, *parts)

    def clone(self) -> PipelineState:
        return self.with_parts(self.parts())

    def reset_count(self) -> None:
        self._count = Int32(0)

    def advance(self, count: int | Int32 = 1) -> None:
        """Go on `count` stages; round the end the parity changes."""
        static = count.value if isinstance(count, Numeric) and not is_dynamic(count) else count
        self._count = Int32(self._count + count)
        moved = Int32(self._index + count)
        if isinstance(static, int) and 0 <= static <= self._stages:
            wraps = moved >= self._stages
            first = Int32(0) if static == 1 else moved - self._stages
            self._index = select(wraps, first, moved)
            self._phase = Int32(self._phase ^ Int32(wraps))
        else:
            self._index = Int32(moved % self._stages)
            self._phase = Int32(self._phase ^ ((moved // self._stages) & 1))

    def reverse(self) -> None:
        """Go back one stage."""
        at_start = self._index == 0
        self._count = Int32(self._count - 1)
        self._index = Int32(self._index - 1 + Int32(at_start) * self._stages)
        self._phase = Int32(self._phase ^ Int32(at_start))


class MbarrierArray:
    """`num_stages` mbarriers at `barrier_storage`, made by warp 0 for the arrivals of a group.

    `tx_count`: the bytes that arrive_and_expect_tx of a TmaLoad expects.
    """

    def __init__(
        self, barrier_storage: Pointer, num_stages: int, agent: tuple[PipelineOp, CooperativeGroup], tx_count: int = 0
    ):
        self.barrier_storage, self.num_stages, self.tx_count = barrier_storage, num_stages, tx_count
        self.op_type, self.cg = agent
        if self.op_type not in (PipelineOp.AsyncThread, PipelineOp.TmaLoad, PipelineOp.AsyncLoad):
            refuse_op(self.op_type)
        self.arrive_count = self.cg.arrivals
        if self.op_type is PipelineOp.TmaLoad and tx_count < 0:
            raise DSLUserCodeValueError(
                f"tx_count must be 0 or more, got {tx_count}", fix="give the bytes that come into one stage"
            )
        self.mbarrier_init()

    def mbarrier_init(self) -> None:
        """Make the barriers, in one thread of warp 0. Others see them after a fence and a barrier of the block."""

        def initialise() -> None:
            with gpu_sync.elect_one():
                for stage in range(self.num_stages):
                    mbarrier.init(self.get_barrier(stage), self.arrive_count)

        when(warp.make_warp_uniform(index.warp_idx()) == 0, initialise)

    def get_barrier(self, index: int | Int32) -> Pointer:
        return self.barrier_storage + index

    def arrive(self, index: int | Int32, dst: int | Int32 | None = None) -> None:
        """Let the group's threads arrive at stage `index`, in block `dst` of the cluster if given."""
        if self.op_type is PipelineOp.AsyncThread:
            self.arrive_mbarrier(index, dst)
        elif self.op_type is PipelineOp.TmaLoad:
            self.arrive_and_expect_tx(index, self.tx_count)
        else:
            self.arrive_cp_async_mbarrier(index)

    def arrive_mbarrier(self, index: int | Int32, dst_rank: int | Int32 | None = None) -> None:
        mbarrier.arrive(self.get_barrier(index), dst_rank)

    def arrive_cp_async_mbarrier(self, index: int | Int32) -> None:
        mbarrier.cp_async_arrive_noinc(self.get_barrier(index))

    def arrive_and_expect_tx(self, index: int | Int32, tx_count: int) -> None:
        """In one lane of the warp."""
        with gpu_sync.elect_one():
            mbarrier.arrive_expect_tx(self.get_barrier(index), tx_count)

    def try_wait(self, index: int | Int32, phase: int | Int32) -> Boolean:
        return mbarrier.poll(self.get_barrier(index), phase)

    def test_wait(self, index: int | Int32, phase: int | Int32) -> Boolean:
        return mbarrier.test_wait(self.get_barrier(index), phase)

    def wait(self, index: int | Int32, phase: int | Int32) -> None:
        mbarrier.wait(self.get_barrier(index), phase)

    def max(self) -> int:
        return mbarrier.MOST_ARRIVALS


@dataclass(frozen=True, eq=False)
class NamedBarrier:
    """One of the block's 16 barriers, for `num_threads`, a multiple of 32.  PTX ISA: bar.

    All threads that arrive and all that wait count. Raises DSLUserCodeValueError for a barrier that is not there.
    """

    barrier_id: int | Int32
    num_threads: int | Int32

    def __post_init__(self) -> None:
        number = getattr(numeric(self.barrier_id), "value", None)
        if isinstance(number, int) and not 0 <= number < NAMED_BARRIERS:
            raise DSLUserCodeValueError(
                f"barrier id must be 0-{NAMED_BARRIERS - 1}, got {number}",
                fix="NamedBarrier(barrier_id=1, num_threads=64)",
            )

    def __flatten__(self) -> tuple[tuple, Any]:
        return split_dynamic((self.barrier_id, self.num_threads))

    @classmethod
    def __unflatten__(cls, key: Any, children: Sequence[Any]) -> NamedBarrier:
        return cls(*join_dynamic(key, iter(children)))

    def arrive(self) -> None:
        """Arrive, as all threads of the warp do together, without waiting."""
        gpu_sync.barrier_arrive(self.barrier_id, self.num_threads)

    def arrive_unaligned(self) -> None:
        """As `arrive`, for any threads of a warp."""
        gpu_sync.barrier_arrive(self.barrier_id, self.num_threads, aligned=False)

    def arrive_and_wait(self) -> None:
        gpu_sync.barrier(self.barrier_id, self.num_threads)

    wait = wait_unaligned = sync = arrive_and_wait

    def arrive_and_drop(self) -> None:
        refuse("NamedBarrier.arrive_and_drop")

    def get_barrier(self) -> int | Int32:
        return self.barrier_id

    def max(self) -> int:
        return NAMED_BARRIERS


class TmaStoreFence:
    """Groups of bulk stores of a buffer of `num_stages`: `arrive` closes one,
    `wait` leaves num_stages - 1 in flight."""

    def __init__(self, num_stages: int = 0):
        self.num_stages = num_stages
        if num_stages <= 0:
            raise DSLUserCodeValueError(
                f"number of stages must be 1 or more, got {num_stages}", fix="num_stages=1, for example"
            )

    def arrive(self) -> None:
        copy.cp_async_bulk_commit_group()

    def wait(self) -> None:
        copy.cp_async_bulk_wait_group(self.num_stages - 1, read=True)

    def arrive_and_wait(self) -> None:
        self.arrive()
        self.wait()

    def tail(self) -> None:
        """Wait until every group's sources have been read."""
        copy.cp_async_bulk_wait_group(0, read=True)


def arrive(barrier_id: int, num_threads: int) -> None:
    NamedBarrier(barrier_id, num_threads).arrive()


def arrive_unaligned(barrier_id: int, num_threads: int) -> None:
    NamedBarrier(barrier_id, num_threads).arrive_unaligned()


def arrive_and_wait(barrier_id: int, num_threads: int) -> None:
    NamedBarrier(barrier_id, num_threads).arrive_and_wait()


wait_unaligned = arrive_and_wait


def sync(barrier_id: int = 0) -> None:
    """Wait for all threads of the block at one of its barriers."""
    gpu_sync.barrier(barrier_id)


def agent_sync(group: Agent, is_relaxed: bool = False) -> None:
    """Wait for all threads of the block, or of the cluster."""
    if group is Agent.ThreadBlock:
        gpu_sync.sync_threads()
    elif group is Agent.ThreadBlockCluster:
        _cluster_arrive(is_relaxed)
        gpu_sync.cluster_wait()
    else:
        raise DSLUserCodeValueError(
            f"agent_sync synchronizes a block or a cluster, got {shown(group)}",
            fix="Agent.ThreadBlock; `cute.arch.sync_warp()` joins a warp",
        )


def _cluster_arrive(is_relaxed: bool) -> None:
    (gpu_sync.cluster_arrive_relaxed if is_relaxed else gpu_sync.cluster_arrive)()


def blocks_of(cluster_shape: Any) -> int:
    """The blocks of a cluster of that shape, a tuple or a layout; None is one block."""
    if cluster_shape is None:
        return 1
    return math.prod(flatten_to_tuple(shape_of(cluster_shape) if hasattr(cluster_shape, "shape") else cluster_shape))


def pipeline_init_arrive(cluster_shape_mn=None, is_relaxed: bool = False) -> None:
    """Let others see the barriers that pipelines made with `defer_sync=True` have;
    pipeline_init_wait waits for them."""
    mbarrier.init_fence()
    if blocks_of(cluster_shape_mn) > 1:
        _cluster_arrive(is_relaxed)


def pipeline_init_wait(cluster_shape_mn=None) -> None:
    gpu_sync.cluster_wait() if blocks_of(cluster_shape_mn) > 1 else gpu_sync.sync_threads()


def barrier_memory(storage: Pointer | None, count: int) -> Pointer:
    """`storage`, or new shared memory for `count` mbarriers. Raises DSLUserCodeTypeError if it is not a pointer."""
    if storage is None:
        return SmemAllocator().allocate_array(Int64, count, partition=SmemPartition.RESERVED)
    if not isinstance(storage, Pointer):
        raise DSLUserCodeTypeError(
            f"barrier_storage must be a pointer to shared memory for mbarriers, got {type_name(storage)}",
            fix="barrier_storage=storage.barriers.data_ptr()",
        )
    mbarrier.address_of(storage)
    return storage
