"""A program in TIRx that makes two calls. Run by repro capture."""

import numpy as np
import tvm
from tvm.script import tirx as T

COUNT = 8


@T.inline
def twice(x):
    return x * 2


@T.prim_func
def double(s: T.int32, a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    T.device_entry()
    bx = T.cta_id([(n + 3) // 4])
    tx = T.thread_id([4])
    i: T.let = bx * 4 + tx
    if i < n:
        B[i] = A[i] * s


@T.jit
def filled(out: T.Buffer((2, 4), "float32"), *, N: T.constexpr):
    T.device_entry()
    bx = T.cta_id([2])
    tx = T.thread_id([4])
    out[bx, tx] = T.float32(N)


def compiled(function):
    return tvm.compile(
        tvm.IRModule({"main": function}), target=tvm.target.Target({"kind": "cuda", "arch": "sm_90a"}), tir_pipeline="tirx"
    )  # fmt: skip


def main():
    on = tvm.cuda(0)
    a = tvm.runtime.tensor(np.arange(COUNT, dtype=np.int32), device=on)
    b = tvm.runtime.tensor(np.zeros(COUNT, np.int32), device=on)
    compiled(double)(3, a, b)
    compiled(filled.specialize(N=5))(tvm.runtime.tensor(np.zeros((2, 4), np.float32), device=on))


if __name__ == "__main__":
    main()
