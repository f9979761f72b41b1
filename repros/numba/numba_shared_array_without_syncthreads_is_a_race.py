# /// script
# requires-python = ">=3.11"
# dependencies = ["numba-cuda[cu13]", "numpy<2.5"]
# [tool.repro]
# arch = "sm_75"
# outcome = "race"
# ///
"""Elements of cuda.shared.array that another thread wrote may be read only after cuda.syncthreads().
Source: Numba's documentation, CUDA shared memory and thread synchronization.
"""

import numpy as np
from numba import cuda, int32


@cuda.jit(lineinfo=True)
def kernel(x):
    tile = cuda.shared.array(64, int32)
    i = cuda.threadIdx.x
    tile[i] = x[i]
    x[i] = tile[63 - i]


def run():
    x = cuda.to_device(np.arange(64, dtype=np.int32))
    kernel[1, 64](x)
    return {"x": x.copy_to_host()}


if __name__ == "__main__":
    print(run())
