"""Structures of values: taken apart and put together they are what they were, and every value has a name."""

import pytest

from dsl.core.value_structure import names, put_together, taken_apart


@pytest.mark.parametrize(
    "raw, values, called",
    [
        ({"x": [1], "y": [2]}, [1, 2], ["p.x", "p.y"]),
        ({"at": {"x": 1, "y": 2}, "forces": [[3], [4]]}, [1, 2, 3, 4], ["p.at.x", "p.at.y", "p.forces[0]", "p.forces[1]"]),
        ([[1], {"a": [2, 3]}], [1, 2, 3], ["p[0]", "p[1].a[0]", "p[1].a[1]"]),
    ],
)  # fmt: skip
def test_a_structure_is_put_together_as_it_was(raw, values, called):
    found, structure = taken_apart(raw)
    assert found == values
    assert put_together(structure, found) == raw
    assert names(structure, "p") == called


def test_a_plain_list_has_no_structure():
    assert taken_apart((1, 2)) == ([1, 2], None)
    assert put_together(None, (1, 2)) == [1, 2]
