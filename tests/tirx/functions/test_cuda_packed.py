"""Packed numbers, waits and registers of T.cuda. The values of most are held against apache-tvm 0.27's in
tests/tirx/oracle/instructions.py.

Modules tested here: dsl/tirx/functions/cuda_operands.py, dsl/tirx/functions/mbarrier_waits.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.tirx.script import tirx as T


def test_eight_numbers_are_converted(run):
    @T.prim_func
    def main(A: T.Buffer((8,), "float16"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float16")):
        T.device_entry()
        bx = T.cta_id([1])
        tx = T.thread_id([1])
        T.cuda.half8tofloat8(A.ptr_to([0]), B.ptr_to([0]))
        T.cuda.float8tohalf8(B.ptr_to([0]), C.ptr_to([0]))

    a = np.array([0, -1.5, 65504, 1e-7, np.inf, -np.inf, 3, 0.1], np.float16)
    _, b, c = run(main, a, np.zeros(8, np.float32), np.zeros(8, np.float16))
    np.testing.assert_array_equal(b, a.astype(np.float32))
    np.testing.assert_array_equal(c, a)


def test_special_registers_are_read_by_name(run):
    @T.prim_func
    def main(O: T.Buffer((2, 64), "int32"), P: T.Buffer((64,), "int64")):
        T.device_entry()
        bx = T.cta_id([1])
        tx = T.thread_id([64])
        O[0, tx] = T.cuda.mov_sreg(32, "laneid")
        O[1, tx] = T.cuda.mov_sreg(32, "tid.x")
        P[tx] = T.cuda.mov_sreg(64, "clock64")

    found, clock = run(main, np.zeros((2, 64), np.int32), np.zeros(64, np.int64))
    t = np.arange(64)
    np.testing.assert_array_equal(found, np.stack([t % 32, t]))
    assert (clock >= 0).all()


def test_waits_for_an_mbarrier(run):
    @T.prim_func
    def main(O: T.Buffer((64,), "int32")):
        T.device_entry()
        bx = T.cta_id([1])
        tx = T.thread_id([64])
        bar = T.alloc_shared((1,), "uint64")
        word = T.alloc_shared((64,), "int32")
        if tx == 0:
            T.ptx.mbarrier.init.shared.b64(bar.ptr_to([0]), 64)
        T.cuda.cta_sync()
        state: T.uint64
        word[tx] = tx
        T.ptx.mbarrier.arrive.shared.b64(state, bar.ptr_to([0]))
        T.cuda.mbarrier_wait(bar.ptr_to([0]), 0)
        O[tx] = word[63 - tx]
        T.ptx.mbarrier.arrive.shared.b64(state, bar.ptr_to([0]))
        T.cuda.mbarrier_wait_acquire_cluster(bar.ptr_to([0]), 1)
        word[63 - tx] = O[tx] + 1
        T.cuda.cluster_sync()
        O[tx] = word[tx]

    np.testing.assert_array_equal(run(main, np.zeros(64, np.int32))[0], np.arange(64) + 1)


def test_operands_that_do_not_fit():
    def message(call) -> str:
        with pytest.raises(DSLUserCodeError) as error:

            @T.prim_func
            def main(A: T.Buffer((8,), "float32")):
                T.device_entry()
                bx = T.cta_id([1])
                tx = T.thread_id([1])
                call()

        return error.value.message

    assert message(lambda: T.cuda.make_float2("a", 1.0)) == "T.cuda.make_float2 takes a number, got Python's str"
    assert message(lambda: T.cuda.half8tofloat8(1, 2)) == "T.cuda.half8tofloat8 takes an address, got Python's int"
    assert message(lambda: T.cuda.mbarrier_wait(1, 0)) == "an mbarrier must be an address, got Python's int"
    assert message(lambda: T.cuda.mov_sreg(16, "laneid")) == "a special register has 32 or 64 bits, got 16"
    assert message(lambda: T.cuda.mov_sreg(32, "%laneid")) == (
        "the name of a special register must be as in PTX, without %, got '%laneid'"
    )
    assert message(lambda: T.cuda.fadd2_rn(1, 2)) == "T.cuda.fadd2_rn is not part of this compiler yet"
    assert message(lambda: T.cuda.wait_until) == "T.cuda.wait_until is not part of this compiler yet"


def test_a_name_of_apache_tvm_0_26_is_noted():
    with pytest.warns(DeprecationWarning) as told:

        @T.prim_func
        def main(A: T.Buffer((32,), "float32")):
            T.device_entry()
            bx = T.cta_id([1])
            tx = T.thread_id([32])
            A[tx] = T.ptx.exp2(A[tx])
            T.ptx.bar.sync(1, 32)
            T.ptx.add.f32(A[tx], A[tx], A[tx])

    assert [str(each.message) for each in told] == [
        "apache-tvm 0.27 has no T.ptx.exp2 like this: write `T.ptx.ex2.approx.ftz.f32(d, x)`"
    ]
