"""What is other on two sides of the record, claim by claim, and since when. Answered from the index; nothing runs here.

    changes.compare(records, *sides.pair("nvidia==4.6.3", "nvidia==4.8.1", root))     what `repro compare --json` prints

Two answers belong together if they are of one case on one arch, by one compiler, on one host, but for what the sides
say is other (sides.FREE), and if the repro had the same text (between commits it may have another).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from packaging.version import InvalidVersion, Version

from harness.records import checkout, sides
from harness.records.answers import CODE, KINDS, Answer, how, says
from harness.records.index import Cell, Index
from harness.records.sides import FREE, Side

_SPEAKS = "verdict in ('pass', 'fail', 'contradicted')"
_AXES = ("arch", "compiler", "host")
Key = tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """Where records are chosen from; None where any will do."""

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
    """What changed from A to B in these cells, what did not, and what cannot be told.

    `since` leaves out what B said earlier than that.
    """
    place = place or Place()
    cases = {(cell.claim, cell.case) for cell in cells}
    answers = [[one for one in _of(index, side, place) if one[:2] in cases] for side in (a, b)]
    pairs, alone = pair_up(answers[0], answers[1], a.kind)
    rows, counts = [], {str(kind): 0 for kind in KINDS}
    for one, other, later in pairs:
        kinds = how(one, other)
        for kind in kinds[:1]:
            counts[kind] += 1
        if kinds:
            rows.append(_row(one, other, later, kinds))
    behaviour = [row for row in rows if row["kinds"][0] not in CODE]
    if a.kind == sides.COMPILER:
        _name_releases(index, a, b, behaviour)
    rows.sort(key=lambda row: (KINDS.index(row["kinds"][0]), row["claim"], row["case"]))
    return {
        "a": _side(a, answers[0]),
        "b": _side(b, answers[1]),
        "compared": len(pairs),
        "same": len(pairs) - len(rows),
        "counts": {kind: count for kind, count in counts.items() if count},
        "changes": [row for row in rows if row["since"] >= since],
        "earlier": sum(row["since"] < since for row in rows),
        "missing": _missing(index, a, b, alone, cases, answers, place),
    }


def _of(index: Index, side: Side, place: Place) -> list[Answer]:
    condition, values = side.where()
    more, others = place.where()
    return index.answers(f"{condition} and {_SPEAKS}{more}", [*values, *others])


# --- which answers belong together -----------------------------------------------------------------------------------


def pair_up(
    a: Sequence[Answer], b: Sequence[Answer], kind: str
) -> tuple[list[tuple[Answer, Answer, list[Answer]]], tuple[list[Answer], list[Answer]]]:
    """The newest two of each place that has both, with all that B said there, oldest first; and those left alone."""
    pairs, left = [], (_grouped(a, frozenset()), _grouped(b, frozenset()))
    for free in FREE[kind]:
        groups = [_grouped((one for group in side.values() for one in group), free) for side in left]
        alone: tuple[dict[Key, list[Answer]], dict[Key, list[Answer]]] = ({}, {})
        for key in groups[0].keys() | groups[1].keys():
            both = [sorted(group.get(key, ()), key=lambda one: (one.date, one.id)) for group in groups]
            found = _newest(both[0], both[1], kind == "commit") if all(both) else None
            if found:
                pairs.append((*found, both[1]))
                continue
            for side, group in zip(alone, both, strict=True):
                side.update(_grouped(group, frozenset()))
        left = alone
    return sorted(pairs, key=lambda one: one[1][:5]), (
        [g[-1] for g in left[0].values()],
        [g[-1] for g in left[1].values()],
    )


def _grouped(answers: Iterable[Answer], free: Collection[str]) -> dict[Key, list[Answer]]:
    groups: dict[Key, list[Answer]] = defaultdict(list)
    numbers = [0, 1, *(2 + n for n, axis in enumerate(_AXES) if axis not in free)]
    for one in answers:
        groups[tuple(str(one[n]) for n in numbers)].append(one)
    return groups


def _newest(a: list[Answer], b: list[Answer], any_text: bool) -> tuple[Answer, Answer] | None:
    """The newest answers to one text of the repro."""
    if any_text:
        return a[-1], b[-1]
    of_text = {one.text: one for one in a}
    return next(((of_text[other.text], other) for other in reversed(b) if other.text in of_text), None)


# --- what changed, and since when ------------------------------------------------------------------------------------


def _row(a: Answer, b: Answer, later: list[Answer], kinds: list[str]) -> dict[str, Any]:
    """One change. `since`: when B's answer was first given without another one after it."""
    since = b.date
    for one in reversed(later):
        if one.text != b.text or one.said != b.said:
            break
        since = one.date
    return {
        "claim": b.claim,
        "case": b.case,
        "kinds": kinds,
        "a": a._asdict(),
        "b": b._asdict(),
        "says": says(a, b, kinds),
        "since": since,
        "since_release": None,
    }


def _name_releases(index: Index, a: Side, b: Side, rows: list[dict[str, Any]]) -> None:
    """Say of each change which recorded release between the two was the first to answer as B does."""
    low, high = _version(a.value), _version(b.value)
    if not rows or low is None or high is None or a.value.partition("==")[0] != b.value.partition("==")[0]:
        return
    is_upwards, (low, high) = low < high, sorted((low, high))
    name = b.value.partition("==")[0]
    for row in rows:
        end = Answer(*row["b"].values())
        where = f"claim = ? and case_name = ? and arch = ? and compiler like ? and host = ? and text is ? and {_SPEAKS}"
        values = [end.claim, end.case, end.arch, f"{name}%", end.host, end.text]
        newest = {_release(one): one for one in index.answers(where, values)}
        known = sorted((version for version in newest if version and low <= version <= high), reverse=is_upwards)
        first = None
        for version in known:
            if newest[version].said != end.said:
                break
            first = version
        row["since_release"] = f"{name}=={first}" if first else None


def _release(one: Answer) -> Version | None:
    return _version(one.compiler) or _version(f"=={one.version}")


def _version(compiler: str) -> Version | None:
    try:
        return Version(compiler.partition("==")[2])
    except InvalidVersion:
        return None


# --- what is not known -----------------------------------------------------------------------------------------------


def _side(side: Side, answers: list[Answer]) -> dict[str, Any]:
    dates = [one.date for one in answers]
    return {
        "side": side.text,
        "records": len(answers),
        "cases": len({one[:2] for one in answers}),
        "first": min(dates, default=None),
        "last": max(dates, default=None),
    }


def _missing(
    index: Index, a: Side, b: Side, alone: tuple[list[Answer], list[Answer]], cases: set[tuple[str, str]],
    answers: list[list[Answer]], place: Place,
) -> list[dict[str, Any]]:  # fmt: skip
    """The runs that would complete the comparison. `host` and `compiler`: where, None where nobody knows how."""
    rows = []
    for side, other, known in ((b, a, alone[0]), (a, b, alone[1])):
        runs = _runs_of(index, side)
        skipped = _skipped(index, side)
        for one in known:
            host, compiler = runs(one.host, one.compiler)
            if (one.claim, one.case, compiler, host) not in skipped:
                rows.append(
                    _run(one.claim, one.case, one.arch, side, host, compiler, f"only {other.text} has a record")
                )
    if a.kind in (sides.COMPILER, "host"):
        hosts = sorted({one.host for group in answers for one in group} | ({place.host} if place.host else set()))
        known = {one[:2] for group in answers for one in group}
        for side in (a, b):
            runs, skipped = _runs_of(index, side), _skipped(index, side)
            for claim, case in sorted(cases - known):
                for host in hosts or ["embedded"]:
                    host, compiler = runs(host, place.compiler or "embedded")
                    if (claim, case, compiler, host) not in skipped:
                        rows.append(_run(claim, case, "", side, host, compiler, "neither side has a record"))
    return list({(r["claim"], r["case"], r["side"], r["host"], r["compiler"]): r for r in rows}.values())


def _run(
    claim: str, case: str, arch: str, side: Side, host: str | None, compiler: str | None, why: str
) -> dict[str, Any]:
    return {
        "claim": claim, "case": case, "arch": arch, "side": side.text, "host": host, "compiler": compiler, "why": why
    }  # fmt: skip


def _skipped(index: Index, side: Side) -> set[tuple[str, ...]]:
    """What this side was asked already and does not take: claim, case, compiler, host."""
    condition, values = side.where()
    rows = index.answers(f"{condition} and verdict = 'skip'", values)
    return {(one.claim, one.case, one.compiler, one.host) for one in rows}


def _runs_of(index: Index, side: Side) -> Any:
    """A function from the host and the compiler of the other side's answer to those of the run that is missing."""
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
    newest = f"id = (select id from record where host = ? and {_SPEAKS} order by date desc, id desc limit 1)"
    return sorted(host for host, name in hosts.items() if index.answers(newest, [host])[0].id == name)
