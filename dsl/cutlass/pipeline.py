"""`cutlass.pipeline`: producers, consumers and what they meet by."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.tile.pipeline.multi_consumer_pipeline import PipelineTmaMultiConsumersAsync
from dsl.tile.pipeline.pipeline import (
    PipelineAsync,
    PipelineConsumer,
    PipelineCpAsync,
    PipelineEmpty,
    PipelineOrder,
    PipelineProducer,
    PipelineTmaAsync,
    PipelineTmaStore,
    PipelineUserType,
    alloc_reserved_mbarrier,
    make_pipeline_state,
)
from dsl.tile.pipeline.sync import (
    Agent,
    CooperativeGroup,
    MbarrierArray,
    NamedBarrier,
    PipelineOp,
    PipelineState,
    TmaStoreFence,
    agent_sync,
    arrive,
    arrive_and_wait,
    arrive_unaligned,
    pipeline_init_arrive,
    pipeline_init_wait,
    sync,
    wait_unaligned,
)

__all__ = [
    "Agent",
    "CooperativeGroup",
    "MbarrierArray",
    "NamedBarrier",
    "PipelineAsync",
    "PipelineConsumer",
    "PipelineCpAsync",
    "PipelineEmpty",
    "PipelineOp",
    "PipelineOrder",
    "PipelineProducer",
    "PipelineState",
    "PipelineTmaAsync",
    "PipelineTmaMultiConsumersAsync",
    "PipelineTmaStore",
    "PipelineUserType",
    "TmaStoreFence",
    "agent_sync",
    "alloc_reserved_mbarrier",
    "arrive",
    "arrive_and_wait",
    "arrive_unaligned",
    "make_pipeline_state",
    "pipeline_init_arrive",
    "pipeline_init_wait",
    "sync",
    "wait_unaligned",
]

__getattr__ = _refuser("cutlass.pipeline")
