"""Element types: numpy's sizes and conversions, the types of literals, and which of two wins."""

import itertools
import struct

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.core.number.dtypes import Boolean, Float32, Int32, Int64
from dsl.quadrants.errors.errors import QuadrantsTypeError
from dsl.quadrants.values import dtypes


def test_types_agree_with_numpy():
    for dtype in dtypes.ALL:
        theirs = np.dtype(dtype.numpy_name)
        assert dtype.bytes == theirs.itemsize == struct.calcsize(dtype.format)
        assert dtypes.is_real(dtype) == (theirs.kind == "f") and dtypes.is_integral(dtype) == (theirs.kind in "iub")
        assert dtypes.is_signed(dtype) == (theirs.kind in "if")
        assert dtypes.of(theirs.type) is dtype and dtypes.of(np.dtype(theirs)) is dtype


def test_names_of_types():
    assert [dtypes.of(name) for name in (int, float, bool, Int64, "i32", list)] == [
        qd.i32,
        qd.f32,
        qd.u1,
        qd.i64,
        None,
        None,
    ]
    with pytest.raises(QuadrantsTypeError, match="'i32' is not an element type"):
        dtypes.existing("i32")


@pytest.mark.parametrize("value", [0, 1, -1, 300, -129, 2.75, -2.75, 1e10])
def test_a_call_converts_as_numpy_does(value):
    for dtype in (qd.i8, qd.i32, qd.i64, qd.f32, qd.f64, qd.f16):
        if isinstance(value, float) and dtypes.is_integral(dtype) and abs(value) > 127:
            continue  # C leaves it undefined
        with np.errstate(over="ignore"):
            wanted = np.array([value]).astype(dtype.numpy_name)[0]
        assert dtype(value) == wanted, dtype


def test_the_wider_wins_a_float_any_integer_and_unsigned_of_one_width():
    for a, b in itertools.product(dtypes.ALL, repeat=2):
        common = dtypes.of_core(dtypes.promote(a.core, b.core))
        assert common in (a, b)
        if dtypes.is_real(a) != dtypes.is_real(b):
            assert dtypes.is_real(common)
        elif a.core.width != b.core.width:
            assert common is max(a, b, key=lambda each: each.core.width)
        elif a is not b:
            assert not common.core.signed


def test_literals_have_the_default_types():
    assert [type(dtypes.number(value)) for value in (True, 3, 0.5, np.int64(3))] == [Boolean, Int32, Float32, Int32]
    assert dtypes.number(0.1).value == float(np.float32(0.1)) and dtypes.number("x") is None
    with pytest.raises(QuadrantsTypeError, match="Integer literal 2147483648 exceeded the range of default_ip: i32"):
        dtypes.number(2**31)


def test_the_type_an_operator_computes_in():
    i32, f64 = Int32, qd.f64.core
    assert dtypes.operation("truediv", i32, i32) is Float32 and dtypes.operation("truediv", i32, f64) is f64
    assert (
        dtypes.operation("lshift", qd.u8.core, i32) is qd.u8.core and dtypes.operation("add", i32, qd.i64.core) is Int64
    )
    with pytest.raises(QuadrantsTypeError, match="unsupported operand type"):
        dtypes.operation("and", i32, f64)
