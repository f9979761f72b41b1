# /// script
# requires-python = ">=3.11"
# dependencies = ["numba-cuda[cu13]", "numpy<2.5"]
# [tool.repro]
# arch = "sm_75"
# ///
"""cuda.atomic.add returns the value before: the threads of a grid get different tickets, in any order.
Source: Numba's documentation, CUDA atomic operations. Sorted, the tickets are 0 to 255.
"""

import numpy as np
from numba import cuda


@cuda.jit(lineinfo=True)
def kernel(counter, out):
    out[cuda.grid(1)] = cuda.atomic.add(counter, 0, 1)


def run():
    counter, out = (cuda.to_device(np.zeros(size, np.int32)) for size in (1, 256))
    kernel[4, 64](counter, out)
    return {"counter": counter.copy_to_host(), "sorted": np.sort(out.copy_to_host())}


def expected():
    return {"counter": np.array([256], np.int32), "sorted": np.arange(256, dtype=np.int32)}


if __name__ == "__main__":
    print(run())
