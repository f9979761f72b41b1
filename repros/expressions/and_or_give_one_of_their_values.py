# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""`a and b` and `a or b` of two Int32 are one of the two, as in Python: 3 and 5 is 5, not True.
Source: Python, Boolean operations; measured of NVIDIA's compiler 4.8.1.
"""

import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

A = [0, 0, 3, 3, -1]
B = [0, 5, 0, 5, 7]


@cute.kernel
def kernel(a: cute.Tensor, b: cute.Tensor, both: cute.Tensor, either: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    both[tid] = a[tid] and b[tid]
    either[tid] = a[tid] or b[tid]


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, both: cute.Tensor, either: cute.Tensor):
    kernel(a, b, both, either).launch(grid=(1, 1, 1), block=(len(A), 1, 1))


def run():
    a, b = (torch.tensor(values, dtype=torch.int32, device="cuda") for values in (A, B))
    both, either = (torch.full((len(A),), -99, dtype=torch.int32, device="cuda") for _ in range(2))
    host(from_dlpack(a), from_dlpack(b), from_dlpack(both), from_dlpack(either))
    return {"both": both, "either": either}


def expected():
    a, b = np.array(A, np.int32), np.array(B, np.int32)
    return {"both": np.where(a != 0, b, a), "either": np.where(a != 0, a, b)}


if __name__ == "__main__":
    print(run())
