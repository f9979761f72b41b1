"""Sentences of errors with their parts, so that each language can put them in its own words."""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Iterator, Mapping
from string import Formatter
from typing import Any


class Phrase(str):
    """A sentence, or a part of one. As text it is core's own wording: `template` with its `fields`.

    Fields are phrases, types and anything that prints; a field `{name:a}` gets its article, a field `{name!r}` is a
    value of the author (`shown`). `kind` names the phrase if a language may have its own template for it, with the same
    fields.
    """

    template: str
    kind: str
    fields: dict[str, Any]

    def __new__(cls, template: str, kind: str = "", /, **fields: Any) -> Phrase:
        phrase = super().__new__(cls, _Words(_core_word).vformat(template, (), fields))
        phrase.template, phrase.kind, phrase.fields = template, kind, fields
        return phrase

    def __getnewargs_ex__(self) -> tuple[tuple[str, str], dict[str, Any]]:
        return (self.template, self.kind), self.fields


def _core_word(part: Any) -> str:
    return part.__name__ if isinstance(part, type) else str(part)


class _Words(Formatter):
    def __init__(self, word: Callable[[Any], str]):
        self.word = word

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        return shown(value) if conversion == "r" else super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        return with_article(self.word(value)) if format_spec == "a" else self.word(value)


def reworded(text: str, templates: Mapping[str, str], type_word: Callable[[type], str]) -> str:
    """`text` in the words of a language: a phrase by the language's template for its kind, else by core's template,
    its fields likewise, and types by `type_word`. Text that is not a phrase stays."""
    if not isinstance(text, Phrase):
        return text

    def word(part: Any) -> str:
        return type_word(part) if isinstance(part, type) else str(reworded(part, templates, type_word))

    return _Words(word).vformat(templates.get(text.kind, text.template), (), text.fields)


def kinds(text: str) -> Iterator[str]:
    """The kinds of a phrase and of the phrases in it."""
    if isinstance(text, Phrase):
        if text.kind:
            yield text.kind
        for field in text.fields.values():
            if isinstance(field, Phrase):
                yield from kinds(field)


def with_article(word: str) -> str:
    """A word with its article. An element type is read by its letter: an i32 and an f32, but a u8."""
    is_letter = len(word) > 1 and word[1].isdigit()
    return f"a{'n' if word[:1].lower() in ('aefilmnorsx' if is_letter else 'aeio') and word else ''} {word}"


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)


def shown(value: Any) -> str:
    """A value of the author's as an error shows it: as they would write it, or what it is, without addresses."""
    if type(value) in (tuple, list):
        inner = ", ".join(map(shown, value)) + "," * (type(value) is tuple and len(value) == 1)
        return f"({inner})" if type(value) is tuple else f"[{inner}]"
    if type(value) is dict:
        return "{" + ", ".join(f"{shown(key)}: {shown(each)}" for key, each in value.items()) + "}"
    if isinstance(value, type):
        return f"the type {value.__name__}" if type(value).__repr__ is type.__repr__ else repr(value)
    if isinstance(value, types.ModuleType):
        return f"the module {value.__name__.removeprefix('dsl.')}"
    if isinstance(value, _FUNCTIONS):
        return f"function `{value.__qualname__}`"
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if type(value).__repr__ is object.__repr__:
        return type(value).__name__
    return repr(value)


# --- parts that many fixes have ---------------------------------------------------------------------------------------

STATIC_PARAMETER = Phrase("pass the value as cutlass.Constexpr", "STATIC_PARAMETER")


def dynamic(what: Any) -> Phrase:
    """A type or a noun of which the value is known only at run time."""
    return Phrase("a dynamic {what}", "DYNAMIC", what=what)


def cast(dtype: type) -> Phrase:
    """`x` as a `dtype`, by a call of the type."""
    return Phrase("`{dtype}(x)`", "CAST", dtype=dtype)


def conversion(dtype: type) -> Phrase:
    """`x` as a `dtype`, by its method."""
    return Phrase("`x.to(cutlass.{dtype})`", "CONVERSION", dtype=dtype)
