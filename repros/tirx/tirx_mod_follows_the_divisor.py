# /// script
# requires-python = ">=3.11"
# dependencies = ["apache-tvm", "numpy"]
# [tool.repro]
# arch = "sm_80"
# ///
"""`//` rounds down and `%` follows the sign of the divisor; T.truncdiv and T.truncmod are C's.
Source: TIRx's FloorDiv and FloorMod; apache-tvm 0.26.0, measured on a CPU.
"""

import numpy as np
import tvm
from tvm.script import tirx as T

A = np.array([-7, 7, -8, 0], np.int32)


@T.prim_func
def main(a: T.Buffer((4,), "int32"), out: T.Buffer((4, 4), "int32"), b: T.int32):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([4])
    out[0, tx] = a[tx] // b
    out[1, tx] = a[tx] % b
    out[2, tx] = T.truncdiv(a[tx], b)
    out[3, tx] = T.truncmod(a[tx], b)


def run():
    executable = tvm.compile(
        tvm.IRModule({"main": main}), target=tvm.target.Target({"kind": "cuda", "arch": "sm_80"}), tir_pipeline="tirx"
    )
    found = {}
    for divisor in (3, -3):
        out = tvm.runtime.tensor(np.zeros((4, 4), np.int32), device=tvm.cuda(0))
        executable(tvm.runtime.tensor(A, device=tvm.cuda(0)), out, divisor)
        found[f"by_{divisor}"] = out.numpy()
    return found


def expected():
    return {f"by_{b}": np.stack([A // b, A % b, np.trunc(A / b), np.fmod(A, b)]).astype(np.int32) for b in (3, -3)}


if __name__ == "__main__":
    print(run())
