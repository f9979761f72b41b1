# /// script
# requires-python = ">=3.11"
# dependencies = ["apache-tvm", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""A `break` in T.grid leaves all its loops, as it leaves a Python loop over their product.
Source: Python, break; TIRx calls T.grid a loop nest, and apache-tvm 0.26.0 leaves the innermost loop alone.
"""

import numpy as np
import tvm
from tvm.script import tirx as T


@T.prim_func
def main(out: T.Buffer((8, 8), "int32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([1])
    for i, j in T.grid(8, 8):
        if i == 2 and j == 3:
            break
        if j == 5:
            continue
        out[i, j] = 1


def run():
    executable = tvm.compile(
        tvm.IRModule({"main": main}), target=tvm.target.Target({"kind": "cuda", "arch": "sm_80"}), tir_pipeline="tirx"
    )
    out = tvm.runtime.tensor(np.zeros((8, 8), np.int32), device=tvm.cuda(0))
    executable(out)
    return {"out": out.numpy()}


def expected():
    out = np.zeros((8, 8), np.int32)
    out[:2], out[2, :3] = 1, 1
    out[:, 5] = 0
    return {"out": out}


if __name__ == "__main__":
    print(run())
