"""`print` and `assert` in kernels: C formats of the values' types, as quadrants 1.3.3 prints them."""

from __future__ import annotations

from typing import Any

from dsl.core.control_flow.assertions import require
from dsl.core.number.dtypes import Boolean, Float64, Numeric, is_dynamic
from dsl.gpu import debug
from dsl.quadrants.functions.task import dynamic, program
from dsl.quadrants.values import dtypes as types
from dsl.quadrants.values.assignable import value_of
from dsl.quadrants.values.matrix import Matrix
from dsl.quadrants.values.structure import Struct


class Text:
    """A text with run-time values in it: pieces are texts and (value, format specification)."""

    def __init__(self, pieces: list):
        self.pieces = pieces

    def in_words(self) -> str:
        """The value in the words of an error."""
        return "a string"

    def __str__(self) -> str:
        return "".join(piece if isinstance(piece, str) else "..." for piece in self.pieces)


def emit(values: tuple, sep: str, end: str) -> None:
    """Print values, as the thread that gets here."""
    leaves: list = []
    form = _escaped(sep).join(spelled(value, leaves) for value in values) + _escaped(end)
    program().task.effect()
    debug.emit(form, leaves)


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def spelled(value: Any, leaves: list, spec: str = "") -> str:
    """The C format of a value; the numbers it takes go to `leaves`."""
    value = value_of(value)
    if isinstance(value, Text):
        return "".join(
            _escaped(piece) if isinstance(piece, str) else spelled(piece[0], leaves, piece[1]) for piece in value.pieces
        )
    if isinstance(value, Matrix):
        return "[" + ", ".join(spelled(part, leaves, spec) for part in value.parts()) + "]"
    if isinstance(value, Struct):
        members = (f"'{_escaped(name)}': {spelled(part, leaves, spec)}" for name, part in value.items)
        return "{" + ", ".join(members) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(spelled(part, leaves, spec) for part in value) + "]"
    if not isinstance(value, Numeric):
        if types.number(value) is None or (spec and not spec.startswith("%")):
            return _escaped(format(value, spec.lstrip("%")) if spec and not spec.startswith("%") else str(value))
        value = types.number(value)
    if not is_dynamic(value):
        value = dynamic(value)
    conversion = spec.lstrip("%").rstrip("diufFgGeExXo")
    if value.is_float:
        conversion = conversion or (".12" if type(value) is Float64 and not spec else "")
        leaves.append(Float64(value))
        return f"%{conversion}{spec[-1] if spec and spec[-1] in 'fFgGeE' else 'f'}"
    leaves.append(value)
    wide = "ll" if type(value).width == 64 else ""
    kind = spec[-1] if spec and spec[-1] in "xXo" else "d" if value.signed or type(value).width == 1 else "u"
    return f"%{conversion}{wide}{kind}"


def check(flag: Boolean, message: Any, text: str) -> None:
    """Stop the kernel where `flag` is false, with `message`, or the `text` of the test where that is None."""
    program().task.effect()
    if not is_dynamic(flag) and flag.value:
        return
    require(flag, AssertionError, str(message) if message is not None else f"Assertion failed: {text}")
