"""Functions of numbers: Python's outside of kernels, with the operands that each takes."""

import pytest

from dsl.core.number.dtypes import Float32, Int32
from dsl.quadrants.errors.errors import QuadrantsTypeError
from dsl.quadrants.values import dtypes, scalar_functions


def test_outside_of_kernels_they_are_pythons():
    assert scalar_functions.sqrt(9) == 3.0
    assert (scalar_functions.maximum(2, 3), scalar_functions.minimum(2, 3.5)) == (3, 2)


def test_numbers_known_while_compiling_are_computed():
    largest = scalar_functions.maximum(Int32(2), 3)
    assert type(largest) is Int32 and largest.value == 3


def test_operands_are_converted_or_refused(monkeypatch):
    monkeypatch.setattr(dtypes.Defaults, "fp", dtypes.f32)
    assert type(scalar_functions.float_of(3, "sin")) is Float32
    assert scalar_functions.integer_of(3, "logical_not").value == 3
    with pytest.raises(QuadrantsTypeError, match="sin takes numbers, got a string"):
        scalar_functions.float_of("x", "sin")
    with pytest.raises(QuadrantsTypeError, match="'logical_not' takes integral inputs only, however 'f32' is provided"):
        scalar_functions.integer_of(0.5, "logical_not")
