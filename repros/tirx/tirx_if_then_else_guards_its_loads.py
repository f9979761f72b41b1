# /// script
# requires-python = ">=3.11"
# dependencies = ["apache-tvm", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""T.if_then_else, and Python's `a if c else b`, load the side that is chosen alone; an `and` stops at what is false.
Source: TIRx, Control flow; CUDA C++ of apache-tvm 0.26.0.
"""

import numpy as np
import tvm
from tvm.script import tirx as T

A = np.arange(1, 9, dtype=np.float32)


@T.prim_func
def main(a: T.Buffer((8,), "float32"), out: T.Buffer((16,), "float32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([16])
    out[tx] = T.if_then_else(tx < 8, a[tx], 0.0) + (a[tx] if tx < 8 else 1)
    if tx < 8 and a[tx] > 4.0:
        out[tx] = out[tx] + 100.0


def run():
    executable = tvm.compile(
        tvm.IRModule({"main": main}), target=tvm.target.Target({"kind": "cuda", "arch": "sm_80"}), tir_pipeline="tirx"
    )
    out = tvm.runtime.tensor(np.zeros(16, np.float32), device=tvm.cuda(0))
    executable(tvm.runtime.tensor(A, device=tvm.cuda(0)), out)
    return {"out": out.numpy()}


def expected():
    return {"out": np.concatenate([A * 2 + 100 * (A > 4), np.ones(8)]).astype(np.float32)}


if __name__ == "__main__":
    print(run())
