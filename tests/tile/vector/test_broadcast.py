"""Broadcasting against numpy, which matches modes from the last: shapes reversed, elements in Fortran's order."""

import itertools

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.tile.vector import broadcast

SHAPES = [(), (1,), (3,), (1, 4), (3, 1), (3, 4), (1, 1, 2), (3, 4, 2), (1, 4, 1)]


def padded(shape, rank):
    return shape + (1,) * (rank - len(shape))


@pytest.mark.parametrize("a, b", list(itertools.product(SHAPES[1:], SHAPES[1:])))
def test_two_shapes_join_as_in_numpy(a, b):
    rank = max(len(a), len(b))
    try:
        expected = np.broadcast_shapes(padded(a, rank), padded(b, rank))
    except ValueError:
        with pytest.raises(DSLUserCodeValueError, match="cannot be broadcast together"):
            broadcast.joined(a, b)
        return
    shape = broadcast.joined(a, b)
    assert padded(shape, rank) == expected  # the first operand keeps its rank where it has the whole shape
    for operand in (a, b):
        count = int(np.prod(operand))
        values = np.arange(count).reshape(padded(operand, rank), order="F")
        assert broadcast.elements(operand, shape) == list(np.broadcast_to(values, expected).ravel(order="F"))


def test_nested_modes_match_leaf_by_leaf():
    assert broadcast.joined(((2, 1), 3), ((1, 4), 3)) == ((2, 4), 3)
    assert broadcast.elements(((2, 1), 1), ((2, 2), 2)) == [0, 1, 0, 1, 0, 1, 0, 1]
    with pytest.raises(DSLUserCodeTypeError) as error:
        broadcast.joined(((2, 2), 3), (4, 3))
    assert (
        error.value.message
        == "the shapes ((2,2),3) and (4,3) are nested differently, so they cannot be broadcast together"
    )


def test_a_shape_that_does_not_repeat_is_refused():
    with pytest.raises(DSLUserCodeValueError) as error:
        broadcast.elements((2, 3), (2, 4))
    assert error.value.message == "a value of shape (2,3) does not repeat to (2,4)"
