# /// script
# requires-python = ">=3.11"
# dependencies = ["apache-tvm", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""A `break` in T.vectorized stops what the trips after it would store.
Source: Python, break; apache-tvm 0.26.0 stores all lanes, measured on a CPU.
"""

import numpy as np
import tvm
from tvm.script import tirx as T


@T.prim_func
def main(out: T.Buffer((4,), "int32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([1])
    for i in T.vectorized(4):
        if i == 2:
            break
        out[i] = i + 1


def run():
    executable = tvm.compile(
        tvm.IRModule({"main": main}), target=tvm.target.Target({"kind": "cuda", "arch": "sm_80"}), tir_pipeline="tirx"
    )
    out = tvm.runtime.tensor(np.zeros(4, np.int32), device=tvm.cuda(0))
    executable(out)
    return {"out": out.numpy()}


def expected():
    return {"out": np.array([1, 2, 0, 0], np.int32)}


if __name__ == "__main__":
    print(run())
