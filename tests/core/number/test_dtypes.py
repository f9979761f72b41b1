"""Numeric types: their facts compared with numpy, and the operations that are refused."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number import dtypes
from dsl.core.number.dtypes import (
    Boolean,
    Float16,
    Float32,
    Int8,
    Int32,
    Int64,
    Numeric,
    Uint8,
    Uint32,
    numeric,
    of_python,
)

OF_NUMPY = [dtype for dtype in vars(dtypes).values() if isinstance(dtype, type) and getattr(dtype, "numpy_name", None)]


def test_facts_agree_with_numpys_types():
    assert len(OF_NUMPY) >= 12
    for dtype in OF_NUMPY:
        theirs = np.dtype(dtype.numpy_name)
        assert dtype.storage_width == theirs.itemsize * 8 and dtype.is_float == (theirs.kind == "f")
        assert np.dtype(dtype.format) == theirs
        if theirs.kind in "iu":
            assert (dtype.min, dtype.max, dtype.signed) == (
                np.iinfo(theirs).min,
                np.iinfo(theirs).max,
                theirs.kind == "i",
            )


def test_python_numbers_have_types():
    assert [of_python(value) for value in (True, 1, 2**40, 0.5, "1", None)] == [
        Boolean,
        Int32,
        Int64,
        Float32,
        None,
        None,
    ]
    assert Numeric.from_python(3) is Int32 and type(numeric(0.5)) is Float32 and numeric("x") is None


def test_widths_by_kind_and_sign():
    assert (Int32.recast_width(64), Uint32.recast_width(8), Float32.recast_width(16)) == (Int64, Uint8, Float16)
    with pytest.raises(DSLUserCodeTypeError) as error:
        Int32.recast_width(24)
    assert error.value.message == "there is no Int of 24 bits"


def test_a_static_number_is_a_python_number():
    assert (int(Int32(7)), float(Float32(0.5)), bool(Int32(0)), [10, 20][Int8(1)]) == (7, 0.5, False, 20)
    assert f"{Int32(255):x}" == "ff" and repr(Int32(3)) == "Int32(3)" and hash(Int32(3)) == hash(3)


@pytest.mark.parametrize(
    "make, kind, message",
    [
        (lambda: Int32("5"), DSLUserCodeTypeError, "Python str is not a number that Int32 can hold"),
        (lambda: Int32(5).to("Int64"), DSLUserCodeTypeError, "`.to()` takes a numeric type, got 'Int64'"),
        (lambda: [1][Float32(0.0)], DSLUserCodeTypeError, "Float32 cannot be an index"),
        (
            lambda: Int32(1).bitcast(Int64),
            DSLUserCodeValueError,
            "an Int32 has 32 bits, but an Int64 has 64: bits can only be read as a type of the same width",
        ),
        (lambda: Numeric(1), DSLUserCodeTypeError, "Numeric has no values itself; use one of its concrete types"),
    ],
)
def test_operations_that_are_refused(make, kind, message):
    with pytest.raises(kind) as error:
        make()
    assert error.value.message == message and error.value.fix
