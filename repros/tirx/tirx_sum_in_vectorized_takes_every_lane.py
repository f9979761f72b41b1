# /// script
# requires-python = ">=3.11"
# dependencies = ["apache-tvm", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""A register that T.vectorized adds to takes every trip's term.
Source: Python, for; in apache-tvm 0.26.0 one lane survives, measured on a CPU.
"""

import numpy as np
import tvm
from tvm.script import tirx as T


@T.prim_func
def main(out: T.Buffer((1,), "int32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([1])
    total = 0
    for i in T.vectorized(4):
        total += 10 + i
    out[0] = total


def run():
    executable = tvm.compile(
        tvm.IRModule({"main": main}), target=tvm.target.Target({"kind": "cuda", "arch": "sm_80"}), tir_pipeline="tirx"
    )
    out = tvm.runtime.tensor(np.zeros(1, np.int32), device=tvm.cuda(0))
    executable(out)
    return {"out": out.numpy()}


def expected():
    return {"out": np.array([46], np.int32)}


if __name__ == "__main__":
    print(run())
