# /// script
# requires-python = ">=3.11"
# dependencies = ["numba-cuda[cu13]", "numpy<2.5"]
# [tool.repro]
# arch = "sm_75"
# ///
"""cuda.shfl_down_sync gives a lane its own value if the source lane is past the end of the warp.
Source: Numba's documentation, CUDA warp intrinsics; CUDA C++ Programming Guide, warp shuffle functions.
"""

import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def kernel(x):
    i = cuda.threadIdx.x
    x[i] = cuda.shfl_down_sync(0xFFFFFFFF, x[i], 5)


def run():
    x = cuda.to_device(100 + np.arange(32, dtype=np.int32))
    kernel[1, 32](x)
    return {"x": x.copy_to_host()}


def expected():
    i = np.arange(32, dtype=np.int32)
    return {"x": 100 + np.where(i + 5 < 32, i + 5, i).astype(np.int32)}


if __name__ == "__main__":
    print(run())
