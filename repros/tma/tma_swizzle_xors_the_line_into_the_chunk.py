# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# params = { bits = [0, 1, 2, 3] }
# ///
"""TMA swizzles by address: in each line of 128 bytes, chunk c of 16 bytes lies at c xor (line mod 2, 4, 8).
Source: PTX ISA, Tensors, Swizzling Modes.

The box's rows are as long as the swizzle: 32, 64 or 128 bytes. Shared memory is read back as plain bytes.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

BYTES = 2048


@cute.kernel
def kernel(load: cute.CopyAtom, coords: cute.Tensor, out: cute.Tensor, tile: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    barrier = smem.allocate_array(cutlass.Int64, 1)
    plain = smem.allocate_tensor(cutlass.Int32, cute.make_layout(BYTES // 4), 1024)
    box = cute.make_tensor(plain.iterator, cute.make_layout(tile, stride=(tile[1], 1)))
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, BYTES)
    cute.arch.sync_threads()
    to, start = cpasync.tma_partition(
        load,
        0,
        cute.make_layout(1),
        cute.group_modes(box, 0, 2),
        cute.group_modes(cute.local_tile(coords, tile, (None, None)), 0, 2),
    )
    # CHECK-PTX: cp.async.bulk.tensor.2d
    cute.copy(load, start[(None, 0, 0)], to, tma_bar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    for i in range(tidx, BYTES // 4, 32):
        out[i] = plain[i]


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor, bits: cutlass.Constexpr, tile: cutlass.Constexpr):
    layout = cute.make_composed_layout(cute.make_swizzle(bits, 4, 3), 0, cute.make_layout(tile, stride=(tile[1], 1)))
    load, coords = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), a, layout, tile)
    kernel(load, coords, out, tile).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run(bits):
    columns = 4 << bits
    a = torch.arange(BYTES // 4, dtype=torch.int32).reshape(-1, columns).to("cuda")
    out = torch.full((BYTES // 4,), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(a, assumed_align=16), from_dlpack(out), bits, tuple(a.shape))
    return {"out": out}


def expected(bits):
    chunk = np.arange(BYTES // 16)
    lies_at = chunk ^ (chunk // 8 % (1 << bits))
    out = np.empty((BYTES // 16, 4), np.int32)
    out[lies_at] = np.arange(BYTES // 4).reshape(-1, 4)
    return {"out": out.reshape(-1)}


if __name__ == "__main__":
    print(run(bits=3))
