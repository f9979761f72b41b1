"""Checks for data that came as JSON from somewhere else: what it must be, how much of it, and what it is instead.

A check takes a value and its place (`facts.kernels[2].name`) and returns the value, or raises Misfit. `fields(cls)` is
the check of a dataclass whose fields were declared by `must`. Texts come out printable. Standard library only.

    @dataclass(frozen=True)
    class Launch:
        grid: list[int] = must(many(integer(1, 2**31), exactly=3))
"""

from __future__ import annotations

import dataclasses
import datetime
import math
import re
from collections.abc import Callable
from typing import Any

from harness.terminal import printable

Check = Callable[[Any, str], Any]
_SHOWN = 60  # characters of a value in a message
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)", re.ASCII)
_AHEAD = datetime.timedelta(days=2 * 366)  # clocks are wrong, but not by years


class Misfit(Exception):
    """A value is not what it must be; the text is one sentence: the place, what must be, what is."""


def misfit(place: str, must: str, value: Any) -> Misfit:
    return Misfit(f"{place or 'it'} must be {must}, got {_brief(value)}")


def _brief(value: Any) -> str:
    """A value of any size in a few words."""
    if isinstance(value, str):
        return f"a text of {len(value)} characters" if len(value) > _SHOWN else ascii(value)
    if isinstance(value, dict):
        return f"a table of {len(value)}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 64:
        return f"a number of {value.bit_length()} bits"
    return "nothing" if value is None else str(value)


def string(most: int, pattern: str = "", called: str = "") -> Check:
    """A text of at most `most` characters, wholly of `pattern` where one is given; it comes out printable."""
    shape = re.compile(pattern, re.ASCII) if pattern else None
    must_be = called or f"a text of at most {most} characters"

    def check(value: Any, place: str) -> str:
        if not isinstance(value, str) or len(value) > most or (shape and not shape.fullmatch(value)):
            raise misfit(place, must_be, value)
        return printable(value)

    return check


def integer(least: int, most: int) -> Check:
    def check(value: Any, place: str) -> int:
        if type(value) is not int or not least <= value <= most:
            raise misfit(place, f"a whole number from {least} to {most}", value)
        return value

    return check


def real(least: float, most: float) -> Check:
    """A finite number."""

    def check(value: Any, place: str) -> float:
        fits = type(value) in (int, float) and least <= value <= most
        if not fits or not math.isfinite(value):
            raise misfit(place, f"a number from {least:g} to {most:g}", value)
        return float(value)

    return check


def boolean(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise misfit(place, "true or false", value)
    return value


def is_moment(text: str) -> bool:
    """Whether this is a moment in UTC that there was, written as in ISO 8601 with its zone."""
    if not _MOMENT.fullmatch(text):
        return False
    try:
        return datetime.datetime.fromisoformat(text) - datetime.datetime.now(datetime.UTC) < _AHEAD
    except ValueError:  # the 99th of a month
        return False


def moment(value: Any, place: str) -> str:
    if not isinstance(value, str) or not is_moment(value):
        raise misfit(place, "a time such as 2026-11-20T17:01:00Z, and not years from now", value)
    return value


def one_of(*names: str) -> Check:
    def check(value: Any, place: str) -> str:
        if not isinstance(value, str) or value not in names:
            raise misfit(place, f"one of {', '.join(names)}", value)
        return value

    return check


def either(*checks: Check, called: str) -> Check:
    """The first that fits."""

    def check(value: Any, place: str) -> Any:
        for one in checks:
            try:
                return one(value, place)
            except Misfit:
                continue
        raise misfit(place, called, value)

    return check


def optional(of: Check) -> Check:
    """Accept None, or what the check accepts."""
    return lambda value, place: None if value is None else of(value, place)


def many(of: Check, most: int = 0, exactly: int | None = None) -> Check:
    """A list."""
    must_be = f"a list of {exactly}" if exactly is not None else f"a list of at most {most}"

    def check(value: Any, place: str) -> list[Any]:
        fits = isinstance(value, list) and (len(value) <= most if exactly is None else len(value) == exactly)
        if not fits:
            raise misfit(place, must_be, value)
        return [of(one, f"{place}[{number}]") for number, one in enumerate(value)]

    return check


def table(of: Check, most: int, name: Check | None = None) -> Check:
    """Accept a table of names to what the check accepts; no two names look alike once they are printable."""
    name = name or string(1000)

    def check(value: Any, place: str) -> dict[str, Any]:
        if not isinstance(value, dict) or len(value) > most:
            raise misfit(place, f"a table of at most {most}", value)
        values = {
            name(key, f"a name in {place}"): of(one, f"{place}.{printable(str(key)[:_SHOWN])}")
            for key, one in value.items()
        }
        if len(values) < len(value):
            raise Misfit(f"two names in {place} are the same once they are printable")
        return values

    return check


def fields(cls: type) -> Check:
    """A dataclass whose fields were declared by `must`; keys that it does not know are left out."""
    checks: list[tuple[str, str, Check, bool]] = []
    for one in dataclasses.fields(cls):
        required = one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
        checks.append((one.name, one.metadata.get("key", one.name), one.metadata["check"], required))

    def check(value: Any, place: str) -> Any:
        if not isinstance(value, dict):
            raise misfit(place, "a table", value)
        values = {}
        for attribute, key, of, required in checks:
            if key in value:
                values[attribute] = of(value[key], f"{place}.{key}" if place else key)
            elif required:
                raise Misfit(f"{place}.{key} is missing" if place else f"{key} is missing")
        return cls(**values)

    return check


def must(check: Check, default: Any = dataclasses.MISSING, key: str | None = None) -> Any:
    """A field of a dataclass: its check, what it is where it is absent, its name in JSON if no identifier."""
    metadata = {"check": check} | ({"key": key} if key else {})
    if callable(default):
        return dataclasses.field(default_factory=default, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)
