"""Quotients and remainders of integers, rounded down and towards zero: numpy has both."""

from __future__ import annotations

import numpy as np

from dsl.tirx.script import tirx as T


def test_divisions(run):
    @T.prim_func
    def main(A: T.Buffer((32,), "int32"), B: T.Buffer((32,), "int32"), O: T.Buffer((9, 32), "int32")):
        T.device_entry()
        tx = T.lane_id([32])
        O[0, tx] = A[tx] // B[tx]
        O[1, tx] = A[tx] % B[tx]
        O[2, tx] = T.truncdiv(A[tx], B[tx])
        O[3, tx] = T.truncmod(A[tx], B[tx])
        O[4, tx] = A[tx] // 3
        O[5, tx] = A[tx] % 4
        O[6, tx] = T.ceildiv(A[tx], 5)
        O[7, tx] = T.floordiv(-7, 2) + T.truncdiv(-7, 2) * 10
        O[8, tx] = T.floormod(-7, 2) + T.truncmod(-7, 2) * 10

    rng = np.random.default_rng(1)
    a = rng.integers(-100, 100, 32).astype(np.int32)
    b = (rng.integers(1, 9, 32) * rng.choice([-1, 1], 32)).astype(np.int32)
    want = [a // b, a % b, np.trunc(a / b), np.fmod(a, b), a // 3, a % 4, -(-a // 5), a * 0 - 4 - 30, a * 0 + 1 - 10]
    np.testing.assert_array_equal(run(main, a, b, np.zeros((9, 32), np.int32))[2], np.stack(want))
