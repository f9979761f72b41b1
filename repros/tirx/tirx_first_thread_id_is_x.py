# /// script
# requires-python = ">=3.11"
# dependencies = ["apache-tvm", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""The first name of T.thread_id([16, 8]) is threadIdx.x, the one that warps run along, whatever it is called.
Source: CUDA C++ of apache-tvm 0.26.0.
"""

import numpy as np
import tvm
from tvm.script import tirx as T


@T.prim_func
def main(out: T.Buffer((8, 16), "int32")):
    T.device_entry()
    bx = T.cta_id([1])
    ty, tx = T.thread_id([16, 8])
    out[tx, ty] = T.cuda.thread_rank()


def run():
    executable = tvm.compile(
        tvm.IRModule({"main": main}), target=tvm.target.Target({"kind": "cuda", "arch": "sm_80"}), tir_pipeline="tirx"
    )
    out = tvm.runtime.tensor(np.zeros((8, 16), np.int32), device=tvm.cuda(0))
    executable(out)
    return {"out": out.numpy()}


def expected():
    return {"out": np.arange(128, dtype=np.int32).reshape(8, 16)}


if __name__ == "__main__":
    print(run())
