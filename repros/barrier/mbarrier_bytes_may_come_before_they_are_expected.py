# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# params = { parts = [1, 4] }
# ///
"""A copy may begin before its bytes are expected: the phase waits for the arrival, which may expect them in parts.
Source: PTX ISA, mbarrier, Tracking asynchronous operations: the count of bytes lies between -(2^20 - 1) and 2^20 - 1.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(source: cute.Tensor, out: cute.Tensor, parts: cutlass.Constexpr):
    smem = cutlass.utils.SmemAllocator()
    barrier = smem.allocate_array(cutlass.Int64, 1)
    box = smem.allocate_tensor(cutlass.Float32, cute.make_layout(16), 128)
    atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Float32)
    cute.arch.mbarrier_init(barrier, 1)
    cute.arch.mbarrier_init_fence()
    # CHECK-PTX: cp.async.bulk.shared
    cute.copy(atom, source, box, mbar_ptr=barrier)
    out[0] = cutlass.Float32(cutlass.Int32(cute.arch.mbarrier_test_wait(barrier, 0)))
    for _ in cutlass.range_constexpr(parts - 1):
        # CHECK-PTX(parts=4)-COUNT-3: mbarrier.expect_tx
        cute.arch.mbarrier_expect_tx(barrier, 64 // parts)
    # CHECK-PTX: mbarrier.arrive.expect_tx
    cute.arch.mbarrier_arrive_and_expect_tx(barrier, 64 // parts)
    cute.arch.mbarrier_wait(barrier, 0)
    for i in cutlass.range_constexpr(16):
        out[1 + i] = box[i]


@cute.jit
def host(source: cute.Tensor, out: cute.Tensor, parts: cutlass.Constexpr):
    kernel(source, out, parts).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run(parts):
    source = torch.arange(1, 17, dtype=torch.float32, device="cuda")
    out = torch.full((17,), -1, dtype=torch.float32, device="cuda")
    host(from_dlpack(source, assumed_align=16), from_dlpack(out), parts)
    return {"out": out}


def expected(parts):
    return {"out": np.arange(17, dtype=np.float32)}  # 0: not ended before the arrival; then what was copied


if __name__ == "__main__":
    print(run(parts=4))
