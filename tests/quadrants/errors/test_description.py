"""Values in the words of an author."""

import math
import types

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.core.number.dtypes import Float32, Int32, Uint8
from dsl.quadrants.errors.description import an, described
from dsl.quadrants.values.printing import Text

pytestmark = pytest.mark.usefixtures("running")


def plain(x):
    return x


CASES = {
    "an i32": lambda: Int32(1),
    "a u8": lambda: Uint8(1),
    "an f32": lambda: Float32(1.0),
    "a vector of 3": lambda: qd.Vector([1, 2, 3]),
    "a 2x3 matrix": lambda: qd.Matrix([[1, 2, 3], [4, 5, 6]]),
    "a field": lambda: qd.field(qd.i32, shape=2),
    "an ndarray": lambda: qd.ndarray(qd.i32, shape=2),
    "7": lambda: 7,
    "2.5": lambda: 2.5,
    "a bool": lambda: True,
    "a string": lambda: "text",
    "None": lambda: None,
    "a dict": dict,
    "an enumerate": lambda: enumerate([]),
    "the module math": lambda: math,
    "the module quadrants": lambda: types.ModuleType("dsl.quadrants"),
    "the class int": lambda: int,
    "the function plain": lambda: plain,
    "a numpy array of shape (2, 3)": lambda: np.zeros((2, 3)),
    "an object": object,
}


def test_a_value_has_its_kind_and_an_article():
    assert {text: described(make()) for text, make in CASES.items()} == {text: text for text in CASES}
    assert described(Text(["a"])) == "a string"
    assert (an(qd.i64), an("u8"), an("vector")) == ("an i64", "a u8", "a vector")
