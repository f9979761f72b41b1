"""Pipelines of every kind that needs no copy by TMA: what comes out of them, one line a case."""

import cutlass
import cutlass.cute as cute
import cutlass.pipeline as pipeline
import torch
from cutlass.cute.runtime import from_dlpack
from cutlass.pipeline import Agent, CooperativeGroup, PipelineUserType, make_pipeline_state

TRIPS = 7


@cute.kernel
def states(out: cute.Tensor, stages: cutlass.Constexpr):
    state = make_pipeline_state(PipelineUserType.Producer, stages)
    for i in range(TRIPS):
        out[i, 0] = state.index
        out[i, 1] = state.phase
        out[i, 2] = state.count
        state.advance()
    state.advance(2 if stages > 1 else 1)
    out[TRIPS, 0] = state.index
    out[TRIPS, 1] = state.phase
    state.advance(out[0, 3])
    out[TRIPS + 1, 0] = state.index
    out[TRIPS + 1, 1] = state.phase
    for i in range(5):
        state.reverse()
        out[TRIPS + 2 + i, 0] = state.index
        out[TRIPS + 2 + i, 1] = state.phase
        out[TRIPS + 2 + i, 2] = state.count
    state.reset_count()
    out[0, 3] = state.count


@cute.kernel
def ring(out: cute.Tensor, stages: cutlass.Constexpr, tries: cutlass.Constexpr):
    """Warps 0 and 1 produce numbers, warps 2 to 4 add what came before."""
    tidx, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = cutlass.utils.SmemAllocator()
    barriers = smem.allocate_array(cutlass.Int64, 2 * stages)
    buffer = smem.allocate_tensor(cutlass.Int32, cute.make_layout((64, stages)), 16)
    pipe = pipeline.PipelineAsync.create(
        num_stages=stages,
        barrier_storage=barriers,
        producer_group=CooperativeGroup(Agent.Thread, 64),
        consumer_group=CooperativeGroup(Agent.Warp, 3),
    )
    producer, consumer = pipe.make_participants()
    if warp < 2:
        for i in range(TRIPS):
            if cutlass.const_expr(tries):
                handle = producer.acquire_and_advance(producer.try_acquire())
            else:
                handle = producer.acquire_and_advance()
            buffer[tidx, handle.index] = tidx * 10 + i
            if cutlass.const_expr(tries):
                producer.commit(handle)
            else:
                handle.commit()
        producer.tail()
    else:
        total = cutlass.Int32(0)
        for i in range(TRIPS):
            if cutlass.const_expr(tries):
                handle = consumer.wait_and_advance(consumer.try_wait())
            else:
                handle = consumer.wait_and_advance()
            total += buffer[(tidx * 5) % 64, handle.index] * (handle.count + 1)
            handle.release()
        out[tidx - 64, 0] = total


@cute.kernel
def copies(source: cute.Tensor, out: cute.Tensor):
    """Warp 0 fills stages with cp.async, warp 1 reads them."""
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    barriers = smem.allocate_array(cutlass.Int64, 4)
    buffer = smem.allocate_tensor(cutlass.Float32, cute.make_layout((4, 32, 2)), 16)
    pipe = pipeline.PipelineCpAsync.create(
        num_stages=2,
        barrier_storage=barriers,
        producer_group=CooperativeGroup(Agent.Thread, 32),
        consumer_group=CooperativeGroup(Agent.Thread, 32),
    )
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
    if tidx < 32:
        state = make_pipeline_state(PipelineUserType.Producer, 2)
        for i in range(4):
            pipe.producer_acquire(state)
            cute.copy(atom, source[None, tidx, i], buffer[None, tidx, state.index])
            pipe.producer_commit(state)
            state.advance()
        pipe.producer_tail(state)
    else:
        state = make_pipeline_state(PipelineUserType.Consumer, 2)
        for i in range(4):
            pipe.consumer_wait(state)
            for j in cutlass.range_constexpr(4):
                out[j, tidx - 32, i] = buffer[j, 63 - tidx, state.index]
            pipe.consumer_release(state)
            state.advance()


@cute.kernel
def turns(out: cute.Tensor):
    """Three warps take turns, in each of two stages; each turn appends its number to its stage's column."""
    tidx, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = cutlass.utils.SmemAllocator()
    barriers = smem.allocate_array(cutlass.Int64, 6)
    place = smem.allocate_tensor(cutlass.Int32, cute.make_layout(2), 4)
    if tidx < 2:
        place[tidx] = 0
    order = pipeline.PipelineOrder.create(
        depth=2, length=3, group_id=warp, barrier_storage=barriers, producer_group=CooperativeGroup(Agent.Thread, 32)
    )
    named = pipeline.NamedBarrier(barrier_id=3, num_threads=96)
    for i in cutlass.range_constexpr(4):  # in a dynamic loop NVIDIA's compiler loses where a PipelineOrder stands
        order.wait()
        if tidx % 32 == 0:
            out[place[i % 2], i % 2] = warp * 10 + i
            place[i % 2] = place[i % 2] + 1
        order.arrive()
    named.arrive_and_wait()
    if tidx >= 64 and tidx < 66:
        out[12, tidx - 64] = place[tidx - 64]


@cute.jit
def host(source: cute.Tensor, out: cute.Tensor, which: cutlass.Constexpr, stages: cutlass.Constexpr):
    if cutlass.const_expr(which == "states"):
        states(out, stages).launch(grid=(1, 1, 1), block=(1, 1, 1))
    elif cutlass.const_expr(which == "copies"):
        copies(source, out).launch(grid=(1, 1, 1), block=(64, 1, 1))
    elif cutlass.const_expr(which == "turns"):
        turns(out).launch(grid=(1, 1, 1), block=(96, 1, 1))
    else:
        ring(out, stages, which == "tries").launch(grid=(1, 1, 1), block=(160, 1, 1))


def show(which: str, stages: int = 1, columns: int = 1) -> None:
    if which == "copies":
        out, source = torch.zeros((4, 32, 4)).permute(2, 1, 0), torch.arange(512.0).reshape(4, 32, 4).permute(2, 1, 0)
    else:
        out, source = torch.full((128, 4), 5 if which == "states" else -1, dtype=torch.int32), torch.zeros(1)
    out, source = out.to("cuda"), source.to("cuda")
    host(from_dlpack(source, assumed_align=16), from_dlpack(out), which, stages)
    print(which, stages, out.cpu().permute(*range(out.dim() - 1, -1, -1))[:columns].flatten()[:200].tolist())


for which, stages, columns in (
    ("states", 3, 4),
    ("states", 1, 4),
    ("ring", 1, 1),
    ("tries", 3, 1),
    ("copies", 2, 4),
    ("turns", 2, 2),
):
    show(which, stages, columns)
