# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""tl.atomic_add returns the value before: the programs of a grid get different tickets, in any order.
Source: Triton's documentation of tl.atomic_add. Sorted, the tickets are 0 to 15.
"""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(counter, out):
    tl.store(out + tl.program_id(0), tl.atomic_add(counter, 1))


def run():
    counter = torch.zeros(1, dtype=torch.int32, device="cuda")
    out = torch.zeros(16, dtype=torch.int32, device="cuda")
    kernel[(16,)](counter, out)
    return {"counter": counter, "sorted": out.sort().values}


def expected():
    return {"counter": np.array([16], np.int32), "sorted": np.arange(16, dtype=np.int32)}


if __name__ == "__main__":
    print(run())
