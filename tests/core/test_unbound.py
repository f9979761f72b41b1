"""Variables that some path has not assigned: any use is an error, except uses that only assigning paths reach."""

import operator

import pytest

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.unbound import Conflict, Name, Partial, Unbound, bound, missing_of, use
from dsl.span import Span

MISSING = ((Span("k.py", 7, 1), "not `{}` here"),)
USES = [
    lambda x: x + 1,
    lambda x: 1 - x,
    lambda x: x < 2,
    lambda x: x == x,
    bool,
    int,
    str,
    repr,
    iter,
    len,
    operator.neg,
    lambda x: x[0],
    lambda x: x(),
    lambda x: x.anything,
]


@pytest.mark.parametrize("number", range(len(USES)))
def test_every_use_of_a_variable_without_a_value_is_an_error(number):
    with pytest.raises(DSLUserCodeError) as error:
        USES[number](Unbound("total"))
    assert error.value.message == "`total` is not defined" and error.value.fix == "assign `total` first"
    assert error.value.id == "SCOPE_UNBOUND_NAME" and error.value.also == ()


def test_the_paths_without_it_are_shown():
    partial = Partial("total", MISSING, 42)
    with pytest.raises(DSLUserCodeError) as error:
        use(partial, proven=False)
    assert error.value.message == "`total` is not defined on every path"
    assert error.value.fix == "assign `total` there too, or before it"
    assert error.value.also == ((MISSING[0][0], "not `total` here"),)
    assert use(partial, proven=True) == 42 and missing_of(partial) == MISSING and missing_of(42) == ()


def test_values_of_two_types_raise_the_error_of_the_merge_at_the_use():
    first = DSLUserCodeTypeError("two types", fix="one of them", id="TYPES", place=Span("k.py", 3, 1))
    with pytest.raises(DSLUserCodeTypeError) as error:
        use(Conflict("x", first), proven=False)
    assert (error.value.message, error.value.fix, error.value.id) == ("two types", "one of them", "TYPES")
    assert error.value.also == ((first.place, "assigned here"),)


def test_a_variable_is_read_or_is_unbound():
    assert bound(lambda: 5, "x") == 5
    assert isinstance(bound(lambda: undefined_name, "undefined_name"), Unbound)


def test_names_are_read_off_what_rewritten_code_holds():
    own, authors = Name.all((("flag", "k.py", 1, 2, 3, 4, True), ("x", "k.py", 5, 6, 7, 8)))
    assert (own.name, own.used_after, own.lenient) == ("flag", True, True)
    assert (authors.name, authors.used_after, authors.lenient, authors.place) == (
        "x", False, False, Span("k.py", 5, 6, 7, 8),
    )  # fmt: skip
