"""Values that are written as they are."""

import ast

import pytest

from harness.capture.author import plain_values


@pytest.mark.parametrize(("value", "is_so"), [(1, True), ({"a": [1, (None, b"")]}, True), ([object()], False)])
def test_plain_values(value, is_so):
    assert plain_values.is_plain(value) is is_so


def test_a_part_of_an_assignment():
    (node,) = ast.parse("a, b = 1, 2").body
    assert plain_values.part_of((1, 2), node, "b") == 2
    (node,) = ast.parse("a = 1, 2").body
    assert plain_values.part_of((1, 2), node, "a") == (1, 2)
