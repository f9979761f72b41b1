# /// script
# requires-python = ">=3.11"
# dependencies = ["apache-tvm-tirx>=0.1.0a4", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""A binding of tvm_tirx is immutable: `y = 1` in a branch binds another `y`, which ends with the branch.
Source: CUDA C++ of apache-tvm-tirx 0.1.0a4, which stores 0 in every element of the first row.
"""

import numpy as np
import tvm_tirx
from tvm_tirx.script import tirx as T


@T.function
def main(out: T.Tensor((2, 8), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))
    tx = T.cuda.thread_idx("x")
    y = 0
    if tx < 4:
        y = 1
        out[1, tx] = y
    out[0, tx] = y


def run():
    target = tvm_tirx.target.Target({"kind": "cuda", "arch": "sm_80"})
    out = tvm_tirx.runtime.tensor(np.zeros((2, 8), np.int32), device=tvm_tirx.cuda(0))
    tvm_tirx.tirx.compile(main, target=target)(out)
    return {"out": out.numpy()}


def expected():
    out = np.zeros((2, 8), np.int32)
    out[1, :4] = 1
    return {"out": out}


if __name__ == "__main__":
    print(run())
