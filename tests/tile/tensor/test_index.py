"""Coordinates of an author as layouts take them."""

import pytest

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Float32, Int32, Int64
from dsl.tile.tensor.index import as_index


@pytest.mark.parametrize(
    "coord, index",
    [
        (3, 3), (None, None), (slice(None), None), (Int32(5), 5), ([1, Int64(2)], (1, 2)),
        ((1, (None, Int32(4))), (1, (None, 4))), ((), ()),
    ],
    ids=repr,
)  # fmt: skip
def test_static_numbers_become_pythons(coord, index):
    result = as_index(coord)
    assert result == index and type(result) is type(index)


@pytest.mark.parametrize(
    "coord, kind", [(True, "bool"), (1.5, "float"), (Float32(1.0), "Float32"), ("0", "str"), (slice(1), "slice")]
)
def test_wrong_indices_are_refused(coord, kind):
    with pytest.raises(DSLUserCodeTypeError) as error:
        as_index((0, coord))
    assert error.value.message == f"tensor index must be integers and None, got {kind}"
