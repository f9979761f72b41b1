"""The place where an exception was raised: the author's expression, and the names that can be seen there."""

import pytest

from dsl.core.syntax.raise_place import names_at, place_of, walk, words
from dsl.cutlass import cute


def raised(function, *arguments) -> Exception:
    try:
        function(*arguments)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def divide(top, bottom):
    quotient = [top, (top + 1) / bottom]
    return quotient


def outer(count):
    local = "seen"

    def inner(step):
        return local[step] + count

    return inner(1)


def test_the_place_is_the_expression_that_failed():
    error = raised(divide, 1, 0)
    place = place_of(error)
    line = place.source_line()
    assert line[place.column - 1 : place.end_column - 1] == "(top + 1) / bottom"
    assert words(place) == {"quotient", "top", "1", "bottom"}
    assert [entry.tb_frame.f_code.co_name for entry in walk(error)] == ["raised", "divide"]


@pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")
def test_the_place_of_an_error_of_ours_is_the_authors_call():
    place = place_of(raised(lambda: cute.make_layout(4, stride=(1, 2))))
    assert place.file == __file__ and "make_layout(4, stride=(1, 2))" in place.source_line()


def test_names_are_those_that_the_function_and_the_ones_round_it_see():
    local, module, functions = names_at(raised(outer, 5))
    assert local == {"count": 5, "inner": local["inner"], "local": "seen", "step": 1}
    assert module is globals() and {"outer", "inner"} <= functions
