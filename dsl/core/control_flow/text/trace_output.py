"""The output of a program while it is compiled: `print`, and how a traced value reads:
`Int32 i`, its type and its name."""

from __future__ import annotations

import builtins
from typing import Any

from dsl import span
from dsl.core.number.dtypes import is_dynamic
from dsl.core.state import when_accepted

span.stands_for_python(__file__)


def write(text: str) -> None:
    """Print `text`, once what prints it is sure to stay: a loop may be traced again."""
    when_accepted(lambda: builtins.print(text, end=""))  # a process may have no stdout


class Shown:
    """A traced value in text: it reads as its type and name under any format."""

    def __init__(self, value: Any, name: str):
        self.text = f"{type(value).__name__} {name}".rstrip()

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return self.text


def shown(value: Any, name: str = "") -> Any:
    """`value`, or where it is dynamic what stands for it in text;
    `name` is the author's expression, where it is short."""
    return Shown(value, name) if is_dynamic(value) else value


class Formatted:
    """An f-string that is formatted when the program runs: its texts, and (value, conversion, format, whether the
    format was written as it is) for each of its values."""

    def __init__(self, *parts: str | tuple[Any, str, str, bool, str]):
        self.parts = parts


def print_(
    names: tuple, *values, sep: str | None = " ", end: str | None = "\n", file=None, flush: bool = False
) -> None:
    """Python's print; a dynamic value reads as its type and name."""
    shown_values = _all_shown(names, values)
    if file is not None:
        texts = list(map(str, shown_values))
        when_accepted(lambda: builtins.print(*texts, sep=sep, end=end, file=file, flush=flush))
        return
    write((" " if sep is None else sep).join(map(str, shown_values)) + ("\n" if end is None else end))
    if flush:
        when_accepted(lambda: builtins.print(end="", flush=True))


def _all_shown(names: tuple, values: tuple) -> list:
    if len(names) != len(values):  # star arguments
        names = ("",) * len(values)
    return [shown(value, name) for value, name in zip(values, names)]
