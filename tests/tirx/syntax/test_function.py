"""Functions of T: parameters, symbols, T.jit, T.inline, meta values, and calls with tensors of several libraries.

Modules tested here: dsl/tirx/build.py, dsl/tirx/syntax/device_part.py, dsl/tirx/syntax/signature.py.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import dsl.tirx as tvm
from dsl.core.errors import DSLUserCodeError
from dsl.tirx.script import tirx as T


def test_symbols_come_from_shapes(run):
    @T.prim_func
    def main(a: T.handle, b: T.handle, s: T.float32):
        n, m = T.int32(), T.int32()
        A = T.match_buffer(a, (n, m), "float32")
        B = T.match_buffer(b, (m, n), "float32")
        T.device_entry()
        bx, by = T.cta_id([(n + 7) // 8, T.ceildiv(m, 4)])
        tx, ty = T.thread_id([8, 4])
        i: T.let = bx * 8 + tx
        j: T.let = by * 4 + ty
        if i < n and j < m:
            B[j, i] = A[i, j] * s

    for shape in ((3, 5), (20, 9), (8, 4)):
        a = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
        np.testing.assert_array_equal(run(main, a, a.T.copy(), 3.0)[1], a.T * np.float32(3))


def test_strides_of_match_buffer_count(run):
    @T.prim_func
    def main(a: T.handle, o: T.handle):
        s = T.int32()
        A = T.match_buffer(a, (4, 4), "float32", strides=[s, 1])
        O = T.match_buffer(o, (4, 4), "float32")
        T.device_entry()
        tx, ty = T.thread_id([4, 4])
        O[ty, tx] = A[ty, tx]

    wide = np.arange(40, dtype=np.float32).reshape(4, 10)
    out = np.zeros((4, 4), np.float32)
    tvm.compile(main, target="cuda")(wide[:, :4], out)
    np.testing.assert_array_equal(out, wide[:, :4])


def test_tensors_of_torch_and_numpy_are_arguments():
    @T.prim_func
    def main(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
        T.device_entry()
        tx = T.thread_id([64])
        B[tx] = A[tx] + 1

    executable = tvm.compile(
        tvm.IRModule({"main": main}), target=tvm.target.Target({"kind": "cuda", "arch": "sm_90a"}), tir_pipeline="tirx"
    )
    a, b = torch.arange(64, dtype=torch.int32), np.zeros(64, np.int32)
    executable(a, b)
    executable["main"](b, a)
    np.testing.assert_array_equal(a.numpy(), np.arange(64) + 2)


def test_wrong_arguments_are_refused():
    @T.prim_func
    def main(A: T.Buffer((64,), "int32"), n: T.int32):
        T.device_entry()
        tx = T.thread_id([64])
        A[tx] = n

    executable = tvm.compile(main, target="cuda")
    with pytest.raises(TypeError, match="expected 2, got 1"):
        executable(np.zeros(64, np.int32))
    with pytest.raises(ValueError, match=r"A.shape\[0\] on argument #0 .* expected to be 64, got 32"):
        executable(np.zeros(32, np.int32), 1)
    with pytest.raises(TypeError, match="dtype"):
        executable(np.zeros(64, np.float32), 1)
    with pytest.raises(TypeError, match="expected Tensor, got int"):
        executable(3, 1)


def test_jit_specializes(run):
    @T.jit
    def fill(A: T.Buffer((256,), "float32"), *, N: T.constexpr, SCALE: T.constexpr = 2):
        T.device_entry()
        tx = T.thread_id([N])
        if N > 100:
            k = 2.0 * SCALE
        else:
            k = 3.0 * SCALE
        A[tx] = k

    for constants, count, value in (({"N": 256}, 256, 4), ({"N": 64}, 64, 6), ({"N": 64, "SCALE": 5}, 64, 15)):
        made = run(fill.specialize(**constants), np.zeros(256, np.float32))[0]
        np.testing.assert_array_equal(made, np.where(np.arange(256) < count, value, 0))
    assert fill.specialize(N=64) is fill.specialize(N=64)
    with pytest.raises(TypeError, match="missing"):
        fill.specialize()
    with pytest.raises(TypeError, match="unexpected"):
        fill.specialize(N=1, M=2)


@T.inline
def add_into(acc, x):
    acc[0] = acc[0] + x


def test_inline_and_meta_values(run):
    @T.meta_class
    class State:
        def __init__(self, count):
            self.acc = T.alloc_local([1], "float32")
            self.parts = [T.alloc_local([1], "float32") for _ in range(count)]
            self.phase = T.int32(0)

        def turn(self):
            self.phase = self.phase ^ 1

    @T.prim_func
    def main(A: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        state = State(3)
        state.acc[0] = 1.0

        @T.inline
        def twice(x):
            add_into(state.acc, x)
            add_into(state.acc, x)

        twice(A[tx])
        n = T.meta_var(4)
        for j in range(n):
            state.acc[0] += j
            state.turn()
        for part in T.unroll(len(state.parts)):
            state.parts[part][0] = part
        state.turn()
        A[tx] = state.acc[0] + state.parts[2][0] + state.phase * 1000

    a = np.arange(32, dtype=np.float32)
    np.testing.assert_array_equal(run(main, a)[0], 1 + 2 * a + 6 + 2 + 1000)


def test_a_function_of_the_host_runs_there():
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), n: T.int32):
        s: T.float32 = 0
        for i in range(n):
            if i % 3 == 1:
                continue
            s += A[i]
        A[0] = s

    a = np.arange(16, dtype=np.float32)
    tvm.compile(main, target="llvm")(a, 10)
    assert a[0] == sum(i for i in range(10) if i % 3 != 1)


def test_structural_equality():
    def make(count, value):
        @T.prim_func
        def main(A: T.Buffer((16,), "float32")):
            for i in range(count):
                A[i] = value

        return main

    tvm.ir.assert_structural_equal(make(4, 1.0), make(4, 1.0))
    with pytest.raises(ValueError, match="StructuralEqual"):
        tvm.ir.assert_structural_equal(make(4, 1.0), make(5, 1.0))


def test_shape_that_no_tensor_brings():
    with pytest.raises(DSLUserCodeError, match="no tensor's shape"):

        @T.prim_func
        def main(A: T.Buffer((16,), "float32")):
            n = T.int32()
            T.device_entry()
            tx = T.thread_id([16])
            A[tx] = n


def test_runtime_tensors():
    tensor = tvm.runtime.tensor(np.arange(6, dtype=np.float32).reshape(2, 3), device=tvm.cuda(0))
    assert (tensor.shape, tensor.dtype) == ((2, 3), "float32")
    np.testing.assert_array_equal(torch.from_dlpack(tensor).numpy(), tensor.numpy())
    other = tvm.runtime.empty((2, 3), "float32", tvm.cpu())
    tensor.copyto(other)
    np.testing.assert_array_equal(other.numpy(), [[0, 1, 2], [3, 4, 5]])
