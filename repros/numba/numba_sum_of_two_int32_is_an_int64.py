# /// script
# requires-python = ">=3.11"
# dependencies = ["numba-cuda[cu13]", "numpy<2.5"]
# [tool.repro]
# arch = "sm_75"
# ///
"""In a kernel the sum of two int32 is an int64: it does not wrap as it does in C and in numpy.
Source: Numba's documentation, deviations from Python semantics: integers are at least as wide as intp (NBEP 1).
"""

import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def kernel(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


A = np.array([2**31 - 1, -(2**31), 5], np.int32)
B = np.array([1, -1, 7], np.int32)


def run():
    out = cuda.to_device(np.zeros(3, np.int64))
    kernel[1, 32](cuda.to_device(A), cuda.to_device(B), out)
    return {"out": out.copy_to_host()}


def expected():
    return {"out": A.astype(np.int64) + B}


if __name__ == "__main__":
    print(run())
