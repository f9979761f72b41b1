"""A pipeline that TMA fills and two groups of consumers empty: on Hopper threads both.

CuTe DSL documentation: cutlass.pipeline.PipelineTmaMultiConsumersAsync. There one of the two is the tensor core of
Blackwell, which releases a stage by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from dsl.core.errors import warn
from dsl.core.number.dtypes import Boolean, Int32
from dsl.core.number.pointer import Pointer
from dsl.gpu.threads import warp
from dsl.tile.pipeline.pipeline import PipelineConsumer, PipelineProducer, PipelineTmaAsync
from dsl.tile.pipeline.sync import Agent, CooperativeGroup, PipelineOp, PipelineState, refuse, refuse_op


@dataclass(frozen=True)
class PipelineTmaMultiConsumersAsync(PipelineTmaAsync):
    """A stage is empty when both groups have released it, each `consumer_release(state, PipelineOp.AsyncThread)`.

    One lane of each warp releases, so both groups count warps; every lane does where one counts a multiple of 32.
    """

    @staticmethod
    def create(
        *,
        num_stages: int,
        producer_group: CooperativeGroup,
        consumer_group_umma: CooperativeGroup,
        consumer_group_async: CooperativeGroup,
        tx_count: int,
        barrier_storage: Pointer | None = None,
        cta_layout_vmnk=None,
        mcast_mode_mn: tuple[int, int] = (1, 1),
        tidx: Int32 | None = None,
        enable_multicast_signaling: bool = False,
        defer_sync: bool = False,
        force_deprecated_per_lane_signaling: bool | None = None,
        name: str = "",
    ) -> PipelineTmaMultiConsumersAsync:
        """As PipelineTmaAsync.create, with two groups; `force_deprecated_per_lane_signaling`: whether every lane
        releases, whatever the groups count."""
        groups = (consumer_group_umma, consumer_group_async)
        by_lane = force_deprecated_per_lane_signaling
        if by_lane is None:
            counts = [group.arrivals for group in groups]
            by_lane = any(isinstance(count, int) and count % warp.WARP_SIZE == 0 for count in counts)
            if by_lane:
                warn(
                    f"the consumers count {counts[0]} and {counts[1]} arrivals: a multiple of 32 means that every lane "
                    "releases a stage. Count warps, of which one lane does",
                    "RELEASE_BY_LANE",
                )
        one = PipelineTmaAsync.create(
            num_stages=num_stages,
            producer_group=producer_group,
            consumer_group=CooperativeGroup(Agent.Thread, sum(group.arrivals for group in groups)),
            tx_count=tx_count,
            barrier_storage=barrier_storage,
            cta_layout_vmnk=cta_layout_vmnk,
            tidx=tidx,
            mcast_mode_mn=mcast_mode_mn,
            enable_multicast_signaling=enable_multicast_signaling,
            defer_sync=defer_sync,
        )
        if by_lane and one.consumer_mask is not None:
            refuse("PipelineTmaMultiConsumersAsync of a cluster, whose every lane releases a stage,")
        return PipelineTmaMultiConsumersAsync(
            one.sync_object_full,
            one.sync_object_empty,
            num_stages,
            None,
            one.consumer_mask,
            Boolean(True) if by_lane else one.is_signaling_thread,
        )

    def consumer_release(self, state: PipelineState, op_type: PipelineOp = PipelineOp.TCGen05Mma) -> None:
        """Signal that this group has read the stage. Raises DSLUserCodeError for an operation of Blackwell."""
        if op_type is not PipelineOp.AsyncThread:
            refuse_op(op_type)
        super().consumer_release(state)

    def make_participants(self) -> tuple[PipelineProducer, PipelineConsumer, None]:
        return self.make_producer(), self.make_consumer(), None
