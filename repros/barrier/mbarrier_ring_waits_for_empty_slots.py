# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# params = { slots = [1, 3] }
# ///
"""A ring of slots carries every box in order if the producer waits for parity 1 of the slot's empty barrier at first.
Source: PTX ISA, mbarrier.try_wait (.parity); CUDA programming guide, asynchronous barriers.

The phase before a new barrier's first has parity 1, so each slot is free once without an arrival.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

BOXES = 7


@cute.kernel
def kernel(source: cute.Tensor, out: cute.Tensor, slots: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    full, empty = smem.allocate_array(cutlass.Int64, slots), smem.allocate_array(cutlass.Int64, slots)
    ring = smem.allocate_tensor(cutlass.Float32, cute.make_layout((32, slots)), 128)
    if tidx == 0:
        for i in cutlass.range_constexpr(slots):
            cute.arch.mbarrier_init(full + i, 1)
            cute.arch.mbarrier_init(empty + i, 32)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Float32)
    if tidx == 32:
        for i in range(BOXES):
            slot, phase = i % slots, i // slots % 2
            # CHECK-PTX: mbarrier.try_wait.parity
            cute.arch.mbarrier_wait(empty + slot, phase ^ 1)
            cute.arch.mbarrier_arrive_and_expect_tx(full + slot, 128)
            cute.copy(atom, source[None, i], ring[None, slot], mbar_ptr=full + slot)
    if tidx < 32:
        for i in range(BOXES):
            slot, phase = i % slots, i // slots % 2
            cute.arch.mbarrier_wait(full + slot, phase)
            out[tidx, i] = ring[31 - tidx, slot]
            cute.arch.mbarrier_arrive(empty + slot)


@cute.jit
def host(source: cute.Tensor, out: cute.Tensor, slots: cutlass.Constexpr):
    kernel(source, out, slots).launch(grid=(1, 1, 1), block=(64, 1, 1))


def run(slots):
    source = torch.arange(BOXES * 32, dtype=torch.float32).reshape(BOXES, 32).to("cuda")
    out = torch.full((32, BOXES), -1, dtype=torch.float32, device="cuda")
    host(from_dlpack(source.t(), assumed_align=16), from_dlpack(out), slots)
    return {"out": out}


def expected(slots):
    return {"out": np.arange(BOXES * 32, dtype=np.float32).reshape(BOXES, 32).T[::-1]}


if __name__ == "__main__":
    print(run(slots=3))
