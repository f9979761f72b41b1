# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_90"
# params = { dependent = [true, false] }
# ///
"""Behind griddepcontrol.wait a kernel sees what the kernel before wrote, even after its launch_dependents.
Source: PTX ISA, griddepcontrol (.wait: prerequisite grids have completed and their memory operations are visible).

In a launch that depends on none (`dependent` false) the wait does nothing.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def first(x: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    # CHECK-PTX: griddepcontrol.launch_dependents
    cute.arch.griddepcontrol_launch_dependents()
    x[thread] = 3 * x[thread]


@cute.kernel
def second(x: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    # CHECK-PTX: griddepcontrol.wait
    cute.arch.griddepcontrol_wait()
    out[thread] = x[63 - thread] + 1


@cute.jit
def host(x: cute.Tensor, out: cute.Tensor, dependent: cutlass.Constexpr):
    first(x).launch(grid=(1, 1, 1), block=(64, 1, 1), use_pdl=True)
    second(x, out).launch(grid=(1, 1, 1), block=(64, 1, 1), use_pdl=dependent)


def run(dependent):
    x = torch.arange(64, dtype=torch.int32, device="cuda")
    out = torch.full((64,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(x), from_dlpack(out), dependent)
    return {"out": out}


def expected(dependent):
    return {"out": (3 * np.arange(64)[::-1] + 1).astype(np.int32)}


if __name__ == "__main__":
    print(run(dependent=True))
