"""Scalars with their own memory, operators by TVM's names, statements as calls.

Modules tested here: dsl/tirx/memory/memory.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import dsl.tirx as tvm
from dsl.tirx.script import tirx as T


def test_scalars(run):
    @T.prim_func
    def main(O: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        s = T.local_scalar("float32")
        k = T.alloc_scalar("int32", "local")
        p = T.shared_scalar("float32")
        s = T.float32(2)
        k = 3
        k += 1
        if T.filter(tx, tx == 0):
            p = T.float32(5)
        T.cuda.cta_sync()
        for i in range(2):
            s = s + p
        O[tx] = s * k + T.Add(tx, T.Mul(2, tx))
        if tx > 40:
            T.evaluate(T.thread_return())
        O[tx] += 1000.0

    lanes = np.arange(64)
    np.testing.assert_array_equal(run(main, np.zeros(64, np.float32))[0], 48 + 3 * lanes + 1000 * (lanes <= 40))


def test_a_buffer_of_one_element_is_assigned_by_its_name(run):
    @T.prim_func
    def main(O: T.Buffer((8,), "float32")):
        T.device_entry()
        tx = T.thread_id([8])
        s = T.alloc_local((1,), "float32")
        s = T.float32(3)
        s[0] += tx
        O[tx] = s[0]

    np.testing.assert_array_equal(run(main, np.zeros(8, np.float32))[0], np.arange(8) + 3)


def test_operators_by_name_and_statements_as_calls(run):
    @T.prim_func
    def main(O: T.Buffer((64,), "int32"), P: T.Buffer((64,), "int32")):
        T.device_entry()
        tx = T.thread_id([64])
        O[tx] = (
            T.Div(tx - 7, 2) * 100 + T.Mod(tx - 7, 3) + T.FloorDiv(tx - 7, 2) * 10000 + T.FloorMod(tx - 7, 3) * 1000000
        )
        if T.And(T.GT(tx, 3), T.Or(T.LT(tx, 9), T.Not(T.NE(tx, 20)))):
            T.buffer_store(P, T.IntImm("int32", 7), [tx])
        for i in range(10):
            if i == 3:
                T.evaluate(T.continue_loop())
            if i == 5:
                T.evaluate(T.break_loop())
            P[tx] += 1

    x = np.arange(64) - 7
    chosen = [4, 5, 6, 7, 8, 20]
    found, ones = run(main, np.zeros(64, np.int32), np.zeros(64, np.int32))
    np.testing.assert_array_equal(found, np.trunc(x / 2) * 100 + np.fmod(x, 3) + x // 2 * 10000 + x % 3 * 1000000)
    np.testing.assert_array_equal(ones, np.isin(np.arange(64), chosen) * 7 + 4)


def test_a_scalar_without_a_value_is_refused():
    with pytest.raises(tvm.error.DiagnosticError, match="`s` is read before anything is stored in it"):

        @T.prim_func
        def main(O: T.Buffer((8,), "float32")):
            T.device_entry()
            tx = T.thread_id([8])
            s = T.local_scalar("float32")
            O[tx] = s


def test_a_register_is_assigned_before_an_early_return(run):
    @T.prim_func
    def main(O: T.Buffer((8,), "int32")):
        T.device_entry()
        tx = T.thread_id([8])
        x: T.int32
        x = tx * 2
        if tx > 5:
            return
        O[tx] = x + 1

    np.testing.assert_array_equal(run(main, np.zeros(8, np.int32))[0], [1, 3, 5, 7, 9, 11, 0, 0])
