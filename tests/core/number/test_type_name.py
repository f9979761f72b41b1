"""The names of values in errors."""

import math

import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.core.number.dtypes import Float32, Int32
from dsl.core.number.type_name import type_name
from dsl.core.unbound import Unbound


class Described:
    type_text = property(lambda self: "a described thing")


class _Hidden:
    pass


def test_names_are_the_authors_words():
    values = [Int32(1), 1, 1.0, True, "x", None, (1, 2), [1], {}, Float32, math, Described(), _Hidden()]
    assert [type_name(value) for value in values] == [
        "Int32",
        "Python int",
        "Python float",
        "Python bool",
        "Python str",
        "None",
        "tuple of 2",
        "list of 1",
        "dict of 0",
        "the type Float32",
        "the module math",
        "a described thing",
        "Hidden",
    ]


def test_a_variable_without_a_value_has_no_type():
    with pytest.raises(DSLUserCodeError, match="`x`"):
        type_name(Unbound("x"))
