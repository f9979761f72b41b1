# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# params = { case = ["reorder", "stride", "nested", "coarser"] }
# ///
"""composition(A, B)(i) is A(B(i)) for every i below the size of B.  Source: CuTe, layout algebra, composition.

The layouts are evaluated in the kernel, where the index is a run-time value; expected() evaluates A and B alone.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

CASES = {  # A, B as (shape, stride)
    "reorder": (((4, 8), (8, 1)), ((8, 4), (4, 1))),
    "stride": ((20, 2), ((5, 4), (4, 1))),
    "nested": ((((2, 2), 6), ((12, 1), 2)), ((4, 3), (2, 8))),
    "coarser": (((6, 4), (1, 6)), (8, 3)),
}


@cute.kernel
def kernel(out: cute.Tensor, case: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    (a_shape, a_stride), (b_shape, b_stride) = CASES[case]
    a, b = cute.make_layout(a_shape, stride=a_stride), cute.make_layout(b_shape, stride=b_stride)
    both = cute.composition(a, b)
    if i < cute.size(b):
        out[i, 0] = both(i)
        out[i, 1] = a(b(i))


@cute.jit
def host(out: cute.Tensor, case: cutlass.Constexpr):
    kernel(out, case).launch(grid=(1, 1, 1), block=(32, 1, 1))


def run(case):
    out = torch.full((32, 2), -1, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), case)
    return {"out": out}


def flat(parts):
    return [leaf for part in parts for leaf in flat(part)] if isinstance(parts, tuple) else [parts]


def offset(layout, i):
    """The offset of a linear index: the leftmost mode runs fastest, and the last has no end."""
    shapes, strides, total = flat(layout[0]), flat(layout[1]), 0
    for n, d in zip(shapes[:-1], strides[:-1]):
        total, i = total + i % n * d, i // n
    return total + i * strides[-1]


def expected(case):
    a, b = CASES[case]
    out = np.full((32, 2), -1, np.int32)
    for i in range(int(np.prod(flat(b[0])))):
        out[i] = offset(a, offset(b, i))
    return {"out": out}


if __name__ == "__main__":
    print(run(case="reorder"))
