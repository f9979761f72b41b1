# /// script
# requires-python = ">=3.11"
# dependencies = ["nvidia-cutlass-dsl", "torch", "numpy"]
# [tool.repro]
# arch = "sm_70"
# ///
"""Offsets past 2^31 elements work as a Python int and as an Int64, in pointers and in tensor indices.
Source: CuTe DSL, Pointer.

A 2 GiB Int8 tensor is allocated and only the two elements behind its 2^31st are touched.
"""

import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass.cute.runtime import from_dlpack

FAR = 2**31 + 5


@cute.kernel
def kernel(big: cute.Tensor, distance: cute.Tensor, value: cute.Tensor, far: cutlass.Int64):
    p = big.iterator
    distance[0] = (p + FAR).toint() - p.toint()
    distance[1] = (p + cutlass.Int64(FAR)).toint() - p.toint()
    distance[2] = (p + far).toint() - p.toint()
    distance[3] = (p + far - far).toint() - p.toint()
    value[0] = (p + far).load()
    value[1] = big[far]
    value[2] = big[FAR]
    (p + far + 1).store(cutlass.Int8(9))


@cute.jit
def host(big: cute.Tensor, distance: cute.Tensor, value: cute.Tensor, far: cutlass.Int64):
    kernel(big, distance, value, far).launch(grid=(1, 1, 1), block=(1, 1, 1))


def run():
    big = torch.empty(FAR + 11, dtype=torch.int8, device="cuda")
    big[FAR] = 7
    distance = torch.full((4,), -1, dtype=torch.int64, device="cuda")
    value = torch.zeros(3, dtype=torch.int8, device="cuda")
    host(from_dlpack(big), from_dlpack(distance), from_dlpack(value), FAR)
    return {"distance": distance, "value": value, "stored": big[FAR + 1 : FAR + 2].clone()}


def expected():
    return {
        "distance": np.array([FAR, FAR, FAR, 0], np.int64),
        "value": np.full(3, 7, np.int8),
        "stored": np.full(1, 9, np.int8),
    }


if __name__ == "__main__":
    print(run())
