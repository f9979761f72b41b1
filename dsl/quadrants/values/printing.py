"""`print` and `assert` in kernels: C formats of the values' types, as quadrants 1.3.3 prints them."""

from __future__ import annotations

import re
from typing import Any

from dsl.core.control_flow.assertions import require
from dsl.core.number.dtypes import Boolean, Float64, Numeric, is_dynamic
from dsl.gpu import debug
from dsl.quadrants.errors.errors import QuadrantsTypeError
from dsl.quadrants.functions.task import dynamic, program
from dsl.quadrants.values import dtypes as types
from dsl.quadrants.values.assignable import value_of
from dsl.quadrants.values.matrix import Matrix
from dsl.quadrants.values.structure import Struct

_SPEC = re.compile(r"%?[-+ #0]*\d*(\.\d+)?[a-zA-Z]?")  # of C's printf


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
        if types.number(value) is None or not _SPEC.fullmatch(spec):
            return _escaped(format(value, spec) if spec and not spec.startswith("%") else str(value))
        value = types.number(value)
    if not is_dynamic(value):
        value = dynamic(value)
    _check_conversion(spec, type(value))
    conversion = spec.lstrip("%").rstrip("diufFgGeEaAxXo")
    if value.is_float:
        conversion = conversion or (".12" if type(value) is Float64 and not spec else "")
        leaves.append(Float64(value))
        return f"%{conversion}{spec[-1] if spec and spec[-1] in 'fFgGeEaA' else 'f'}"
    leaves.append(value)
    wide = "ll" if type(value).width == 64 else ""
    kind = spec[-1] if spec and spec[-1] in "xXo" else "d" if value.signed or type(value).width == 1 else "u"
    return f"%{conversion}{wide}{kind}"


def _check_conversion(spec: str, core: type[Numeric]) -> None:
    """Raise QuadrantsTypeError for a format that C does not have, or whose last letter asks for another type.

    u1 is both signed and not.
    """
    if not _SPEC.fullmatch(spec):
        raise QuadrantsTypeError.at(
            f"'{spec}' is not a format of a run-time number", "write a width, a precision and a letter: `{:8.3f}`"
        )
    letter = spec[-1:]
    if spec.startswith("%") or letter not in tuple("csdioxXufFeEaAgGnp"):
        return
    if letter in "csnp":
        raise QuadrantsTypeError.at(f"conversion '{letter}' is not supported.", "leave the letter out: `{}`")
    takes = core.is_float if letter in "fFeEaAgG" else core.is_integer
    if core.is_integer and core.width > 1:
        takes = takes and core.signed == (letter in "di")
    if not takes:
        fitting = "f" if core.is_float else "d" if core.signed else "u"
        raise QuadrantsTypeError.at(f"'{spec}' doesn't match '{types.of_core(core)}'.", f"write `{{:{fitting}}}`")


def check(flag: Boolean, message: Any, text: str) -> None:
    """Stop the kernel where `flag` is false, with `message`, or the `text` of the test where that is None."""
    program().task.effect()
    if not is_dynamic(flag) and flag.value:
        return
    if isinstance(message, Text):
        words, numbers = _with_digits(message)
        require(flag, AssertionError, words, *numbers)
    else:
        require(flag, AssertionError, str(message) if message is not None else f"Assertion failed: {text}")


def _with_digits(text: Text) -> tuple[str, list[Numeric]]:
    """A text with {} for each run-time integer, and these integers; "..." stands for other run-time values."""
    words, numbers = [], []
    for piece in text.pieces:
        value = piece if isinstance(piece, str) else value_of(piece[0])
        number = None if isinstance(value, str) else types.number(value)
        if number is None:
            words.append(str(value))
        elif not is_dynamic(number):
            words.append(str(number.value))
        elif number.is_integer:
            words.append("{}")
            numbers.append(number)
        else:
            words.append("...")
    return "".join(words), numbers
