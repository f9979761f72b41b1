"""Mistakes in CuTe DSL kernels: copies, pipelines, TMA, wgmma and launches that overlap. See test_authors.py."""

from __future__ import annotations

from tests.emulator.pairs.authors.program import Pair

HEAD = """import cutlass
import cutlass.cute as cute
import cutlass.pipeline as pipeline
import numpy as np
import torch
from cutlass import Float32, Int32
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warpgroup
from cutlass.cute.runtime import from_dlpack


"""
TILES = """

@cute.jit
def host(a: cute.Tensor, b: cute.Tensor):
    kernel(a, b).launch(grid=(1, 1, 1), block=({block}, 1, 1))


a = torch.arange(512, dtype=torch.float32).reshape(8, 64).to("cuda")
b = torch.zeros((8, 64), device="cuda")
host(from_dlpack(a.t(), assumed_align=16), from_dlpack(b.t(), assumed_align=16))
out, expected = b.cpu().numpy(), np.arange(512).reshape(8, 64)[:, ::-1]
"""
STORED = """

@cute.jit
def host(b: cute.Tensor):
    store, coords = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileS2GOp(), b, cute.make_layout((8, 32), stride=(32, 1)), (8, 32)
    )
    kernel(store, coords).launch(grid=(1, 1, 1), block=(64, 1, 1))


b = torch.zeros((24, 32), dtype=torch.int32, device="cuda")
host(from_dlpack(b, assumed_align=16))
out, expected = b.cpu().numpy(), (1000 * np.arange(3)[:, None] + np.arange(256)).reshape(24, 32)
"""
STORE = """
          @cute.kernel
          def kernel(store: cute.CopyAtom, coords: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              box = cutlass.utils.SmemAllocator().allocate_tensor(Int32, cute.make_layout((8, 32), stride=(32, 1)), 128)
              tiles = cute.group_modes(cute.local_tile(coords, (8, 32), (None, None)), 0, 2)
              source, to = cpasync.tma_partition(store, 0, cute.make_layout(1), cute.group_modes(box, 0, 2), tiles)
"""
MATRICES = """

@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    kernel(a, b, c).launch(grid=(1, 1, 1), block=(128, 1, 1))


a, b = (np.arange(64 * 32) % 7 - 3.0).reshape(64, 32), (np.arange(8 * 32) % 5 - 2.0).reshape(8, 32)
c = torch.zeros(64, 8).to("cuda")
given = [torch.from_numpy(each.astype(np.float16)).to("cuda") for each in (a, b)]
host(*(from_dlpack(each, assumed_align=16) for each in (*given, c)))
out, expected = c.cpu().numpy(), a @ b.T
"""
PRODUCT = """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              f16, major, source = cutlass.Float16, OperandMajorMode.K, warpgroup.OperandSource.SMEM
              mma = cute.make_tiled_mma(warpgroup.MmaF16BF16Op(f16, Float32, (64, 8, 16), source, major, major))
              atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW64, f16)
              smem, mine = cutlass.utils.SmemAllocator(), mma.get_slice(t)
              layout_a, layout_b = (cute.tile_to_shape(atom, each.shape, (0, 1)) for each in (a, b))
              s_a = smem.allocate_tensor(f16, layout_a.outer, 1024, layout_a.inner)
              s_b = smem.allocate_tensor(f16, layout_b.outer, 1024, layout_b.inner)
              of_a, of_b = mma.make_fragment_A(mine.partition_A(s_a)), mma.make_fragment_B(mine.partition_B(s_b))
              sums = cute.make_rmem_tensor(mine.partition_C(c).shape, Float32)
              for i in range(t, cute.size(a), 128):
                  s_a[i] = a[i]{mark}
              for i in range(t, cute.size(b), 128):
                  s_b[i] = b[i]
"""
OVERLAP = """

@cute.jit
def host(a: cute.Tensor, b: cute.Tensor):
    before(a).launch(grid=(1, 1, 1), block=(64, 1, 1))
    kernel(a, b).launch(grid=(1, 1, 1), block=(64, 1, 1), use_pdl=True)


a = torch.zeros(64, dtype=torch.int32, device="cuda")
b = torch.zeros(64, dtype=torch.int32, device="cuda")
host(from_dlpack(a), from_dlpack(b))
out, expected = b.cpu().numpy(), 3 * np.arange(64) + 1
"""


def tiles(name, kind, text, fix, body, block=64) -> Pair:
    return Pair(name, kind, text, fix, HEAD, body, TILES.format(block=block))


PAIRS = [
    tiles("the last stage of cp.async is not waited for", "RACE", "which a copy that was not waited for writes", "`cute.arch.cp_async_wait_group(0)`", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              s = cutlass.utils.SmemAllocator().allocate_tensor(Float32, cute.make_layout((64, 2)), 16)
              atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=32)
              cute.copy(atom, cute.local_tile(a[None, 0], (1,), (t,)), cute.local_tile(s[None, 0], (1,), (t,)))
              cute.arch.cp_async_commit_group()
              for i in cutlass.range(8, unroll=1):
                  if i < 7:
                      to = cute.local_tile(s[None, (i + 1) % 2], (1,), (t,))
                      cute.copy(atom, cute.local_tile(a[None, i + 1], (1,), (t,)), to)
        -             cute.arch.cp_async_commit_group()
        +         cute.arch.cp_async_commit_group()
                  cute.arch.cp_async_wait_group(1)
                  cute.arch.sync_threads()
                  b[t, i] = s[63 - t, i % 2]  # <-
                  cute.arch.sync_threads()
        """),
    tiles("each thread has waited for its own copies alone", "RACE", "no barrier between", "`cute.arch.sync_threads()`", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              s = cutlass.utils.SmemAllocator().allocate_tensor(Float32, cute.make_layout((64, 8)), 16)
              atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=32)
              for i in cutlass.range_constexpr(8):
                  to = cute.local_tile(s[None, i], (1,), (t,))
                  cute.copy(atom, cute.local_tile(a[None, i], (1,), (t,)), to)
              cute.arch.cp_async_commit_group()
              cute.arch.cp_async_wait_group(0)
        +     cute.arch.sync_threads()
              for i in cutlass.range_constexpr(8):
                  b[t, i] = s[63 - t, i]
        """.replace("to)\n", "to)\n").replace("cute.local_tile(a[None, i], (1,), (t,)), to)", "cute.local_tile(a[None, i], (1,), (t,)), to)  # <-")),
    tiles("a stage is released before it is read", "RACE", "no barrier between", "arrive at the mbarrier after line", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
              smem = cutlass.utils.SmemAllocator()
              s = smem.allocate_tensor(Float32, cute.make_layout((64, 2)), 16)
              group = pipeline.CooperativeGroup(pipeline.Agent.Thread, 64)
              pipe = pipeline.PipelineAsync.create(num_stages=2, producer_group=group, consumer_group=group,
                                                   barrier_storage=smem.allocate_array(cutlass.Int64, 4))
              producer, consumer = pipe.make_participants()
              if warp < 2:
                  for i in range(8):
                      handle = producer.acquire_and_advance()
                      s[t, handle.index] = a[t, i]  # <-
                      handle.commit()
                  producer.tail()
              if warp >= 2:
                  for i in range(8):
                      handle = consumer.wait_and_advance()
        -             handle.release()
                      b[t - 64, i] = s[127 - t, handle.index]
        +             handle.release()
        """, 128),
    tiles("a stage is filled before it is acquired", "RACE", "no barrier between", "move the wait at line", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
              smem = cutlass.utils.SmemAllocator()
              s = smem.allocate_tensor(Float32, cute.make_layout((64, 2)), 16)
              group = pipeline.CooperativeGroup(pipeline.Agent.Thread, 64)
              pipe = pipeline.PipelineAsync.create(num_stages=2, producer_group=group, consumer_group=group,
                                                   barrier_storage=smem.allocate_array(cutlass.Int64, 4))
              if warp < 2:
                  state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 2)
                  for i in range(8):
        +             pipe.producer_acquire(state)
                      s[t, state.index] = a[t, i]
        -             pipe.producer_acquire(state)
                      pipe.producer_commit(state)
                      state.advance()
                  pipe.producer_tail(state)
              if warp >= 2:
                  state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 2)
                  for i in range(8):
                      pipe.consumer_wait(state)
                      b[t - 64, i] = s[127 - t, state.index]  # <-
                      pipe.consumer_release(state)
                      state.advance()
        """, 128),
    tiles("the consumer never releases", "DEADLOCK", "the pipeline of 2 stages", "`pipeline.consumer_release`", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
              smem = cutlass.utils.SmemAllocator()
              s = smem.allocate_tensor(Float32, cute.make_layout((64, 2)), 16)
              group = pipeline.CooperativeGroup(pipeline.Agent.Thread, 64)
              pipe = pipeline.PipelineAsync.create(num_stages=2, producer_group=group, consumer_group=group,
                                                   barrier_storage=smem.allocate_array(cutlass.Int64, 4))
              producer, consumer = pipe.make_participants()
              if warp < 2:
                  for i in range(8):
                      handle = producer.acquire_and_advance()  # <-
                      s[t, handle.index] = a[t, i]
                      handle.commit()
                  producer.tail()
              if warp >= 2:
                  for i in range(8):
                      handle = consumer.wait_and_advance()
                      b[t - 64, i] = s[127 - t, handle.index]
        +             handle.release()
        """, 128),
    tiles("a ring waits for the same parity in each round", "RACE", "still writes", "parity", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              smem = cutlass.utils.SmemAllocator()
              full = smem.allocate_array(cutlass.Int64, 2)
              s = smem.allocate_tensor(Float32, cute.make_layout((64, 2)), 128)
              if t == 0:
                  cute.arch.mbarrier_init(full, 1)
                  cute.arch.mbarrier_init(full + 1, 1)
                  cute.arch.mbarrier_init_fence()
              cute.arch.sync_threads()
              atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Float32)
              for i in range(8):
                  if t == 0:
                      cute.arch.mbarrier_arrive_and_expect_tx(full + i % 2, 256)
                      cute.copy(atom, a[None, i], s[None, i % 2], mbar_ptr=full + i % 2)
        -         cute.arch.mbarrier_wait(full + i % 2, 0)
        +         cute.arch.mbarrier_wait(full + i % 2, i // 2 % 2)
                  b[t, i] = s[63 - t, i % 2]  # <-
                  cute.arch.sync_threads()
        """),
    tiles("the bytes of half the copies are expected", "RACE", "still writes", "`cute.arch.mbarrier_arrive_and_expect_tx`", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              smem = cutlass.utils.SmemAllocator()
              full = smem.allocate_array(cutlass.Int64, 1)
              s = smem.allocate_tensor(Float32, cute.make_layout((64, 8)), 128)
              atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Float32)
              if t == 0:
                  cute.arch.mbarrier_init(full, 1)
                  cute.arch.mbarrier_init_fence()
        -         cute.arch.mbarrier_arrive_and_expect_tx(full, 4 * 256)
        +         cute.arch.mbarrier_arrive_and_expect_tx(full, 8 * 256)
                  for i in cutlass.range_constexpr(8):
                      cute.copy(atom, a[None, i], s[None, i], mbar_ptr=full)
              cute.arch.sync_threads()
              cute.arch.mbarrier_wait(full, 0)
              for i in range(8):
                  b[t, i] = s[63 - t, i]  # <-
        """),
    Pair("a TMA store of what ordinary stores wrote, without a fence", "RACE", "no fence.proxy.async between", "`cute.arch.fence_proxy`",
         HEAD, STORE + """
              for trip in cutlass.range_constexpr(3):
                  for row in cutlass.range_constexpr(4):
                      box[2 * row + t // 32, t % 32] = 1000 * trip + 64 * row + t
        +         cute.arch.fence_proxy("async.shared", space="cta")
                  cute.arch.sync_threads()
                  if t < 32:
                      cute.copy(store, source, to[(None, trip, 0)])  # <-
                      cute.arch.cp_async_bulk_commit_group()
                      cute.arch.cp_async_bulk_wait_group(0, read=True)
                  cute.arch.sync_threads()
        """, STORED),
    Pair("the epilogue's box is written while the TMA store reads it", "RACE", "still reads", "cute.arch.cp_async_bulk_wait_group(0, read=True)",
         HEAD, STORE + """
              for trip in cutlass.range_constexpr(3):
                  for row in cutlass.range_constexpr(4):
                      box[2 * row + t // 32, t % 32] = 1000 * trip + 64 * row + t  # <-
                  cute.arch.fence_proxy("async.shared", space="cta")
                  cute.arch.sync_threads()
                  if t < 32:
                      cute.copy(store, source, to[(None, trip, 0)])
                      cute.arch.cp_async_bulk_commit_group()
        -         cute.arch.sync_threads()
        +             cute.arch.cp_async_bulk_wait_group(0, read=True)
        +         cute.arch.sync_threads()
              cute.arch.cp_async_bulk_wait_group(0)
        """, STORED),
    Pair("one group of stores too many is left", "RACE", "still reads", "0", HEAD, STORE + """
              for trip in cutlass.range_constexpr(3):
                  for row in cutlass.range_constexpr(4):
                      box[2 * row + t // 32, t % 32] = 1000 * trip + 64 * row + t  # <-
                  cute.arch.fence_proxy("async.shared", space="cta")
                  cute.arch.sync_threads()
                  if t < 32:
                      cute.copy(store, source, to[(None, trip, 0)])
                      cute.arch.cp_async_bulk_commit_group()
        -             cute.arch.cp_async_bulk_wait_group(1, read=True)
        +             cute.arch.cp_async_bulk_wait_group(0, read=True)
                  cute.arch.sync_threads()
              cute.arch.cp_async_bulk_wait_group(0)
        """, STORED),
    Pair("the sums of a wgmma are read before it has ended", "IN_FLIGHT", "", "`cute.nvgpu.warpgroup.wait_group`", HEAD, PRODUCT.format(mark="") + """
              cute.arch.fence_proxy("async.shared", space="cta")
              cute.arch.sync_threads()
              mma.set(warpgroup.Field.ACCUMULATE, False)
              warpgroup.fence()
              for k in cutlass.range_constexpr(2):
                  cute.gemm(mma, sums, of_a[None, None, k], of_b[None, None, k], sums)
                  mma.set(warpgroup.Field.ACCUMULATE, True)
              warpgroup.commit_group()
        +     warpgroup.wait_group(0)
              cute.autovec_copy(sums, mine.partition_C(c))  # <-
        -     warpgroup.wait_group(0)
        """, MATRICES),
    Pair("ordinary stores feed a wgmma without a proxy fence", "RACE", "no fence.proxy.async between", "`cute.arch.fence_proxy`", HEAD, PRODUCT.format(mark="") + """
        +     cute.arch.fence_proxy("async.shared", space="cta")
              cute.arch.sync_threads()
              mma.set(warpgroup.Field.ACCUMULATE, False)
              warpgroup.fence()
              for k in cutlass.range_constexpr(2):
                  cute.gemm(mma, sums, of_a[None, None, k], of_b[None, None, k], sums)  # <-
                  mma.set(warpgroup.Field.ACCUMULATE, True)
              warpgroup.commit_group()
              warpgroup.wait_group(0)
              cute.autovec_copy(sums, mine.partition_C(c))
        """, MATRICES),
    Pair("sums are scaled between two products without a fence", "NO_WGMMA_FENCE", "no wgmma.fence between", "`cute.nvgpu.warpgroup.fence`", HEAD, PRODUCT.format(mark="") + """
              cute.arch.fence_proxy("async.shared", space="cta")
              cute.arch.sync_threads()
              mma.set(warpgroup.Field.ACCUMULATE, False)
              warpgroup.fence()
              cute.gemm(mma, sums, of_a[None, None, 0], of_b[None, None, 0], sums)
              warpgroup.commit_group()
              warpgroup.wait_group(0)
              for i in cutlass.range_constexpr(cute.size(sums)):
                  sums[i] = 2.0 * sums[i]
              mma.set(warpgroup.Field.ACCUMULATE, True)
        +     warpgroup.fence()
              cute.gemm(mma, sums, of_a[None, None, 1], of_b[None, None, 1], sums)  # <-
              warpgroup.commit_group()
              warpgroup.wait_group(0)
              cute.autovec_copy(sums, mine.partition_C(c))
        """, MATRICES.replace("a @ b.T", "2 * a[:, :16] @ b[:, :16].T + a[:, 16:] @ b[:, 16:].T")),
    Pair("a launch that overlaps the one before reads too early", "RACE", "which the launch before", "`cute.arch.griddepcontrol_wait()`", HEAD, """
          @cute.kernel
          def before(a: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              cute.arch.griddepcontrol_launch_dependents()
              a[t] = 3 * t


          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
        +     cute.arch.griddepcontrol_wait()
              b[t] = a[t] + 1  # <-
        -     cute.arch.griddepcontrol_wait()
        """, OVERLAP),
]  # fmt: skip
