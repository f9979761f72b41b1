# /// script
# requires-python = ">=3.11"
# dependencies = ["triton", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""tl.randint is Philox 4x32 with 10 rounds: the seed is the key, the offset the first word of the counter.
Source: Triton's documentation of tl.randint; Salmon and others, Parallel random numbers: as easy as 1, 2, 3 (2011).
"""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(out, seed, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.randint(seed, i))


def run():
    out = torch.zeros(16, dtype=torch.int32, device="cuda")
    kernel[(1,)](out, 1234, BLOCK=16)
    return {"out": out}


def expected():
    word = np.uint64(0xFFFFFFFF)
    c0, c1 = np.arange(16, dtype=np.uint64), np.zeros(16, np.uint64)
    c2, c3 = c1.copy(), c1.copy()
    k0, k1 = np.uint64(1234), np.uint64(0)
    for _ in range(10):
        a, b = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (b >> np.uint64(32)) ^ c1 ^ k0, b & word, (a >> np.uint64(32)) ^ c3 ^ k1, a & word
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & word, (k1 + np.uint64(0xBB67AE85)) & word
    return {"out": c0.astype(np.uint32).view(np.int32)}


if __name__ == "__main__":
    print(run())
