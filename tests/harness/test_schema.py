"""Checks of foreign data: what fits comes through, and the sentence of what does not."""

import math
from dataclasses import dataclass

import pytest

from harness.schema import (
    Misfit,
    boolean,
    either,
    fields,
    integer,
    is_moment,
    many,
    moment,
    must,
    one_of,
    optional,
    real,
    string,
    table,
)

WRONG = [
    (integer(1, 9), 10, "x must be a whole number from 1 to 9, got 10"),
    (integer(0, 1), True, "x must be a whole number from 0 to 1, got True"),
    (integer(0, 9), 1 << 80, "x must be a whole number from 0 to 9, got a number of 81 bits"),
    (real(0, 1), math.nan, "x must be a number from 0 to 1, got nan"),
    (real(0, 1e300), 10**400, "x must be a number from 0 to 1e+300, got a number of 1329 bits"),
    (string(3), "abcd", "x must be a text of at most 3 characters, got 'abcd'"),
    (string(100, "[a-z]+", "small letters"), "aB", "x must be small letters, got 'aB'"),
    (string(1), "y" * 61, "x must be a text of at most 1 characters, got a text of 61 characters"),
    (boolean, 1, "x must be true or false, got 1"),
    (one_of("a", "b"), "c", "x must be one of a, b, got 'c'"),
    (many(boolean, exactly=2), [True], "x must be a list of 2, got a list of 1"),
    (many(boolean, 3), [True, None], "x[1] must be true or false, got nothing"),
    (table(boolean, 1), {"a": True, "b": True}, "x must be a table of at most 1, got a table of 2"),
    (table(boolean, 2), {"a": 0}, "x.a must be true or false, got 0"),
    (optional(integer(0, 1)), "0", "x must be a whole number from 0 to 1, got '0'"),
    (moment, 5, "x must be a time such as 2026-11-20T17:01:00Z, and not years from now, got 5"),
    (either(boolean, integer(5, 6), called="a flag, or 5"), 4, "x must be a flag, or 5, got 4"),
]


@pytest.mark.parametrize("check, value, text", WRONG, ids=[row[2] for row in WRONG])
def test_a_value_that_does_not_fit_is_reported(check, value, text):
    with pytest.raises(Misfit) as error:
        check(value, "x")
    assert str(error.value) == text


@pytest.mark.parametrize(
    "text, is_one",
    [
        ("2026-11-20T17:01:00Z", True),
        ("2026-11-20T17:01:00.123456Z", True),
        ("2026-11-20T17:01:00+00:00", True),
        ("2026-11-20T17:01:00", False),
        ("2026-11-20T17:01:00+02:00", False),
        ("2026-11-31T17:01:00Z", False),
        ("2026-11-20T24:61:00Z", False),
        ("2999-11-20T17:01:00Z", False),
        ("2026-11-20T17:01:00Z\n", False),
    ],
)
def test_a_moment_is_one_that_there_was(text, is_one):
    assert is_moment(text) is is_one


def test_values_that_fit_come_through():
    assert either(boolean, integer(5, 6), called="")(6, "x") == 6 and optional(boolean)(None, "x") is None
    assert many(integer(0, 3))([], "x") == [] and many(integer(0, 3), exactly=2)([1, 2], "x") == [1, 2]
    assert real(0, 9)(3, "x") == 3.0 and type(real(0, 9)(3, "x")) is float
    assert table(boolean, 2)({"a": True}, "x") == {"a": True}


def test_texts_come_out_printable_and_stay_different():
    assert "\x1b" not in string(10)("a\x1b[31m", "x")
    with pytest.raises(Misfit, match="two names in x are the same once they are printable"):
        table(boolean, 3, name=lambda value, place: "same")({"a": True, "b": True}, "x")


@dataclass(frozen=True)
class Launch:
    grid: list = must(many(integer(1, 9), exactly=3))
    smem: int = must(integer(0, 99), 0)
    extra: dict = must(table(boolean, 1), dict, key="more-facts")


def test_a_dataclass_is_read_field_by_field():
    check = fields(Launch)
    assert check({"grid": [1, 2, 3], "unknown": 1}, "") == Launch([1, 2, 3], 0, {})
    assert check({"grid": [1, 2, 3], "more-facts": {"a": True}}, "").extra == {"a": True}
    for value, text in (
        ({"smem": 1}, "launch.grid is missing"),
        ({"grid": [1, 2, 0]}, "launch.grid[2] must be a whole number from 1 to 9, got 0"),
        ([], "launch must be a table, got a list of 0"),
    ):
        with pytest.raises(Misfit) as error:
            check(value, "launch")
        assert str(error.value) == text
