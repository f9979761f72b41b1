# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""A loop carries the numbers in a dataclass, a NamedTuple, a dict and a list: each has its own last value.
Source: CuTe DSL, limitations (Python data types); measured of NVIDIA's compiler 4.8.1.

The list swaps its elements five times, and gives the one that moves back 1 each time.
"""

from dataclasses import dataclass
from typing import NamedTuple

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

TRIPS = 5


@dataclass
class Sums:
    even: cutlass.Int32
    odd: cutlass.Int32


class Pair(NamedTuple):
    old: cutlass.Int32
    new: cutlass.Int32


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    sums, pair = Sums(n * 0, n * 0), Pair(n * 0, n * 0 + 1)
    table, xs = {"last": n * 0, "count": 0}, [n, n * 2]
    for i in range(n):
        if i % 2 == 0:
            sums.even += i
        else:
            sums.odd += i
        pair = Pair(pair.new, pair.old + pair.new)
        table["last"] = i
        table["count"] += 2
        xs = [xs[1], xs[0] + 1]
    out[0], out[1] = sums.even, sums.odd
    out[2], out[3] = pair.old, pair.new
    out[4], out[5] = table["last"], table["count"]
    out[6], out[7] = xs[0], xs[1]


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    out = torch.full((8,), -99, dtype=torch.int32, device="cuda")
    host(from_dlpack(out), TRIPS)
    return {"out": out}


def expected():
    i = np.arange(TRIPS)
    fibonacci = np.linalg.matrix_power(np.array([[1, 1], [1, 0]]), TRIPS)
    swapped = [2 * TRIPS + 2, TRIPS + 3]
    values = [i[::2].sum(), i[1::2].sum(), fibonacci[0, 1], fibonacci[0, 0], i[-1], 2 * TRIPS, *swapped]
    return {"out": np.array(values, np.int32)}


if __name__ == "__main__":
    print(run())
