"""Python's errors of operations that a value of ours has not, raised for real, in the author's words."""

import pytest

from dsl.core.diagnosis.operator_errors import explained
from dsl.core.number.dtypes import Int32
from dsl.cutlass import cute
from dsl.layout import Layout

NUMBER, LAYOUT = Int32(3), Layout((4, 8), (1, 4))


def unpack(value):
    a, b = value


def unpack_three():
    a, b, c = (NUMBER, NUMBER)


CASES = [
    (lambda: [*NUMBER], "Int32 is not iterated", "loop over a range, `for i in range(n)`"),
    (lambda: unpack(NUMBER), "unpacks Int32, which is one value", "assign it to one name"),
    (lambda: 3 in NUMBER, "`in` does not search Int32", "give a tuple, a list or a range"),
    (lambda: len(NUMBER), "Int32 has no len()", "`cute.size(x)` is the size of a shape, a layout or a tensor"),
    (lambda: NUMBER(), "Int32 is not called", "leave out the parentheses, or look at what has this name"),
    (lambda: NUMBER[0], "Int32 has no elements", "index a tensor, a tuple or a list"),
    (lambda: LAYOUT + 1, "`+` is not defined for Layout and Python int", "use numbers of the DSL, or elements of tensors"),
    (lambda: -LAYOUT, "`-` is not defined for Layout", "give a number"),
    (lambda: cute.size < LAYOUT, "`<` is not defined for a function and Layout", "call the function: `f(...)`"),
]  # fmt: skip


@pytest.mark.parametrize("operation, message, fix", CASES, ids=[case[1] for case in CASES])
def test_the_authors_words(operation, message, fix):
    with pytest.raises(Exception) as caught:
        operation()
    error = explained(caught.value)
    assert (error.message, error.fix) == (message, fix)
    assert error.place.file == __file__ and isinstance(error, TypeError)


def test_values_of_the_author_alone_are_none_of_ours():
    for operation in (lambda: len(3), lambda: object() + 1, lambda: 3 in 5):
        with pytest.raises(TypeError) as caught:
            operation()
        assert explained(caught.value) is None


def test_too_few_values():
    with pytest.raises(ValueError) as caught:
        unpack_three()
    error = explained(caught.value)
    assert error.message == "unpacks 2 values into 3 names" and isinstance(error, ValueError)
