"""Values in the words of an author: "a run-time i32", "a vector of 3", "the module quadrants"."""

from __future__ import annotations

import types as python_types
from typing import Any

from dsl.core.number.dtypes import Numeric
from dsl.core.phrase import with_article
from dsl.quadrants.values import dtypes as types

_PLAIN = {
    str: "a string",
    list: "a list",
    tuple: "a tuple",
    dict: "a dict",
    type(None): "None",
    set: "a set",
    slice: "a slice",
    bool: "a bool",
    enumerate: "an enumerate",
    zip: "a zip",
    map: "a map",
}


def described(value: Any) -> str:
    """A value with its article. A class of this package describes itself by a method `in_words`."""
    if isinstance(value, Numeric):
        return an(types.name_of(value))
    if hasattr(type(value), "in_words"):
        return value.in_words()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(value)
    if isinstance(value, python_types.ModuleType):
        return f"the module {value.__name__.removeprefix('dsl.')}"
    if type(value) in _PLAIN:
        return _PLAIN[type(value)]
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if callable(value) and hasattr(value, "__name__"):
        return f"the function {value.__name__}"
    if type(value).__module__ == "numpy" and (shape := getattr(value, "shape", ())) != ():
        return f"a numpy array of shape {shape}"
    return an(type(value).__name__)


def an(name: Any) -> str:
    """The name of a type with its article."""
    return with_article(str(name))
