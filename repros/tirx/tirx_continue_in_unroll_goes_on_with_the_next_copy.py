# /// script
# requires-python = ">=3.11"
# dependencies = ["apache-tvm", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""A `continue` in T.unroll goes on with its next copy, not with the loop around it.
Source: Python, continue; apache-tvm 0.26.0 goes on with the loop around it, measured on a CPU.
"""

import numpy as np
import tvm
from tvm.script import tirx as T


@T.prim_func
def main(out: T.Buffer((3, 8), "int32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([1])
    for i in range(3):
        for j in T.unroll(8):
            if j == i * 2:
                continue
            out[i, j] = i * 10 + j + 1


def run():
    executable = tvm.compile(
        tvm.IRModule({"main": main}), target=tvm.target.Target({"kind": "cuda", "arch": "sm_80"}), tir_pipeline="tirx"
    )
    out = tvm.runtime.tensor(np.zeros((3, 8), np.int32), device=tvm.cuda(0))
    executable(out)
    return {"out": out.numpy()}


def expected():
    i, j = np.mgrid[:3, :8]
    return {"out": np.where(j == i * 2, 0, i * 10 + j + 1).astype(np.int32)}


if __name__ == "__main__":
    print(run())
