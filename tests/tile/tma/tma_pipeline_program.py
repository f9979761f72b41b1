"""A pipeline that TMA fills and one that TMA empties: a producer warp, four consumer warps, stages in a ring;
a line a case."""

import cutlass
import cutlass.cute as cute
import cutlass.pipeline as pipeline
import cutlass.utils as utils
import cutlass.utils.blackwell_helpers as staged
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

TILE = (32, 64)


@cute.kernel
def kernel(
    load: cute.CopyAtom,
    source: cute.Tensor,
    store: cute.CopyAtom,
    target: cute.Tensor,
    layout: cute.ComposedLayout,
    stages: cutlass.Constexpr,
    tries: cutlass.Constexpr,
    two: cutlass.Constexpr,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = utils.SmemAllocator()
    barriers = smem.allocate_array(cutlass.Int64, 2 * stages)
    box_in = smem.allocate_tensor(cutlass.Float16, layout.outer, 1024, swizzle=layout.inner)
    box_out = smem.allocate_tensor(cutlass.Float16, layout.outer, 1024, swizzle=layout.inner)
    Thread = pipeline.Agent.Thread
    given = dict(
        num_stages=stages,
        barrier_storage=barriers,
        tx_count=cute.size(TILE) * 2,
        defer_sync=True,
        producer_group=pipeline.CooperativeGroup(Thread),
    )
    release = {}
    if cutlass.const_expr(two):
        groups = [pipeline.CooperativeGroup(Thread, count) for count in two]
        loads = pipeline.PipelineTmaMultiConsumersAsync.create(
            consumer_group_umma=groups[0], consumer_group_async=groups[1], **given
        )
        release = {"op_type": pipeline.PipelineOp.AsyncThread}
    else:
        loads = pipeline.PipelineTmaAsync.create(consumer_group=pipeline.CooperativeGroup(Thread, 4), **given)
    stores = pipeline.PipelineTmaStore.create(num_stages=stages, producer_group=pipeline.CooperativeGroup(Thread, 128))
    pipeline.pipeline_init_arrive(cluster_shape_mn=(1, 1), is_relaxed=True)
    pipeline.pipeline_init_wait(cluster_shape_mn=(1, 1))
    parts = [
        cpasync.tma_partition(
            atom,
            0,
            cute.make_layout(1),
            cute.group_modes(box, 0, 2),
            cute.group_modes(cute.local_tile(tensor, TILE, (None, None)), 0, 2),
        )
        for atom, tensor, box in ((load, source, box_in), (store, target, box_out))
    ]
    tiles = cute.size(parts[0][1], mode=[2])
    if warp == 4:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, stages)
        for i in range(tiles):
            loads.producer_acquire(state)
            cute.copy(
                load,
                parts[0][1][(None, bidx, i)],
                parts[0][0][(None, state.index)],
                tma_bar_ptr=loads.producer_get_barrier(state),
            )
            loads.producer_commit(state)
            state.advance()
        loads.producer_tail(state)
    else:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, stages)
        meet = pipeline.NamedBarrier(barrier_id=1, num_threads=128)
        for i in range(tiles):
            if cutlass.const_expr(tries):
                loads.consumer_wait(state, loads.consumer_try_wait(state))
            else:
                loads.consumer_wait(state)
            for j in range(tidx, cute.size(TILE), 128):
                value = box_in[j % 32, j // 32, state.index]
                box_out[j % 32, j // 32, state.index] = value + value
            cute.arch.sync_warp()  # one lane releases for its warp
            loads.consumer_release(state, **release)
            cute.arch.fence_proxy("async.shared", space="cta")
            meet.arrive_and_wait()
            if warp == 0:
                cute.copy(store, parts[1][0][(None, state.index)], parts[1][1][(None, bidx, i)])
                stores.producer_commit()
                stores.producer_acquire()
            meet.arrive_and_wait()
            state.advance()
        if warp == 0:
            stores.producer_tail()


@cute.jit
def host(
    source: cute.Tensor,
    target: cute.Tensor,
    stages: cutlass.Constexpr,
    tries: cutlass.Constexpr,
    two: cutlass.Constexpr,
):
    layout = staged.make_smem_layout(
        utils.LayoutEnum.from_tensor(source).mma_major_mode(), TILE, cutlass.Float16, stages
    )
    load, coords = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), source, layout, TILE)
    store, out_coords = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), target, layout, TILE)
    kernel(load, coords, store, out_coords, layout, stages, tries, two).launch(
        grid=(cute.ceil_div(source.shape[0], TILE[0]), 1, 1), block=(160, 1, 1)
    )


CASES = (
    *(((64, 256), 2, False, None), ((70, 600), 3, True, None), ((32, 64), 2, True, None)),
    *(((64, 256), 2, False, (1, 3)), ((70, 600), 3, True, (64, 64))),
)
for shape, stages, tries, two in CASES:
    source = (torch.arange(shape[0] * shape[1]) % 509).to(torch.float16).reshape(shape).to("cuda")
    target = torch.zeros_like(source)
    arguments = [
        from_dlpack(t, assumed_align=16)
        .mark_layout_dynamic(leading_dim=1)
        .mark_compact_shape_dynamic(mode=1, divisibility=8)
        for t in (source, target)
    ]
    host(*arguments, stages, tries, two)
    torch.cuda.synchronize()
    print(shape, stages, tries, two, bool((target == source * 2).all()), target.cpu()[-1, -8:].tolist())
