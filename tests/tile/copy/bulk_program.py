"""Bulk copies of bytes there and back, a line a case: whole tensors, parts of a given size, rows with gaps,
groups of modes."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

CASES = [((64,), (1,), 0), ((64,), (1,), 512), ((4, 8), (1, 16), 0), ((8, 4), (1, 8), 128)]


@cute.kernel
def kernel(source: cute.Tensor, target: cute.Tensor, case: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    shape, stride, bits = case
    smem = cutlass.utils.SmemAllocator()
    barrier = smem.allocate_array(cutlass.Int64, 1)
    box = smem.allocate_tensor(cutlass.Float32, cute.make_layout(shape), 128)
    here, there = (cute.make_tensor(t.iterator, cute.make_layout(shape, stride=stride)) for t in (source, target))
    load = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Float32, num_bits_per_copy=bits)
    store = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), cutlass.Float32, num_bits_per_copy=bits)
    print(load)
    if tidx == 0:
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, cute.size(shape) * 4)
        source_run, box_run = cpasync.group_bulk_copy_modes(here, box)
        cute.copy(load, source_run, box_run, mbar_ptr=barrier)
    cute.arch.sync_threads()
    cute.arch.mbarrier_wait(barrier, 0)
    box[tidx] = box[tidx] * 2
    cute.arch.fence_view_async_shared()
    cute.arch.sync_threads()
    if tidx == 0:
        box_run, target_run = cpasync.group_bulk_copy_modes(box, there)
        cute.copy(store, box_run, target_run)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def host(source: cute.Tensor, target: cute.Tensor, case: cutlass.Constexpr):
    kernel(source, target, case).launch(grid=(1, 1, 1), block=(32, 1, 1))


for case in CASES:
    source, target = torch.arange(1, 129, dtype=torch.float32).to("cuda"), torch.zeros(128).to("cuda")
    host(from_dlpack(source, assumed_align=16), from_dlpack(target, assumed_align=16), case)
    torch.cuda.synchronize()
    print(case, target.cpu().tolist())
