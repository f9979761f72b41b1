"""Check a line of the record before it is read: records come with checkouts and are not trusted. See schema.py."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import Any

from harness.schema import (
    boolean,
    either,
    fields,
    integer,
    is_moment,
    many,
    moment,
    must,
    optional,
    real,
    string,
    table,
)

_MOST = 1000
_WORDS = optional(string(1 << 16))
_SCALAR = either(
    optional(string(5000)), boolean, integer(-(1 << 70), 1 << 70), real(-1e300, 1e300), called="a text or a number"
)
_HASHES = optional(table(string(64, r"[0-9A-Za-z]*", "a sha256"), 10 * _MOST))
_FACTS = optional(table(_SCALAR, _MOST))
_BELOW = r"(?!/)(?!(?:[^\0]*/)?\.\.(?:/|\Z))[^\0]+"


@dataclass(frozen=True)
class Device:
    """The device that executed PTX; its arch becomes part of a golden's name."""

    kind: str | None = must(_WORDS, None)
    arch: str | None = must(optional(string(40, r"[\w.-]*", "an arch such as sm_90a")), None)
    gpu_model: str | None = must(optional(string(40, r"[\w.-]*", "a GPU model such as h100")), None)
    name: str | None = must(_WORDS, None)
    driver: Any = must(_SCALAR, None)
    uuid: Any = must(_SCALAR, None)


@dataclass(frozen=True)
class Element:
    """How one output differed."""

    output: str = must(string(1000))
    against: str = must(string(1000))
    message: str = must(string(1 << 16))
    first: list[Any] = must(
        many(many(either(string(5000), many(integer(0, 1 << 62), 64), called="a place or a text"), exactly=4), _MOST)
    )
    lanes: list[int] | None = must(optional(many(integer(0, 1 << 62), 32)), None)


@dataclass(frozen=True)
class Through:
    """An instruction whose result is open."""

    instruction: str | None = must(_WORDS, None)
    line: int | None = must(optional(integer(0, 1 << 31)), None)
    bound: str | None = must(_WORDS, None)


@dataclass(frozen=True)
class Arithmetic:
    """How far an output is the chip's word."""

    arithmetic: str | None = must(_WORDS, None)
    through: list[Through] = must(many(fields(Through), 10 * _MOST), list)


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
    date: str = must(moment)
    id: str | None = must(optional(string(100, r"[\w-]+", "letters, digits and -")), None)
    case: str | None = must(optional(string(1000, r"[^/\0]*", "the name of a case")), None)
    reason: str | None = must(_WORDS, None)
    digest: str | None = must(_WORDS, None)
    title: str | None = must(_WORDS, None)
    host: str | None = must(_WORDS, None)
    asked: str | None = must(_WORDS, None)
    outcome: str | None = must(_WORDS, None)
    text: str | None = must(_WORDS, None)
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
    evidence: str | None = must(_WORDS, None)
    bundle_sha256: str | None = must(_WORDS, None)
    lock_sha256: str | None = must(_WORDS, None)
    commit: str | None = must(_WORDS, None)
    ptxas: str | None = must(_WORDS, None)
    no_sass: str | None = must(_WORDS, None)
    seed: Any = must(_SCALAR, None)
    detail: dict[str, Any] | None = must(_FACTS, None)
    durations: dict[str, float] | None = must(optional(table(real(-1e12, 1e12), _MOST)), None)
    differences: list[Element] | None = must(optional(many(fields(Element), _MOST)), None)
    histogram: list[Count] | None = must(optional(many(fields(Count), _MOST)), None)
    arithmetic: dict[str, Arithmetic] | None = must(optional(table(fields(Arithmetic), 10 * _MOST)), None)
    allowed: dict[str, Any] | None = must(optional(table(many(lambda value, place: value, 10 * _MOST), _MOST)), None)


check = fields(Line)


# --- most lines, quickly ---------------------------------------------------------------------------------------------

_SHORT = 5000  # bytes: in such a line no words are too long, and no table or list is
_TEXTS = ("repro", "verdict", "date", "id", "case", "reason", "digest", "title", "host", "asked", "outcome", "commit",
          "golden_sha256", "golden", "evidence", "bundle_sha256", "lock_sha256", "ptxas", "no_sass")  # fmt: skip
_TABLES = ("key", "compiler", "versions", "detail", "kernels", "sass", "outputs", "shapes", "durations", "device")
_IS_TEXT, _IS_TABLE = {str, type(None)}.issuperset, {dict, type(None)}.issuperset
_IS_FACT, _IS_NUMBER = {str, bool, type(None)}.issuperset, {int, float}.issuperset
_IS_HASH, _IS_LIST = {str}.issuperset, {list}.issuperset
_DEVICE = ("kind", "arch", "gpu_model", "name", "driver", "uuid")
_EMPTY: dict[str, Any] = {}
_EXACT = {"arithmetic": "exact"}
_NONE: tuple[Any, ...] = (None, [])
_is_below, _is_id, _is_case, _is_arch, _is_hash = (
    re.compile(pattern, re.ASCII).fullmatch
    for pattern in (_BELOW, r"[\w-]{1,100}", r"[^/\0]{0,1000}", r"[\w.-]{0,40}", r"[0-9A-Za-z]{0,64}")
)


def plain(line: dict[str, Any], length: int) -> bool:
    """Whether `check` surely finds nothing in a line of `length` bytes, told in a fifth of its time.

    True of nearly every line that runs append: the index asks this first, and `check` about the others.
    """
    get = line.get
    repro, verdict, date, name, case, *_ = texts = [*map(get, _TEXTS)]
    tables = [*map(get, _TABLES)]
    if length > _SHORT or not _IS_TEXT(map(type, texts)) or not _IS_TABLE(map(type, tables)):
        return False
    tables = [table or _EMPTY for table in tables]
    device, seed, names = tables.pop(), get("seed"), "".join(chain.from_iterable(tables))
    arch, model = device.get("arch"), device.get("gpu_model")
    return bool(
        repro and len(repro) <= 4096 and _is_below(repro)
        and verdict and len(verdict) <= 20
        and date and is_moment(date)
        and (name is None or _is_id(name))
        and (case is None or _is_case(case))
        and _IS_TEXT(map(type, map(device.get, _DEVICE)))
        and (arch is None or _is_arch(arch))
        and (model is None or _is_arch(model))
        and (seed is None or (type(seed) is int and seed.bit_length() < 64))
        and get("differences") in _NONE and get("histogram") in _NONE and get("allowed") is None
        and all(row == _EXACT for row in (get("arithmetic") or _EMPTY).values())
        and len(names) <= 1000 and names.isascii() and names.isprintable()  # then no two are shown alike
        and _are_plain(*map(dict.values, tables))
    )  # fmt: skip


def _are_plain(
    key: Any,
    compiler: Any,
    versions: Any,
    detail: Any,
    kernels: Any,
    sass: Any,
    outputs: Any,
    shapes: Any,
    durations: Any,
) -> bool:
    """Whether the values of these tables are facts, hashes, lists of two and seconds."""
    hashes = [*kernels, *sass, *outputs]
    return (
        _IS_FACT(map(type, chain(key, compiler, versions, detail)))
        and _IS_HASH(map(type, hashes)) and all(map(_is_hash, hashes))
        and _IS_LIST(map(type, shapes)) and max(map(len, shapes), default=0) <= 2
        and _IS_NUMBER(map(type, durations)) and sum(map(abs, durations)) <= 1e12  # false of NaN
    )  # fmt: skip
