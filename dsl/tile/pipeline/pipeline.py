"""Pipelines: a ring of stages that producers fill and consumers empty, with two mbarriers a stage.

Full ends a phase when the producers have committed, empty when the consumers have released. A producer starts with
parity 1, so that it finds every stage empty. CuTe DSL documentation: cutlass.pipeline.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number.dtypes import Boolean, Int32
from dsl.core.number.operators import operate
from dsl.core.number.pointer import Pointer
from dsl.core.phrase import shown
from dsl.gpu.threads import index, warp
from dsl.layout import Layout
from dsl.tile.pipeline import sync
from dsl.tile.pipeline.sync import (
    Carried,
    CooperativeGroup,
    MbarrierArray,
    PipelineOp,
    PipelineState,
    TmaStoreFence,
    refuse,
    when,
)
from dsl.tile.tensor.int_tuple import make_layout_image_mask


class PipelineUserType(enum.Enum):
    """The side of a pipeline that a state is of."""

    Producer = enum.auto()
    Consumer = enum.auto()


def make_pipeline_state(type: PipelineUserType, stages: int) -> PipelineState:
    """The state that a side of a pipeline of `stages` begins with."""
    if type not in (PipelineUserType.Producer, PipelineUserType.Consumer):
        raise DSLUserCodeTypeError(
            f"a pipeline state belongs to a producer or a consumer, got {shown(type)}",
            fix="pipeline.PipelineUserType.Producer",
        )
    return PipelineState(stages, Int32(0), Int32(0), Int32(1 if type is PipelineUserType.Producer else 0))


def _unless(token: Boolean | None, wait) -> None:
    """Wait, unless a try has found that there is nothing to wait for."""
    wait() if token is None else when(operate("xor", Boolean(token), Boolean(True)), wait)


def _barriers(
    storage: Pointer | None, num_stages: int, producer: tuple, consumer: tuple, tx_count: int = 0
) -> tuple[MbarrierArray, MbarrierArray]:
    """The arrays full and empty, one after the other."""
    if isinstance(num_stages, bool) or not isinstance(num_stages, int) or num_stages < 1:
        raise DSLUserCodeValueError(
            f"num_stages must be 1 or more and known while compiling, got {shown(num_stages)}",
            fix="num_stages=2, for example",
        )
    storage = sync.barrier_memory(storage, 2 * num_stages)
    return (
        MbarrierArray(storage, num_stages, producer, tx_count),
        MbarrierArray(storage + num_stages, num_stages, consumer),
    )


def _seen(defer_sync: bool, blocks: Layout | None = None) -> None:
    """Let the threads of the block, or of the cluster's `blocks`, see the barriers."""
    if not defer_sync:
        sync.pipeline_init_arrive(blocks, is_relaxed=True)
        sync.pipeline_init_wait(blocks)


@dataclass(frozen=True)
class PipelineAsync:
    """A pipeline between threads: producers write a stage and commit it, consumers read and release it."""

    sync_object_full: MbarrierArray
    sync_object_empty: MbarrierArray
    num_stages: int
    producer_mask: Any = None
    consumer_mask: Any = None

    @staticmethod
    def create(
        *,
        num_stages: int,
        producer_group: CooperativeGroup,
        consumer_group: CooperativeGroup,
        barrier_storage: Pointer | None = None,
        producer_mask=None,
        consumer_mask=None,
        defer_sync: bool = False,
        name: str = "",
    ) -> PipelineAsync:
        """Make the barriers, 2 * num_stages of 8 bytes at `barrier_storage`, and wait for the block unless deferred.

        `producer_mask`, `consumer_mask`: the rank of the cluster's block at whose barriers they arrive, if not their
        own.
        """
        arrays = _barriers(
            barrier_storage,
            num_stages,
            (PipelineOp.AsyncThread, producer_group),
            (PipelineOp.AsyncThread, consumer_group),
        )
        _seen(defer_sync)
        return PipelineAsync(*arrays, num_stages, producer_mask, consumer_mask)

    def producer_acquire(self, state: PipelineState, try_acquire_token: Boolean | None = None) -> None:
        """Wait until the stage is empty; not where a try has seen that it is."""
        _unless(try_acquire_token, lambda: self.sync_object_empty.wait(state.index, state.phase))

    def producer_try_acquire(self, state: PipelineState) -> Boolean:
        return self.sync_object_empty.try_wait(state.index, state.phase)

    def producer_commit(self, state: PipelineState) -> None:
        """Say that the stage is full."""
        self.sync_object_full.arrive(state.index, self.producer_mask)

    def consumer_wait(self, state: PipelineState, try_wait_token: Boolean | None = None) -> None:
        """Wait until the stage is full; not where a try has seen that it is."""
        _unless(try_wait_token, lambda: self.sync_object_full.wait(state.index, state.phase))

    def consumer_try_wait(self, state: PipelineState) -> Boolean:
        return self.sync_object_full.try_wait(state.index, state.phase)

    def consumer_release(self, state: PipelineState) -> None:
        """Say that the stage is empty."""
        self.sync_object_empty.arrive(state.index, self.consumer_mask)

    def producer_get_barrier(self, state: PipelineState) -> Pointer:
        return self.sync_object_full.get_barrier(state.index)

    def consumer_get_barrier(self, state: PipelineState) -> Pointer:
        return self.sync_object_empty.get_barrier(state.index)

    def producer_tail(self, state: PipelineState) -> None:
        """Wait until every stage is empty, from the next to be filled, so that no arrival comes after
        the block's end."""
        for stage in range(self.num_stages):
            if stage:
                state.advance()
            self.sync_object_empty.wait(state.index, state.phase)

    def make_producer(self) -> PipelineProducer:
        state = make_pipeline_state(PipelineUserType.Producer, self.num_stages)
        return PipelineProducer(self, state, self.sync_object_full.cg)

    def make_consumer(self) -> PipelineConsumer:
        state = make_pipeline_state(PipelineUserType.Consumer, self.num_stages)
        return PipelineConsumer(self, state, self.sync_object_empty.cg)

    def make_participants(self) -> tuple[PipelineProducer, PipelineConsumer]:
        return self.make_producer(), self.make_consumer()


@dataclass(frozen=True)
class PipelineCpAsync(PipelineAsync):
    """A pipeline whose producers fill a stage with cp.async: it is full when the copies have landed."""

    @staticmethod
    def create(
        *,
        barrier_storage: Pointer,
        num_stages: int,
        producer_group: CooperativeGroup,
        consumer_group: CooperativeGroup,
        producer_mask=None,
        consumer_mask=None,
        defer_sync: bool = False,
        name: str = "",
    ) -> PipelineCpAsync:
        arrays = _barriers(
            barrier_storage,
            num_stages,
            (PipelineOp.AsyncLoad, producer_group),
            (PipelineOp.AsyncThread, consumer_group),
        )
        _seen(defer_sync)
        return PipelineCpAsync(*arrays, num_stages, producer_mask, consumer_mask)


@dataclass(frozen=True)
class PipelineTmaAsync(PipelineAsync):
    """A pipeline that TMA fills: acquiring a stage declares the bytes that will come; it is full when they have.

    One lane of each consumer warp releases a stage, so a consumer group counts warps. If blocks of a cluster load for
    one another, a lane does so for each block that loads for this one: the group counts warps of all of them.
    """

    is_signaling_thread: Any = True

    @staticmethod
    def create(
        *,
        num_stages: int,
        producer_group: CooperativeGroup,
        consumer_group: CooperativeGroup,
        tx_count: int,
        barrier_storage: Pointer | None = None,
        cta_layout_vmnk=None,
        tidx: Int32 | None = None,
        mcast_mode_mn: tuple[int, int] = (1, 1),
        enable_multicast_signaling: bool = False,
        defer_sync: bool = False,
        name: str = "",
    ) -> PipelineTmaAsync:
        """`tx_count`: the bytes of one stage. `tidx`: the thread's number, whose multiples of 32 release stages.

        `cta_layout_vmnk`: the blocks of the cluster; blocks in one row, or one column, load for one another if
        `mcast_mode_mn` makes A (along N) or B (along M) multicast.
        """
        if enable_multicast_signaling:
            refuse("PipelineTmaAsync.create(enable_multicast_signaling=)")
        arrays = _barriers(
            barrier_storage,
            num_stages,
            (PipelineOp.TmaLoad, producer_group),
            (PipelineOp.AsyncThread, consumer_group),
            tx_count,
        )
        thread = index.thread_idx()[0] if tidx is None else tidx
        if cta_layout_vmnk is not None and sync.blocks_of(cta_layout_vmnk) > 1:
            block, signals = PipelineTmaAsync.init_empty_barrier_arrive_signal(cta_layout_vmnk, thread, mcast_mode_mn)
        else:
            block, signals = None, Boolean(thread % warp.WARP_SIZE == 0)
        _seen(defer_sync, cta_layout_vmnk)
        return PipelineTmaAsync(*arrays, num_stages, None, block, signals)

    @staticmethod
    def init_empty_barrier_arrive_signal(
        cta_layout_vmnk: Layout, tidx: Int32, mcast_mode_mn: tuple[int, int] = (1, 1)
    ) -> tuple[Int32, Boolean]:
        """The block whose empty barriers thread `tidx` arrives at, and whether it does: lane i of each warp at block i,
        where that loads for this block."""
        if tuple(mcast_mode_mn) not in ((1, 1), (1, 0), (0, 1)):
            raise DSLUserCodeValueError(
                f"mcast_mode_mn must be (1, 1), (1, 0) or (0, 1), got {mcast_mode_mn}", fix="mcast_mode_mn=(1, 1)"
            )
        lane = Int32(tidx % warp.WARP_SIZE)
        place = cta_layout_vmnk.get_flat_coord(warp.make_warp_uniform(index.block_idx_in_cluster()))
        mask = Int32(0)
        for is_multicast, mode in zip(mcast_mode_mn, (2, 1)):
            if is_multicast:
                mask = mask | Int32(make_layout_image_mask(cta_layout_vmnk, place, mode))
        return lane, Boolean(((mask >> lane) & 1) == 1) & Boolean(lane < sync.blocks_of(cta_layout_vmnk))

    def producer_acquire(self, state: PipelineState, try_acquire_token: Boolean | None = None) -> None:
        """Wait until the stage is empty, and expect its bytes."""
        super().producer_acquire(state, try_acquire_token)
        self.sync_object_full.arrive(state.index)

    def producer_commit(self, state: PipelineState) -> None:
        """Nothing: the bytes that come make the stage full."""

    def consumer_release(self, state: PipelineState) -> None:
        when(self.is_signaling_thread, lambda: self.sync_object_empty.arrive(state.index, self.consumer_mask))


@dataclass(frozen=True)
class PipelineTmaStore:
    """Stages that TMA stores from: a stage may be written again when its group of stores has been read."""

    sync_object_full: TmaStoreFence
    num_stages: int

    @staticmethod
    def create(*, num_stages: int, producer_group: CooperativeGroup) -> PipelineTmaStore:
        return PipelineTmaStore(TmaStoreFence(num_stages), num_stages)

    def producer_acquire(self) -> None:
        """Wait until at most num_stages - 1 groups are still to be read."""
        self.sync_object_full.wait()

    def producer_commit(self) -> None:
        """Close a group of stores."""
        self.sync_object_full.arrive()

    def producer_tail(self) -> None:
        self.sync_object_full.tail()

    def consumer_wait(self) -> None:
        refuse("PipelineTmaStore.consumer_wait")

    def consumer_release(self) -> None:
        refuse("PipelineTmaStore.consumer_release")


@dataclass(frozen=True)
class ResourceHandle:
    """A stage that one side holds: its `index`, its barrier, how many came before it."""

    origin: PipelineAsync
    state: PipelineState

    @property
    def index(self) -> Int32:
        return self.state.index

    @property
    def count(self) -> Int32:
        return self.state.count

    def get_origin(self) -> PipelineAsync:
        return self.origin


class _Participant(Carried):
    """One side of a pipeline and where it stands."""

    ImmutableResourceHandle: type[ResourceHandle]

    def __init__(self, pipeline: PipelineAsync, state: PipelineState, group: CooperativeGroup):
        self._pipeline, self._state, self._group = pipeline, state, group

    def parts(self) -> tuple:
        return (self._state,)

    def with_parts(self, parts: tuple):
        return type(self)(self._pipeline, parts[0], self._group)

    def clone(self):
        """A copy at the same stage, which goes on by itself."""
        return self.with_parts((self._state.clone(),))

    def reset(self) -> None:
        """Count the stages from 0 again."""
        self._state.reset_count()

    def advance(self, count: int | Int32 = 1) -> None:
        self._state.advance(count)

    def current_handle(self):
        return self.ImmutableResourceHandle(self._pipeline, self._state.clone())

    def _given(self, handle: ResourceHandle | None) -> PipelineState:
        """The stage of a handle, or the current stage of this side."""
        if handle is None:
            return self._state
        if not isinstance(handle, self.ImmutableResourceHandle) or handle.origin is not self._pipeline:
            raise DSLUserCodeValueError(
                "the handle is of another pipeline, or of its other side", fix="give back the handle to what gave it"
            )
        return handle.state


class PipelineProducer(_Participant):
    """The side that fills stages: acquire one, write it, commit it."""

    @dataclass(frozen=True)
    class ImmutableResourceHandle(ResourceHandle):
        """An empty stage, to be written and committed."""

        @property
        def barrier(self) -> Pointer:
            """The barrier on which consumers wait; copies by TMA arrive there."""
            return self.origin.producer_get_barrier(self.state)

        def commit(self) -> None:
            self.origin.producer_commit(self.state)

    def acquire(self, try_acquire_token: Boolean | None = None) -> ResourceHandle:
        """Wait until the stage is empty."""
        self._pipeline.producer_acquire(self._state, try_acquire_token)
        return self.current_handle()

    def acquire_and_advance(self, try_acquire_token: Boolean | None = None) -> ResourceHandle:
        handle = self.acquire(try_acquire_token)
        self.advance()
        return handle

    def try_acquire(self) -> Boolean:
        """Whether the stage is empty."""
        return self._pipeline.producer_try_acquire(self._state)

    def commit(self, handle: ResourceHandle | None = None) -> None:
        """Signal that the handle's stage, or the current stage of this side, is full."""
        self._pipeline.producer_commit(self._given(handle))

    def tail(self) -> None:
        """Before the producers end: wait until every stage is empty."""
        self._pipeline.producer_tail(self._state)


class PipelineConsumer(_Participant):
    """The side that empties stages: wait for one, read it, release it."""

    @dataclass(frozen=True)
    class ImmutableResourceHandle(ResourceHandle):
        """A full stage, to be read and released."""

        @property
        def barrier(self) -> Pointer:
            return self.origin.consumer_get_barrier(self.state)

        def release(self) -> None:
            self.origin.consumer_release(self.state)

    def wait(self, try_wait_token: Boolean | None = None) -> ResourceHandle:
        """Wait until the stage is full."""
        self._pipeline.consumer_wait(self._state, try_wait_token)
        return self.current_handle()

    def wait_and_advance(self, try_wait_token: Boolean | None = None) -> ResourceHandle:
        handle = self.wait(try_wait_token)
        self.advance()
        return handle

    def try_wait(self) -> Boolean:
        """Whether the stage is full."""
        return self._pipeline.consumer_try_wait(self._state)

    def release(self, handle: ResourceHandle | None = None) -> None:
        """Signal that the handle's stage, or the current stage of this side, is empty."""
        self._pipeline.consumer_release(self._given(handle))


class PipelineOrder(Carried):
    """`length` groups that take turns, `depth` times ahead of one another at most:
    wait for the turn, then pass it on."""

    def __init__(
        self, sync_object_full: MbarrierArray, depth: int, length: int, group_id: int | Int32, state: PipelineState
    ):
        self.sync_object_full, self.depth, self.length = sync_object_full, depth, length
        self.group_id, self.state = group_id, state

    @staticmethod
    def create(
        *,
        depth: int,
        length: int,
        group_id: int | Int32,
        producer_group: CooperativeGroup,
        barrier_storage: Pointer | None = None,
        defer_sync: bool = False,
        name: str = "",
    ) -> PipelineOrder:
        """`barrier_storage`: depth * length barriers of 8 bytes. Group 0 has the first turn."""
        storage = sync.barrier_memory(barrier_storage, depth * length)
        array = MbarrierArray(storage, depth * length, (PipelineOp.AsyncThread, producer_group))
        _seen(defer_sync)
        first = Int32(Boolean(Int32(group_id) == 0))
        return PipelineOrder(array, depth, length, group_id, PipelineState(depth, Int32(0), Int32(0), first))

    def parts(self) -> tuple:
        return (self.state,)

    def with_parts(self, parts: tuple) -> PipelineOrder:
        return PipelineOrder(self.sync_object_full, self.depth, self.length, self.group_id, *parts)

    def get_barrier_for_current_stage_idx(self, group_id: int | Int32, state: PipelineState | None = None) -> Int32:
        """The number of a group's barrier."""
        return Int32((state or self.state).index * self.length + group_id)

    def wait(self, state: PipelineState | None = None) -> None:
        """Wait for this group's turn."""
        at = state or self.state
        self.sync_object_full.wait(self.get_barrier_for_current_stage_idx(self.group_id, at), at.phase)

    def arrive(self, state: PipelineState | None = None) -> PipelineState | None:
        """Pass the turn on to the next group, and go on; a `state` that was given is given back."""
        at = state or self.state
        after = (self.group_id + 1) % self.length
        self.sync_object_full.arrive(self.get_barrier_for_current_stage_idx(after, at))
        at.advance()
        return state


def alloc_reserved_mbarrier(num_stages: int, *, multiplier: int = 2) -> Pointer:
    """Shared memory for `num_stages * multiplier` mbarriers."""
    return sync.barrier_memory(None, num_stages * multiplier)


class PipelineEmpty:
    """A pipeline without barriers, for a kernel that needs none in some of its forms: nobody waits."""

    def _nothing(self, *_, **__) -> None:
        """Nothing to do."""

    producer_acquire = producer_try_acquire = producer_commit = _nothing
    consumer_wait = consumer_try_wait = consumer_release = _nothing

    @staticmethod
    def create(*_, **__) -> PipelineEmpty:
        """The pipeline, whatever another would be made of."""
        return PipelineEmpty()
