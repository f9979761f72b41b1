"""The dtype operators compute in, and the literals that are refused, as measured of apache-tvm 0.26.0."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeValueError
from dsl.tirx.script import tirx as T
from dsl.tirx.values import dtypes, promotion

NAMES = "bool int8 uint8 int16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64".split()
# Row + column in apache-tvm 0.26.0: tvm.tirx.Var(row) + tvm.tirx.Var(column).
SUMS = """\
bool int8 uint8 int16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64
int8 int8 uint8 int16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64
uint8 uint8 uint8 int16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64
int16 int16 int16 int16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64
int32 int32 int32 int32 int32 uint32 int64 uint64 float16 bfloat16 float32 float64
uint32 uint32 uint32 uint32 uint32 uint32 int64 uint64 float16 bfloat16 float32 float64
int64 int64 int64 int64 int64 int64 int64 uint64 float16 bfloat16 float32 float64
uint64 uint64 uint64 uint64 uint64 uint64 uint64 uint64 float16 bfloat16 float32 float64
float16 float16 float16 float16 float16 float16 float16 float16 float16 float16 float32 float64
bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 float16 bfloat16 float32 float64
float32 float32 float32 float32 float32 float32 float32 float32 float32 float32 float32 float64
float64 float64 float64 float64 float64 float64 float64 float64 float64 float64 float64 float64"""


def test_promotion_is_tvms():
    rows = [row.split() for row in SUMS.splitlines()]
    for a, row in zip(NAMES, rows):
        for b, wanted in zip(NAMES, row):
            common = promotion.promote(dtypes.find(a).scalar, dtypes.find(b).scalar)
            assert common is dtypes.find(wanted).scalar, (a, b)


KERNEL = """\
@T.prim_func
def main(H: T.Buffer((64,), "float16"), F: T.Buffer((64,), "float32"), B: T.Buffer((64,), "int8"),
         U: T.Buffer((64,), "uint8"), I: T.Buffer((64,), "int32"), L: T.Buffer((64,), "int64"),
         V: T.Buffer((64,), "uint32")):
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([64])
    {}
"""
# Refused: a literal that is converted to a dtype that does not hold it, and a shift by one out of range.
REFUSED = """\
B[tx] = T.int32(300)
B[tx] = T.int32(100) * 3
B[tx] = T.float32(300.0)
U[tx] = T.int32(-1)
V[tx] = T.int32(-1)
I[tx] = T.int64(5000000000)
I[tx] = T.uint32(3000000000)
I[tx] = T.float32(1e20)
H[tx] = T.float32(70000.0)
H[tx] = T.int32(70000)
B[tx] = T.int8(T.int32(300))
I[tx] = T.int32(T.float32(3e9))
U[tx] = -0.5
x: T.int8 = T.int32(300)
x: T.float16 = T.float32(70000.0)
V[tx] = V[tx] + -1
V[tx] = V[tx] + T.int32(-1)
V[tx] = V[tx] * -3
V[tx] = V[tx] & -1
V[tx] = T.max(V[tx], -1)
V[tx] = T.truncdiv(V[tx], -1)
V[tx] = T.if_then_else(tx > 0, V[tx], -1)
V[tx] += -1
H[tx] = H[tx] + 70000
H[tx] = H[tx] * T.int32(70000)
F[tx] = F[tx] + 1e40
F[tx] = T.exp(1e40)
F[tx] = T.max(F[tx], 1e40)
L[tx] = L[tx] + 9223372036854775808
I[tx] = F[tx] < 1e40
I[tx] = H[tx] < 70000
I[tx] = U[tx] == -1
I[tx] = I[tx] << 32
I[tx] = I[tx] << -1
I[tx] = I[tx] >> 32
L[tx] = I[tx] << 40
L[tx] = T.shift_left(I[tx], 40)
"""
# Accepted: a literal widens the sum, a fraction is cut off, and a value in a register is not a literal.
ACCEPTED = """\
I[tx] = I[tx] + 5000000000
I[tx] += 5000000000
L[tx] = I[tx] << T.int64(40)
L[tx] = 1 << 40
V[tx] = V[tx] - 1
V[tx] = V[tx] + 3000000000
B[tx] = B[tx] + 300
U[tx] = U[tx] + -1
U[tx] = U[tx] << 8
H[tx] = H[tx] + 70000.0
F[tx] = F[tx] + 5000000000
F[tx] = F[tx] + float("inf")
B[tx] = I[tx]
B[tx] = T.int32(100)
B[tx] = T.int8(127.9)
B[tx] = T.int8(-128.5)
L[tx] = T.int64(T.uint32(4294967295))
x: T.int32 = 300; B[tx] = x
x: T.let = T.int32(300); B[tx] = x
x = 300; B[tx] = x
x = 300; B[tx] = x + 1
"""


def _trace(statement: str) -> None:
    source = KERNEL.format(statement)
    linecache.cache["literal.py"] = (len(source), None, source.splitlines(True), "literal.py")
    scope = {"T": T, "__name__": "literal"}
    exec(compile(source, "literal.py", "exec"), scope)
    assert scope["main"].traced.device_mlir


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dsl.core.errors.DSLWarning")
def test_literals_that_no_dtype_holds_are_refused_as_upstream():
    for statement in REFUSED.splitlines():
        with pytest.raises(DSLUserCodeValueError) as caught:
            _trace(statement)
        assert caught.value.id in ("LITERAL_RANGE", "SHIFT_COUNT"), statement
    for statement in ACCEPTED.splitlines():
        _trace(statement)


def test_a_literal_widens_and_a_register_wraps(run):
    @T.prim_func
    def main(O: T.Buffer((8,), "int32"), L: T.Buffer((8,), "int64"), B: T.Buffer((8,), "int8")):
        T.device_entry()
        tx = T.thread_id([8])
        L[tx] = O[tx] + 5000000000
        O[tx] = O[tx] + 5000000000
        x: T.int32 = 300
        for i in T.unroll(299, 301):
            B[tx] = i + x

    ints, longs, bytes_ = run(main, np.arange(8, dtype=np.int32), np.zeros(8, np.int64), np.zeros(8, np.int8))
    assert longs.tolist() == [k + 5_000_000_000 for k in range(8)]
    assert ints.tolist() == [k + 705032704 for k in range(8)]
    assert bytes_.tolist() == [88] * 8  # 600 less 512


@pytest.mark.slow
def test_a_mask_wider_than_the_number_widens_it(run):
    @T.prim_func
    def main(L: T.Buffer((8,), "int64"), V: T.Buffer((8,), "uint32"), O: T.Buffer((8,), "int64")):
        T.device_entry()
        tx = T.thread_id([8])
        L[tx] = L[tx] & 0xFFFFFFFF
        O[tx] = V[tx] & 0xF0000000

    numbers = np.arange(8) - 4 + (7 << 40)
    low, _, high = run(main, numbers, np.full(8, 0xABCDEF01, np.uint32), np.zeros(8, np.int64))
    assert low.tolist() == (numbers & 0xFFFFFFFF).tolist()
    assert high.tolist() == [0xA0000000] * 8
