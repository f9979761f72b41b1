# /// script
# requires-python = ">=3.11"
# dependencies = ["apache-tvm-tirx>=0.1.0a4", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""`range(8, 0, -1)` makes eight trips, and T.unroll takes every third index if its step is 3.
Source: Python, range; apache-tvm-tirx 0.1.0a4 makes no trip of the first loop, and all eight of the second.
"""

import numpy as np
import tvm_tirx
from tvm_tirx.script import tirx as T


@T.function
def main(out: T.Tensor((2, 9), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    for i in range(8, 0, -1):
        out[0, i] = i
    for i in T.unroll(0, 8, step=3):
        out[1, i] = i + 1


def run():
    target = tvm_tirx.target.Target({"kind": "cuda", "arch": "sm_80"})
    out = tvm_tirx.runtime.tensor(np.zeros((2, 9), np.int32), device=tvm_tirx.cuda(0))
    tvm_tirx.tirx.compile(main, target=target)(out)
    return {"out": out.numpy()}


def expected():
    out = np.zeros((2, 9), np.int32)
    out[0, 1:] = range(1, 9)
    out[1, [0, 3, 6]] = 1, 4, 7
    return {"out": out}


if __name__ == "__main__":
    print(run())
