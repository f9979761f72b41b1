"""A program in tvm_tirx's TIRx that makes two calls. Run by repro capture."""

import numpy as np
import tvm_tirx
from tvm_tirx.script import tirx as T

COUNT = 8
n = T.dynamic("n")


@T.function
def double(s: T.int32, A: T.Tensor((n,), "int32"), B: T.Tensor((n,), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=T.ceildiv(n, 4), block=4))
    i = T.cuda.block_idx("x") * 4 + T.cuda.thread_idx("x")
    if i < n:
        B[i] = A[i] * s


@T.jit
def filled(out: T.Tensor((2, 4), "float32"), *, N: T.constexpr):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=4))
    out[T.cuda.block_idx("x"), T.cuda.thread_idx("x")] = T.float32(N)


def compiled(function):
    target = tvm_tirx.target.Target({"kind": "cuda", "arch": "sm_90a"})
    return tvm_tirx.tirx.compile(function, target=target)


def main():
    on = tvm_tirx.cuda(0)
    a = tvm_tirx.runtime.tensor(np.arange(COUNT, dtype=np.int32), device=on)
    b = tvm_tirx.runtime.tensor(np.zeros(COUNT, np.int32), device=on)
    compiled(double)(3, a, b)
    compiled(filled.specialize(N=5))(tvm_tirx.runtime.tensor(np.zeros((2, 4), np.float32), device=on))


if __name__ == "__main__":
    main()
