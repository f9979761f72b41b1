"""Bulk copies within a cluster of two blocks: one block loads for both, and each sends a row to the other."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(source: cute.Tensor, target: cute.Tensor, bits: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    smem = cutlass.memory.SmemAllocator()
    barriers = smem.allocate_array(cutlass.Int64, 2)
    loaded = smem.allocate_tensor(cutlass.Float32, cute.make_layout(64), 128)
    received = smem.allocate_tensor(cutlass.Float32, cute.make_layout(64), 128)
    load = cute.make_copy_atom(cpasync.CopyBulkG2SMulticastOp(), cutlass.Float32, num_bits_per_copy=bits)
    send = cute.make_copy_atom(cpasync.CopyBulkS2SOp(), cutlass.Float32, num_bits_per_copy=bits)
    print(load, send)
    if tidx == 0:
        cute.arch.mbarrier_init(barriers, 1)
        cute.arch.mbarrier_init(barriers + 1, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barriers, 256)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if tidx == 0 and rank == 1:
        cute.copy(load, source, loaded, mbar_ptr=barriers, mcast_mask=cutlass.Int16(3))
    cute.arch.mbarrier_wait(barriers, 0)
    for i in range(tidx, 64, 32):
        loaded[i] = loaded[i] + 1000 * rank
    cute.arch.fence_view_async_shared()
    cute.arch.sync_threads()
    if tidx == 0:
        cute.arch.mbarrier_arrive_and_expect_tx(barriers + 1, 256)
        theirs = cute.arch.map_dsmem_ptr(barriers + 1, rank ^ 1)
        theirs = cute.make_ptr(cutlass.Int64, theirs.toint(), cute.AddressSpace.smem)
        cute.copy(send, loaded, received, mbar_ptr=theirs, cta_rank=rank ^ 1)
    cute.arch.mbarrier_wait(barriers + 1, 0)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    for i in range(tidx, 64, 32):
        target[rank, i] = received[i]


@cute.jit
def host(source: cute.Tensor, target: cute.Tensor, bits: cutlass.Constexpr):
    kernel(source, target, bits).launch(grid=(2, 1, 1), block=(32, 1, 1), cluster=(2, 1, 1))


for bits in (0, 512):
    source, target = torch.arange(1, 65, dtype=torch.float32).to("cuda"), torch.zeros(2, 64).to("cuda")
    host(from_dlpack(source, assumed_align=16), from_dlpack(target, assumed_align=16), bits)
    torch.cuda.synchronize()
    print(bits, target.cpu().tolist())
