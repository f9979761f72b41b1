# /// script
# requires-python = ">=3.11"
# dependencies = ["numba-cuda[cu13]", "numpy<2.5"]
# [tool.repro]
# arch = "sm_75"
# ///
"""A loop from cuda.grid(1) in steps of cuda.gridsize(1) visits each element once, for any size of the grid.
Source: Numba's documentation, writing CUDA kernels: cuda.grid and cuda.gridsize.
"""

import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def kernel(visits):
    for i in range(cuda.grid(1), visits.size, cuda.gridsize(1)):
        visits[i] += i + 1


def run():
    visits = cuda.to_device(np.zeros(200, np.int32))
    kernel[3, 32](visits)
    return {"visits": visits.copy_to_host()}


def expected():
    return {"visits": np.arange(1, 201, dtype=np.int32)}


if __name__ == "__main__":
    print(run())
