# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { case = ["spread", "block", "hole"] }
# ///
"""(A, complement(A, M)) visits every offset below M once.  Source: CuTe, layout algebra, complement."""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

CASES = {"spread": (4, 8, 32), "block": (8, 1, 32), "hole": ((2, 4), (1, 8), 64)}  # shape, stride, M


@cute.kernel
def kernel(out: cute.Tensor, case: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    shape, stride, m = CASES[case]
    layout = cute.make_layout(shape, stride=stride)
    whole = cute.make_layout(
        (layout.shape, cute.complement(layout, m).shape), stride=(layout.stride, cute.complement(layout, m).stride)
    )
    if i < cute.size(whole):
        out[i] = whole(i)


@cute.jit
def host(out: cute.Tensor, case: cutlass.Constexpr):
    kernel(out, case).launch(grid=(1, 1, 1), block=(64, 1, 1))


def run(case):
    out = torch.full((64,), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), case)
    return {"seen": torch.sort(out[: CASES[case][2]]).values, "first": out[:4]}


def expected(case):
    shape, stride, m = CASES[case]
    firsts = {"spread": [0, 8, 16, 24], "block": [0, 1, 2, 3], "hole": [0, 1, 8, 9]}
    return {"seen": np.arange(m, dtype=np.int32), "first": np.array(firsts[case], np.int32)}


if __name__ == "__main__":
    print(run(case="spread"))
