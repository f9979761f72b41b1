"""Properties that follow from the facts of a numeric type."""

import math

import pytest

from dsl.core.number import dtypes

INTEGERS = ("Int8", "Int16", "Int32", "Int64", "Uint8", "Uint16", "Uint32", "Uint64")


@pytest.mark.parametrize("name", INTEGERS)
def test_the_range_of_an_integer_type(name):
    dtype = getattr(dtypes, name)
    assert dtype.max - dtype.min == 2**dtype.width - 1 and (dtype.min < 0) == name.startswith("I")
    assert dtype.wrapped(dtype.max + 1) == dtype.min and dtype.bytes * 8 == dtype.width


def test_packed_types():
    packed = (dtypes.Int4, dtypes.Float4E2M1FN, dtypes.Float6E3M2FN, dtypes.Float6E2M3FN, dtypes.Float6E3M2FNx4)
    assert [dtype.is_packed for dtype in packed] == [True, True, True, True, True]
    assert not any(dtype.is_packed for dtype in (dtypes.Int8, dtypes.Boolean, dtypes.Float64, dtypes.Int128))
    assert dtypes.Float6E3M2FN.n_bytes(5) == 4 and dtypes.Int4.n_bytes(3) == 2


def test_facts_of_the_other_kind_are_missing():
    for dtype, name in (
        (dtypes.Float32, "max"),
        (dtypes.Int32, "inf"),
        (dtypes.Float32, "exponent_width"),
        (dtypes.Int32, "mantissa_width"),
    ):
        with pytest.raises(AttributeError, match=f"^{dtype} has no attribute '{name}'$"):
            getattr(dtype, name)
    assert math.isinf(dtypes.Float32.inf) and math.isnan(dtypes.Float64.nan)
    assert (dtypes.Float8E4M3FN.exponent_width, dtypes.Float4E2M1FNx2.mantissa_width) == (4, 1)
