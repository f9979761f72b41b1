"""Differences between two sides of the record, claim by claim, and since when. They come from the index; nothing runs.

    changes.compare(records, *sides.pair("nvidia==4.6.3", "nvidia==4.8.1", root))     what `compare --json` prints

Two answers belong together if they are of one case on one arch, by one compiler, on one host, except for the axes that
the sides leave free (sides.FREE), and if the repro had the same text (between commits it may have another).
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from packaging.version import InvalidVersion, Version

from harness.compiler_name import OURS
from harness.records import checkout, sides
from harness.records.index.answers import CODE, KINDS, Answer, how, says
from harness.records.index.index import Cell, Index
from harness.records.sides import FREE, Side

_SPEAKS = "verdict in ('pass', 'fail', 'contradicted')"
_AXES = ("arch", "compiler", "host")
Key = tuple[str | None, ...]


@dataclass(frozen=True)
class Place:
    """The place of the chosen records; None if any will do."""

    arch: str | None = None
    compiler: str | None = None
    host: str | None = None

    def where(self) -> tuple[str, list[str]]:
        named = [(axis, value) for axis in _AXES if (value := getattr(self, axis)) is not None]
        return "".join(f" and {axis} = ?" for axis, _ in named), [value for _, value in named]


@dataclass(frozen=True)
class Declared:
    """A case of a claim that has no record."""

    claim: str
    case: str


def compare(
    index: Index, a: Side, b: Side, cells: Iterable[Cell | Declared], place: Place | None = None, since: str = ""
) -> dict[str, Any]:
    """Compare A and B in these cells: changed, unchanged and missing answers.

    `since` leaves out earlier answers of B.
    """
    place = place or Place()
    cases = {(cell.claim, cell.case) for cell in cells}
    answers = [[one for one in index.answers(*_of(side, place)) if one[:2] in cases] for side in (a, b)]
    pairs, alone = pair_up(answers[0], answers[1], a.kind)
    rows, counts = [], {str(kind): 0 for kind in KINDS}
    for pair in pairs:
        kinds = how(pair.a, pair.b)
        for kind in kinds[:1]:
            counts[kind] += 1
        if kinds:
            rows.append(_row(pair, kinds, _since(index, b, place, pair)))
    behaviour = [row for row in rows if row["kinds"][0] not in CODE]
    if a.kind == sides.COMPILER:
        _name_releases(index, a, b, behaviour)
    rows.sort(key=lambda row: (KINDS.index(row["kinds"][0]), row["claim"], row["case"]))
    return {
        "a": _side(index, a, place, cases),
        "b": _side(index, b, place, cases),
        "compared": len(pairs),
        "same": len(pairs) - len(rows),
        "counts": {kind: count for kind, count in counts.items() if count},
        "changes": [row for row in rows if row["since"] >= since],
        "earlier": sum(row["since"] < since for row in rows),
        "missing": _missing(index, a, b, alone, cases, answers, place),
    }


def _of(side: Side, place: Place) -> tuple[str, list[str]]:
    """The records of a side that speak of a claim, as a condition over the index."""
    condition, values = side.where()
    more, others = place.where()
    return f"{condition} and {_SPEAKS}{more}", [*values, *others]


# --- which answers belong together -----------------------------------------------------------------------------------


class Pair(NamedTuple):
    """The newest answers of both sides to one text; `later`: the newest of each answer that B gave there."""

    a: Answer
    b: Answer
    later: list[Answer]
    free: frozenset[str]  # the axes in which they may differ


def pair_up(a: Sequence[Answer], b: Sequence[Answer], kind: str) -> tuple[list[Pair], tuple[list[Answer], ...]]:
    """The pairs of places that both sides have an answer to, and the newest of each that is left alone."""
    pairs, left = [], (a, b)
    for free in FREE[kind]:
        groups = [_grouped(side, free) for side in left]
        alone: tuple[list[Answer], list[Answer]] = [], []
        for key in groups[0].keys() | groups[1].keys():
            both = [group.get(key, []) for group in groups]
            found = _newest(both[0], both[1], kind == "commit") if all(both) else None
            if found:
                pairs.append(Pair(*found, both[1], free))
                continue
            for side, group in zip(alone, both, strict=True):
                side += group
        left = alone
    newest = tuple([group[-1] for group in _grouped(side, frozenset()).values()] for side in left)
    return sorted(pairs, key=lambda pair: pair.b[:5]), newest


def _grouped(answers: Iterable[Answer], free: Collection[str]) -> dict[Key, list[Answer]]:
    """Answers by their place without the axes that are free, oldest first."""
    key = itemgetter(0, 1, *(2 + n for n, axis in enumerate(_AXES) if axis not in free))
    groups: dict[Key, list[Answer]] = defaultdict(list)
    for one in sorted(answers, key=lambda one: one.stamp):
        groups[key(one)].append(one)
    return groups


def _newest(a: list[Answer], b: list[Answer], any_text: bool) -> tuple[Answer, Answer] | None:
    """The newest answers to one text of the repro."""
    if any_text:
        return a[-1], b[-1]
    of_text = {one.text: one for one in a}
    return next(((of_text[other.text], other) for other in reversed(b) if other.text in of_text), None)


# --- what changed, and since when ------------------------------------------------------------------------------------


def _row(pair: Pair, kinds: list[str], since: str) -> dict[str, Any]:
    """One change."""
    return {
        "claim": pair.b.claim,
        "case": pair.b.case,
        "kinds": kinds,
        "a": pair.a._asdict(),
        "b": pair.b._asdict(),
        "says": says(pair.a, pair.b, kinds),
        "since": since,
        "since_release": None,
    }


def _since(index: Index, side: Side, place: Place, pair: Pair) -> str:
    """When B's answer to this text was first given without another one after it."""
    b = pair.b
    other = max((one.stamp for one in pair.later if one.text == b.text and one.said != b.said), default="")
    condition, values = _of(side, place)
    fixed = [("claim", b.claim), ("case_name", b.case), ("text", b.text)]
    fixed += [(axis, getattr(b, axis)) for axis in _AXES if axis not in pair.free]
    where = " and ".join([*(f"{name} is ?" for name, _ in fixed), condition])
    return index.first_after(other, where, [*(value for _, value in fixed), *values]) or b.date


def _name_releases(index: Index, a: Side, b: Side, rows: list[dict[str, Any]]) -> None:
    """Say of each change which recorded release between the two was the first to answer as B does."""
    low, high = _version(a.value), _version(b.value)
    if not rows or low is None or high is None or a.value.partition("==")[0] != b.value.partition("==")[0]:
        return
    is_upwards, (low, high) = low < high, sorted((low, high))
    name = b.value.partition("==")[0]
    newest: dict[Key, dict[Version, Answer]] = defaultdict(dict)
    for one in index.answers(f"(compiler = ? or compiler like ?) and {_SPEAKS}", [name, f"{name}==%"]):
        version = _release(one)
        if version and low <= version <= high:
            newest[_question(one)][version] = one
    for row in rows:
        end = Answer(*row["b"].values())
        releases, first = newest[_question(end)], None
        for version in sorted(releases, reverse=is_upwards):
            if releases[version].said != end.said:
                break
            first = version
        row["since_release"] = f"{name}=={first}" if first else None


def _question(one: Answer) -> Key:
    """The question that two releases answer."""
    return one.claim, one.case, one.arch, one.host, one.text


def _release(one: Answer) -> Version | None:
    return _version(one.compiler) or _version(f"=={one.version}")


def _version(compiler: str) -> Version | None:
    try:
        return Version(compiler.partition("==")[2])
    except InvalidVersion:
        return None


# --- what is not known -----------------------------------------------------------------------------------------------


def _side(index: Index, side: Side, place: Place, cases: set[tuple[str, str]]) -> dict[str, Any]:
    spans = [span for case, span in index.spans(*_of(side, place)).items() if case in cases]
    return {
        "side": side.text,
        "kind": side.kind,
        "records": sum(count for count, _, _ in spans),
        "cases": len(spans),
        "first": min((first for _, first, _ in spans), default=None),
        "last": max((last for _, _, last in spans), default=None),
        "known": [] if spans or side.kind == "commit" else index.values(side.kind),  # what there is in its place
    }


def _missing(
    index: Index, a: Side, b: Side, alone: Sequence[list[Answer]], cases: set[tuple[str, str]],
    answers: list[list[Answer]], place: Place,
) -> list[dict[str, Any]]:  # fmt: skip
    """The runs that would complete the comparison. `host` and `compiler`: where, None where nobody knows how."""
    rows = []
    skipped = functools.cache(lambda side: _skipped(index, side))
    for side, other, known in ((b, a, alone[0]), (a, b, alone[1])):
        if not known:
            continue
        runs = _runs_of(index, side)
        for one in known:
            host, compiler = runs(one.host, one.compiler)
            if (one.claim, one.case, compiler, host) not in skipped(side):
                rows.append(
                    _run(one.claim, one.case, one.arch, side, host, compiler, f"only {other.text} has a record")
                )
    if a.kind in (sides.COMPILER, "host"):
        hosts = sorted({one.host for group in answers for one in group} | ({place.host} if place.host else set()))
        known = {one[:2] for group in answers for one in group}
        for side in (a, b):
            runs = _runs_of(index, side)
            for claim, case in sorted(cases - known):
                for host in hosts or ["embedded"]:
                    host, compiler = runs(host, place.compiler or OURS)
                    if (claim, case, compiler, host) not in skipped(side):
                        rows.append(_run(claim, case, "", side, host, compiler, "neither side has a record"))
    return list({(r["claim"], r["case"], r["side"], r["host"], r["compiler"]): r for r in rows}.values())


def _run(
    claim: str, case: str, arch: str, side: Side, host: str | None, compiler: str | None, why: str
) -> dict[str, Any]:
    return {
        "claim": claim, "case": case, "arch": arch, "side": side.text, "host": host, "compiler": compiler, "why": why
    }  # fmt: skip


def _skipped(index: Index, side: Side) -> set[tuple[str, ...]]:
    """The runs that this side has already skipped: claim, case, compiler, host."""
    condition, values = side.where()
    rows = index.answers(f"{condition} and verdict = 'skip'", values)
    return {(one.claim, one.case, one.compiler, one.host) for one in rows}


def _runs_of(index: Index, side: Side) -> Any:
    """A function from the host and compiler of the other side's answer to the host and compiler of the missing run."""
    if side.kind == sides.COMPILER:
        return lambda host, compiler: (host, side.value)
    if side.kind == "host":
        return lambda host, compiler: (side.value, compiler)
    if side.kind == "commit":
        is_here = checkout.commit(index.root) == side.value
        return lambda host, compiler: (host, compiler) if is_here else (None, None)
    here = _hosts_with(index, side)
    return lambda host, compiler: (host if host in here else here[0], compiler) if here else (None, None)


def _hosts_with(index: Index, side: Side) -> list[str]:
    """The hosts whose newest record has this GPU, arch or driver."""
    condition, values = side.where()
    hosts = {one.host: one.id for one in index.answers(f"{condition} and {_SPEAKS}", values)}
    newest = {one.host: one.id for one in index.answers(_SPEAKS, [])}
    return sorted(host for host, name in hosts.items() if newest[host] == name)
