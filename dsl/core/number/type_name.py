"""The description of a value, in the author's words."""

from __future__ import annotations

import types
from typing import Any

from dsl.core.number.numeric_type import NumericMeta
from dsl.core.phrase import Phrase
from dsl.core.unbound import Unbound


def type_name(value: Any) -> str:
    """The type of a value in the author's words: `Int32`, `Python int`, `tuple of 2`;
    its own `type_text` if it has one. It may be a phrase.

    Raises DSLUserCodeError for a variable that has no value on every path.
    """
    if isinstance(value, Unbound):
        value.take(False)
    if isinstance(type(value), NumericMeta):
        return Phrase("{type}", type=type(value))
    if value is None:
        return "None"
    if isinstance(value, (type, types.ModuleType)):
        return f"the {'type' if isinstance(value, type) else 'module'} {value.__name__.removeprefix('dsl.')}"
    if isinstance(value, (bool, int, float, str)):
        return Phrase("Python {type}", "PYTHON_TYPE", type=type(value).__name__)
    if isinstance(value, (tuple, list, dict)):
        return f"{type(value).__name__} of {len(value)}"
    text = getattr(type(value), "type_text", None)
    return text.__get__(value) if isinstance(text, property) else type(value).__name__.lstrip("_")
