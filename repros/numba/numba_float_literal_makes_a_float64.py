# /// script
# requires-python = ">=3.11"
# dependencies = ["numba-cuda[cu13]", "numpy<2.5"]
# [tool.repro]
# arch = "sm_75"
# ///
"""A float32 times the literal 0.1 is computed as float64; float32(0.1) keeps it float32.
Source: Numba's documentation, types: a float literal is a float64, and arithmetic takes the wider type.
"""

import numpy as np
from numba import cuda, float32


@cuda.jit(lineinfo=True)
def kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] * 0.1
        out[1, i] = x[i] * float32(0.1)


X = np.array([1.0, 3.0, 7.0, 1e-3], np.float32)


def run():
    out = cuda.to_device(np.zeros((2, 4), np.float64))
    kernel[1, 32](cuda.to_device(X), out)
    return {"out": out.copy_to_host()}


def expected():
    return {"out": np.stack([X.astype(np.float64) * 0.1, (X * np.float32(0.1)).astype(np.float64)])}


if __name__ == "__main__":
    print(run())
