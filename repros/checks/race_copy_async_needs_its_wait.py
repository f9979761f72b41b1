# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch"]
# [tool.repro]
# arch = "sm_80"
# outcome = "race"
# ///
"""A barrier does not wait for cp.async: without cp_async_wait_group its bytes may come after it.
Source: PTX ISA, cp.async: writes are made visible to the executing thread by cp.async.wait_group, and by nothing else.
"""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    tile = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(32), byte_alignment=16)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Int32, num_bits_per_copy=32)
    cute.copy(atom, cute.local_tile(x, (1,), (t,)), cute.local_tile(tile, (1,), (t,)))
    cute.arch.cp_async_commit_group()
    cute.arch.sync_threads()
    x[32 + t] = tile[31 - t]


@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run():
    x = torch.zeros(64, dtype=torch.int32, device="cuda")
    host(from_dlpack(x))
    return {"x": x}


if __name__ == "__main__":
    print(run())
