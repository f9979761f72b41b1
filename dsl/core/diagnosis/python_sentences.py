"""Python's message about an operation that fails, as a kind with fields: the one place that reads these sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Sentence:
    """`fields` are names of types as Python prints them, and the sign of an `operator`."""

    kind: str
    fields: dict[str, str]


# The first that is found is taken.
_PATTERNS = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        (
            "BINARY",
            r"unsupported operand type\(s\) for (?P<operator>\S+?)(?: or pow\(\)|\(\))?: "
            r"'(?P<left>\w+)' and '(?P<right>\w+)'",
        ),
        ("COMPARE", r"'(?P<operator>[<>=!]+)' not supported between instances of '(?P<left>\w+)' and '(?P<right>\w+)'"),
        ("UNARY", r"bad operand type for unary (?P<operator>\S+): '(?P<type>\w+)'"),
        ("CONCATENATE", r'can only concatenate (?P<left>\w+) \(not "(?P<right>\w+)"\)'),
        ("CALL", r"'(?P<type>\w+)' object is not callable"),
        ("SUBSCRIPT", r"'(?P<type>\w+)' object is not subscriptable"),
        ("STORE", r"'(?P<type>\w+)' object does not support item assignment"),
        ("LENGTH", r"object of type '(?P<type>\w+)' has no len\(\)"),
        ("WITH", r"'(?P<type>\w+)' object does not support the context manager"),
        ("UNPACK_ARGUMENTS", r"after \* must be an iterable, not (?P<type>\w+)"),
        ("UNPACK", r"cannot unpack non-iterable (?P<type>\w+)"),
        ("ITERATE", r"'(?P<type>\w+)' object is not iterable"),
        ("HASH", r"unhashable type: '(?P<type>\w+)'"),
        ("ROUND", r"type (?P<type>\w+) doesn't define __round__"),
        ("INTEGRAL", r"type (?P<type>\w+) doesn't define __(?:floor|ceil|trunc)__"),
        ("UFUNC", r"loop of ufunc does not support argument \d of type (?P<type>\w+) which has no callable \w+"),
    )
)


def read(error: BaseException) -> Sentence | None:
    """The sentence of `error`, None for any other text."""
    text = str(error)
    matches = ((kind, pattern.search(text)) for kind, pattern in _PATTERNS)
    return next((Sentence(kind, match.groupdict()) for kind, match in matches if match is not None), None)
