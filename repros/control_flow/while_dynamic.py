# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "apache-tvm-ffi", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""A `while` loops as long as its run-time condition holds, a different number of times in each thread.
Source: CuTe DSL, control flow (While Loops).

Each thread counts the Collatz steps from its own start to 1; the starts include one that needs none.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import make_fake_compact_tensor

STARTS = list(range(1, 33))


@cute.kernel
def kernel(starts: cute.Tensor, steps: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    n, count = starts[tid], 0
    # CHECK-PTX: bra
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        count += 1
    steps[tid] = count


@cute.jit
def host(starts: cute.Tensor, steps: cute.Tensor):
    kernel(starts, steps).launch(grid=(1, 1, 1), block=(len(STARTS), 1, 1))


def run():
    starts = torch.tensor(STARTS, dtype=torch.int32, device="cuda")
    steps = torch.full((len(STARTS),), -1, dtype=torch.int32, device="cuda")
    fake = make_fake_compact_tensor(cutlass.Int32, (cute.sym_int(),))
    compiled = cute.compile(host, fake, fake, options="--enable-tvm-ffi")
    compiled(starts, steps)
    return {"steps": steps}


def expected():
    def steps(n):
        return 0 if n == 1 else 1 + steps(n // 2 if n % 2 == 0 else 3 * n + 1)

    return {"steps": np.array([steps(n) for n in STARTS], np.int32)}


if __name__ == "__main__":
    print(run())
