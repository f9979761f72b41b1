# /// script
# requires-python = ">=3.11"
# dependencies = ["apache-tvm-tirx>=0.1.0a4", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""A declared name of tvm_tirx is a variable, which a loop carries; a binding keeps the value that the variable had.
Source: CUDA C++ of apache-tvm-tirx 0.1.0a4.
"""

import numpy as np
import tvm_tirx
from tvm_tirx.script import tirx as T

A = np.arange(1, 9, dtype=np.int32)
n = T.dynamic("n")


@T.function
def main(a: T.Tensor((n,), "int32"), out: T.Tensor((2,), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    total: T.int32 = 100
    before = total
    for i in range(n):
        total += a[i]
    out[0] = total
    out[1] = before


def run():
    target = tvm_tirx.target.Target({"kind": "cuda", "arch": "sm_80"})
    out = tvm_tirx.runtime.tensor(np.zeros(2, np.int32), device=tvm_tirx.cuda(0))
    tvm_tirx.tirx.compile(main, target=target)(tvm_tirx.runtime.tensor(A, device=tvm_tirx.cuda(0)), out)
    return {"out": out.numpy()}


def expected():
    return {"out": np.array([100 + A.sum(), 100], np.int32)}


if __name__ == "__main__":
    print(run())
