"""What a line of the record must be to be read: records come with checkouts, and are not trusted. schema.py has the checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.schema import boolean, either, fields, integer, many, must, optional, real, string, table

_MOST = 1000
_WORDS = optional(string(1 << 16))
_SCALAR = either(optional(string(5000)), boolean, integer(-(1 << 70), 1 << 70), real(-1e300, 1e300),
                 called="a text or a number")
_HASHES = optional(table(string(64, r"[0-9A-Za-z]*", "a sha256"), 10 * _MOST))
_FACTS = optional(table(_SCALAR, _MOST))
_BELOW = r"(?!/)(?!(?:[^\0]*/)?\.\.(?:/|\Z))[^\0]+"
_DATE = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?"


@dataclass(frozen=True)
class Device:
    """What executed PTX; its arch becomes part of a golden's name."""

    kind: str | None = must(_WORDS, None)
    arch: str | None = must(optional(string(40, r"[\w.-]*", "an arch such as sm_90a")), None)
    name: str | None = must(_WORDS, None)
    driver: Any = must(_SCALAR, None)
    uuid: Any = must(_SCALAR, None)


@dataclass(frozen=True)
class Element:
    """How one output differed."""

    output: str = must(string(1000))
    against: str = must(string(1000))
    message: str = must(string(1 << 16))
    first: list[Any] = must(many(many(either(string(5000), many(integer(0, 1 << 62), 64), called="a place or a text"),
                                      exactly=4), _MOST))
    lanes: list[int] | None = must(optional(many(integer(0, 1 << 62), 32)), None)


@dataclass(frozen=True)
class Count:
    """How often one outcome was seen."""

    count: int = must(integer(0, 1 << 62))
    outputs: dict[str, Any] | None = must(optional(table(lambda value, place: value, _MOST)), None)


@dataclass(frozen=True)
class Line:
    """The keys of a line that are read again (history.py lists them all)."""

    repro: str = must(string(4096, _BELOW, "a path below the project's root"))
    verdict: str = must(string(20))
    date: str = must(string(40, _DATE, "a time such as 2026-11-20T17:01:00Z"))
    id: str | None = must(optional(string(100, r"[\w-]+", "letters, digits and -")), None)
    case: str | None = must(optional(string(1000, r"[^/\0]*", "the name of a case")), None)
    reason: str | None = must(_WORDS, None)
    digest: str | None = must(_WORDS, None)
    title: str | None = must(_WORDS, None)
    host: str | None = must(_WORDS, None)
    asked: str | None = must(_WORDS, None)
    outcome: str | None = must(_WORDS, None)
    key: dict[str, Any] | None = must(_FACTS, None)
    device: Device | None = must(optional(fields(Device)), None)
    compiler: dict[str, Any] | None = must(_FACTS, None)
    versions: dict[str, Any] | None = must(_FACTS, None)
    kernels: dict[str, str] | None = must(_HASHES, None)
    sass: dict[str, str] | None = must(_HASHES, None)
    outputs: dict[str, str] | None = must(optional(table(string(64), 10 * _MOST)), None)
    shapes: dict[str, Any] | None = must(optional(table(many(lambda value, place: value, 2), 10 * _MOST)), None)
    golden_sha256: str | None = must(_WORDS, None)
    golden: str | None = must(_WORDS, None)
    bundle_sha256: str | None = must(_WORDS, None)
    lock_sha256: str | None = must(_WORDS, None)
    ptxas: str | None = must(_WORDS, None)
    no_sass: str | None = must(_WORDS, None)
    seed: Any = must(_SCALAR, None)
    detail: dict[str, Any] | None = must(_FACTS, None)
    durations: dict[str, float] | None = must(optional(table(real(-1e12, 1e12), _MOST)), None)
    differences: list[Element] | None = must(optional(many(fields(Element), _MOST)), None)
    histogram: list[Count] | None = must(optional(many(fields(Count), _MOST)), None)
    allowed: dict[str, Any] | None = must(optional(table(many(lambda value, place: value, 10 * _MOST), _MOST)), None)


check = fields(Line)
