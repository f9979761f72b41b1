"""Texts of a program with values known only at run time: f-strings, `str(n)`, `"%s" % n`, `"{}".format(n)`, `join`.

For Python such a text is a str in which a traced value reads as its type and name. `printf` prints the value itself.
"""

from __future__ import annotations

import functools
import itertools
import re
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dsl import span
from dsl.core import pytree
from dsl.core.control_flow.text.trace_output import shown
from dsl.core.number.dtypes import Numeric, is_dynamic

span.stands_for_python(__file__)

_STATIC = (str, int, float, bool, type(None))
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {"r": repr, "s": str, "a": ascii, "": lambda value: value}
_PERCENT = re.compile(r"%(?:\((?P<name>\w*)\))?(?P<flags>[-+ #0]*\d*(?:\.\d*)?)[hlL]?(?P<kind>[a-zA-Z%])")


@dataclass(frozen=True, eq=False)
class Value:
    """A value in a text: its conversion and its format, whether the format was written as it is, and what Python
    shows of the value."""

    value: Any
    conversion: str
    spec: str
    is_known: bool
    text: str

    @property
    def key(self) -> tuple:
        return self.conversion, self.spec, self.is_known


class RuntimeText(str):
    """A text whose `parts` are plain texts and Values."""

    parts: tuple[str | Value, ...]

    def __new__(cls, parts: Iterable[str | Value]):
        flat = tuple(parts)
        text = super().__new__(cls, "".join(part if isinstance(part, str) else part.text for part in flat))
        text.parts = flat
        return text

    def __flatten__(self) -> tuple[tuple, Any]:
        return tuple(part.value for part in self.parts if isinstance(part, Value)), tuple(
            part if isinstance(part, str) else part.key for part in self.parts
        )

    @classmethod
    def __unflatten__(cls, key: Any, children: Sequence[Any]) -> RuntimeText:
        values = iter(children)
        pieces = [part if isinstance(part, str) else written(next(values), *part) for part in key]
        return cls(each for piece in pieces for each in parts_of(piece))

    def __eq__(self, other: object) -> bool:
        """Whether Python's texts are equal, and of two texts with values the values too: each of them is its own."""
        if not isinstance(other, RuntimeText) or not str.__eq__(self, other):
            return str.__eq__(self, other) is True
        mine, others = self.__flatten__(), other.__flatten__()
        return mine[1] == others[1] and all(a is b for a, b in zip(mine[0], others[0]))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __add__(self, other: str) -> str:
        return joined_parts([self, other]) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: str) -> str:
        return joined_parts([other, self]) if isinstance(other, str) else NotImplemented

    def __mul__(self, count: Any) -> str:
        return joined_parts([self] * count)

    __rmul__ = __mul__  # pyright: ignore[reportAssignmentType]

    def join(self, texts: Iterable[str]) -> str:
        return join(self, texts)

    def _mapped(self, change: Callable[[str], str]) -> str:
        return RuntimeText(change(part) if isinstance(part, str) else part for part in self.parts)

    def upper(self) -> str:
        return self._mapped(str.upper)

    def lower(self) -> str:
        return self._mapped(str.lower)

    def replace(self, old: str, new: str, count: Any = -1) -> str:
        return self._mapped(lambda text: text.replace(old, new, count))

    def lstrip(self, chars: str | None = None) -> str:
        first = self.parts[0]
        return RuntimeText((first.lstrip(chars), *self.parts[1:])) if isinstance(first, str) else self

    def rstrip(self, chars: str | None = None) -> str:
        last = self.parts[-1]
        return RuntimeText((*self.parts[:-1], last.rstrip(chars))) if isinstance(last, str) else self

    def strip(self, chars: str | None = None) -> str:
        return self.lstrip(chars).rstrip(chars)


RuntimeText.__name__ = "str"  # which it is for an author


def parts_of(text: str) -> tuple[str | Value, ...]:
    return text.parts if isinstance(text, RuntimeText) else (text,)


def joined_parts(texts: Iterable[str]) -> str:
    """Texts one after another: a str where none has a value known only at run time."""
    parts = [part for text in texts for part in parts_of(text)]
    if all(isinstance(part, str) for part in parts):
        return "".join(part for part in parts if isinstance(part, str))
    return RuntimeText(parts)


def written(value: Any, conversion: str = "", spec: str = "", is_known: bool = True, name: str = "") -> str:
    """`value` as a text of a program."""
    if isinstance(value, RuntimeText) and not spec:
        return joined_parts(["'", value, "'"]) if conversion in ("r", "a") else value
    stands_for = shown(value, name)
    text = format(_CONVERSIONS[conversion](stands_for), spec)
    if isinstance(text, RuntimeText) or type(value) in _STATIC or not _has_dynamic(value):
        return text
    return RuntimeText([Value(value, conversion, spec, is_known, text)])


def _has_dynamic(value: Any) -> bool:
    """Whether anything in `value` is known only at run time."""
    leaves, _ = pytree.flatten(value, promote=False)
    return any(not isinstance(leaf, Numeric) or is_dynamic(leaf) for leaf in leaves)


def joined_string(*parts: str | tuple[Any, str, str, bool, str]) -> str:
    """An f-string: its texts, and its values as `written` takes them."""
    return joined_parts(part if isinstance(part, str) else written(*part) for part in parts)


def str_(names: tuple, *values, **options) -> str:
    if len(values) == 1 and not options:
        return written(values[0], "s", name=names[0] if names else "")
    return str(*values, **options)


def repr_(names: tuple, *values) -> str:
    return written(values[0], "r", name=names[0] if names else "") if len(values) == 1 else repr(*values)


def format_(names: tuple, *values) -> str:
    if len(values) in (1, 2) and isinstance(values[-1] if len(values) == 2 else "", str):
        return written(values[0], "", *values[1:], name=names[0] if names else "")
    return format(*values)


def join(separator: str, texts: Iterable[str]) -> str:
    """`separator.join(texts)`."""
    texts = list(texts)
    if not any(isinstance(text, RuntimeText) for text in (separator, *texts)):
        return separator.join(texts)
    return joined_parts(each for position, text in enumerate(texts) for each in (separator, text)[not position :])


def text_method(method: Any) -> Callable:
    """`"...".join` and `"...".format` as a program's call means them; other methods as they are."""
    text = method.__self__
    if not isinstance(text, str):
        return method
    return {"join": functools.partial(join, text), "format": functools.partial(formatted, text)}[method.__name__]


def formatted(form: str, *values, **named) -> str:
    """`form.format(*values, **named)`."""
    if not _has_dynamic([*values, named]):
        return str.format(form, *values, **named)
    return joined_parts(_fields(form, values, named, itertools.count()))


def _fields(form: str, values: tuple, named: dict, positions: Iterator[int]) -> Iterator[str]:
    """The texts of a format, one after another; a field without a name has the next position."""
    formatter = string.Formatter()
    for text, field, spec, conversion in formatter.parse(form):
        yield text
        if field is not None:
            field = field if re.match(r"\w", field) else f"{next(positions)}{field}"
            value, _ = formatter.get_field(field, values, named)
            yield written(value, conversion or "", "".join(_fields(spec or "", values, named, positions)))


def percent(form: str, values: Any) -> str:
    """`form % values`."""
    by_name = isinstance(values, dict)
    given = list(values.values()) if by_name else list(values) if isinstance(values, tuple) else [values]
    if not _has_dynamic(given):
        return str.__mod__(form, values)
    places = [place for place in _PERCENT.finditer(form) if place["kind"] != "%"]
    if not by_name and len(places) != len(given):
        few = len(places) > len(given)
        raise TypeError("not enough arguments for format string" if few else "not all arguments converted")
    remaining, texts, start = iter(given), [], 0
    for place in _PERCENT.finditer(form):
        texts.append(form[start : place.start()])
        start, kind = place.end(), place["kind"]
        if kind == "%":
            texts.append("%")
            continue
        value = values[place["name"]] if by_name else next(remaining)
        if _has_dynamic(value):
            is_text = kind in "sra"
            texts.append(written(value, kind if is_text else "", "" if is_text else place["flags"] + kind))
        else:
            texts.append(f"%{place['flags']}{kind}" % (value,))
    return joined_parts([*texts, form[start:]])
