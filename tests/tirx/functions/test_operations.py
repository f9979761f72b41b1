"""Results of operators, against numpy and the dtypes measured with apache-tvm 0.26.0."""

from __future__ import annotations

import numpy as np
import pytest

from dsl.core.errors import DSLWarning
from dsl.tirx.script import tirx as T


def test_casts_extend_by_the_sign_of_their_source(run):
    @T.prim_func
    def main(
        A: T.Buffer((1,), "int8"), O: T.Buffer((4,), "uint32"), P: T.Buffer((2,), "int64"), F: T.Buffer((3,), "int32")
    ):
        T.device_entry()
        tx = T.thread_id([1])
        O[0] = A[0]
        O[1] = T.uint32(A[0])
        O[2] = T.cast(A[0], "uint8")
        O[3] = A[0] + T.uint32(1)
        P[0] = O[0]
        P[1] = A[0]
        F[0] = T.int32(-2.7)
        F[1] = T.int32(T.float32(A[0]) * 1.5)
        F[2] = T.bool(A[0])

    _, o, p, f = run(
        main, np.array([-3], np.int8), np.zeros(4, np.uint32), np.zeros(2, np.int64), np.zeros(3, np.int32)
    )
    assert o.tolist() == [2**32 - 3, 2**32 - 3, 253, 2**32 - 2]
    assert p.tolist() == [2**32 - 3, -3]
    assert f.tolist() == [-2, -4, 1]


def test_a_float_stored_as_an_integer_is_truncated_with_a_warning(run):
    with pytest.warns(DSLWarning, match="STORE_TRUNCATES"):

        @T.prim_func
        def main(A: T.Buffer((4,), "float32"), O: T.Buffer((4,), "int32")):
            T.device_entry()
            tx = T.thread_id([4])
            O[tx] = A[tx]
            n = 1
            n = A[tx] + 1
            if tx == 0:
                O[tx] = n + 2.7

    made = run(main, np.array([1.7, -1.7, 2.5, -0.5], np.float32), np.zeros(4, np.int32))[1]
    assert made.tolist() == [4, -1, 2, 0]


def test_bits_and_limits(run):
    @T.prim_func
    def main(A: T.Buffer((32,), "uint32"), O: T.Buffer((10, 32), "uint32"), L: T.Buffer((4,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        O[0, tx] = T.popcount(A[tx])
        O[1, tx] = T.clz(A[tx])
        O[2, tx] = T.bitwise_and(A[tx], 0xFF) | (A[tx] >> 24)
        O[3, tx] = T.shift_left(A[tx], T.uint32(3)) ^ ~A[tx]
        O[4, tx] = T.cuda.ffs_u32(A[tx])
        O[5, tx] = T.reinterpret("uint32", T.float32(tx) * 0.5)
        O[6, tx] = T.cuda.float_as_uint(T.cuda.uint_as_float(A[tx] & 0x3FFFFFFF))
        O[7, tx] = T.bitwise_not(A[tx])
        O[8, tx] = T.max_value("uint16")
        O[9, tx] = T.uint32(T.min_value("int32"))
        L[0] = T.max_value("float32")
        L[1] = T.infinity("float32")
        L[2] = T.float32(T.isnan(L[1] - L[1]))
        L[3] = T.float32(T.isinf(L[1]))

    a = np.random.default_rng(3).integers(0, 2**32, 32, dtype=np.uint32)
    a[0] = 0
    _, o, limits = run(main, a, np.zeros((10, 32), np.uint32), np.zeros(4, np.float32))
    ffs = [(int(x) & -int(x)).bit_length() for x in a]
    want = [
        [bin(x).count("1") for x in a],
        [32 - int(x).bit_length() for x in a],
        (a & 0xFF) | (a >> 24),
        (a << 3) ^ ~a,
        ffs,
        (np.arange(32, dtype=np.float32) / 2).view(np.uint32),
        a & 0x3FFFFFFF,
        ~a,
        np.full(32, 65535),
        np.full(32, 2**31),
    ]
    np.testing.assert_array_equal(o, np.array(want, dtype=np.uint32))
    assert limits[0] == np.finfo(np.float32).max and np.isinf(limits[1]) and limits[2:].tolist() == [1, 1]


def test_a_ramp_is_a_vector_of_equal_steps(run):
    @T.prim_func
    def main(A: T.Buffer((1,), "int32"), O: T.Buffer((8,), "int32"), P: T.Buffer((4,), "int32")):
        T.device_entry()
        tx = T.thread_id([1])
        O.vstore([0], T.Ramp(3, 2, 8))
        P.vstore([0], T.ramp(A[0], -5, 4) * T.broadcast(2, 4))

    _, o, p = run(main, np.array([7], np.int32), np.zeros(8, np.int32), np.zeros(4, np.int32))
    assert o.tolist() == list(range(3, 19, 2)) and p.tolist() == [14, 4, -6, -16]


def test_a_likely_condition_decides_as_it_does_alone(run):
    @T.prim_func
    def main(O: T.Buffer((8,), "int32")):
        T.device_entry()
        tx = T.thread_id([8])
        if T.likely(tx < 3):
            O[tx] = 1

    assert run(main, np.zeros(8, np.int32))[0].tolist() == [1, 1, 1, 0, 0, 0, 0, 0]
