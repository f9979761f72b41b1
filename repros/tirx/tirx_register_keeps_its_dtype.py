# /// script
# requires-python = ">=3.11"
# dependencies = ["apache-tvm", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""`x = e` makes a register of e's dtype, which keeps it, and is no alias of what e was.
Source: TIRx, Buffers and memory: scalars; CUDA C++ of apache-tvm 0.26.0.
"""

import numpy as np
import tvm
from tvm.script import tirx as T

A = np.array([1.75, -1.75, 8.5, 0.25], np.float32)


@T.prim_func
def main(a: T.Buffer((4,), "float32"), out: T.Buffer((3, 4), "float32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([4])
    n: T.int32 = 0
    n = T.int32(a[tx] * 2.0)
    x = a[tx]
    y = x
    y = y + 1.0
    out[0, tx] = n
    out[1, tx] = x
    out[2, tx] = y


def run():
    executable = tvm.compile(
        tvm.IRModule({"main": main}), target=tvm.target.Target({"kind": "cuda", "arch": "sm_80"}), tir_pipeline="tirx"
    )
    out = tvm.runtime.tensor(np.zeros((3, 4), np.float32), device=tvm.cuda(0))
    executable(tvm.runtime.tensor(A, device=tvm.cuda(0)), out)
    return {"out": out.numpy()}


def expected():
    return {"out": np.stack([np.trunc(A * 2), A, A + 1])}


if __name__ == "__main__":
    print(run())
