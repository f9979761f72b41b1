# /// script
# requires-python = ">=3.11"
# dependencies = ["apache-tvm", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""One compiled kernel takes tensors of every size that `n = T.int32()` stands for, in its grid too.
Source: TIRx, Defining a function: symbolic shapes.
"""

import numpy as np
import tvm
from tvm.script import tirx as T

SIZES = (5, 100, 1000)


@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    T.device_entry()
    bx = T.cta_id([(n + 127) // 128])
    tx = T.thread_id([128])
    i: T.let = bx * 128 + tx
    if i < n:
        B[i] = A[i] * 2.0


def run():
    executable = tvm.compile(
        tvm.IRModule({"main": main}), target=tvm.target.Target({"kind": "cuda", "arch": "sm_80"}), tir_pipeline="tirx"
    )
    found = {}
    for n in SIZES:
        a, b = (tvm.runtime.tensor(np.arange(n, dtype=np.float32), device=tvm.cuda(0)) for _ in "ab")
        executable(a, b)
        found[f"n_{n}"] = b.numpy()
    return found


def expected():
    return {f"n_{n}": np.arange(n, dtype=np.float32) * 2 for n in SIZES}


if __name__ == "__main__":
    print(run())
