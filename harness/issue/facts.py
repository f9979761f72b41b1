"""The facts for an issue: a claim's record or a run of a script, its program, and the side where it was right."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import store
from harness.claim import repro_file, script_file
from harness.claim.repro_file import Repro, ReproError, short
from harness.errors import UsageError
from harness.records import differ, observations, query
from harness.records.index import index
from harness.records.index.index import Cell, Index, Record
from harness.records.observations import Observation
from harness.schema import Misfit, fields, is_moment, many, must, optional, string, table

JUDGED = ("fail", "contradicted", "pass")
WRONG = ("fail", "contradicted")


@dataclass(frozen=True)
class Bisected:
    """What `repro bisect` found, as it keeps it."""

    claim: str = must(string(4096))
    date: str = must(string(40))
    kind: str = must(string(40))
    axis: str = must(string(40), "")
    last_good: str | None = must(optional(string(200)), None)
    first_bad: str | None = must(optional(string(200)), None)
    candidates: list[str] = must(many(string(200), 1000), list)
    records: dict[str, Any] = must(table(optional(table(string(100), 1000)), 10), dict)


_bisected = fields(Bisected)


@dataclass
class Facts:
    """`record`: of a claim; `run`: of a script. `good`: a record of the same case that passed."""

    repro: Repro
    record: Record | None = None
    run: Observation | None = None
    good: Record | None = None
    bisected: Bisected | None = None
    difference: dict[str, Any] | None = None  # differ.compare of `good` and `record`
    hosts: list[str] = field(default_factory=list)  # names that must not be shown

    @property
    def line(self) -> dict[str, Any]:
        """The line of the record, {} of a script."""
        return self.record.line if self.record else {}


def of(root: Path, name: str, places: Sequence[str | None] = (None, None, None)) -> Facts:
    """The facts of a claim, a record, a script or a run of one. `places`: host, compiler, arch to choose from.

    Raises UsageError if nothing of it is recorded, or if its program has changed since.
    """
    found = observations.named(name)
    if found:
        return _of_script(root, found)
    with index.open_index(root) as records:
        record = _record(records, name, places)
        repro = _repro(root, record)
        facts = Facts(repro, record, hosts=[record.host])
        facts.bisected = _last_bisection(root, record.claim, record.case)
        facts.good = _good(records, record, facts.bisected)
        if facts.good:
            facts.difference = differ.compare(records, facts.good, record, ())
            facts.hosts.append(facts.good.host)
        if facts.bisected and facts.bisected.axis == "--host":
            one = facts.bisected
            facts.hosts += [name for name in (one.last_good, one.first_bad, *one.candidates) if name]
        return facts


def _of_script(root: Path, found: Sequence[Observation]) -> Facts:
    """The newest run of the script's newest text that went wrong; else the newest run."""
    same = [each for each in found if each.script_sha256 == found[0].script_sha256]
    one = next((each for each in same if each.exit or each.outcome != "exited"), same[0])
    text = observations.script_of(one)
    if not text:
        raise UsageError(f"the text of {one.script} is not kept any more\nfix: run it again")
    path = Path(one.script)
    script = script_file.read(script_file.STDIN if path.suffix != ".py" else path, text.encode(), tuple(one.args))
    return Facts(script, run=one, hosts=[one.host], bisected=_last_bisection(root, one.script, ""))


def _record(records: Index, name: str, places: Sequence[str | None]) -> Record:
    """The record that is meant: by its id, else the newest that failed, else the newest that was judged."""
    try:
        return records.record(name)
    except index.NoRecord:
        pass
    host, compiler, arch = places
    cells = [
        cell
        for cell in query.chosen(records, records.cells(), [name])
        if host in (None, cell.host) and compiler in (None, cell.compiler) and arch in (None, cell.arch)
    ]
    judged = [one for cell in cells if (one := _newest(records, cell))]
    if not judged:
        raise UsageError(f"no record of {name} was judged there\nfix: `repro run {name}`")
    wrong = [one for one in judged if one.verdict in WRONG]
    return max(wrong or judged, key=lambda one: (one.date, one.id))


def _newest(records: Index, cell: Cell) -> Record | None:
    place = (cell.claim, cell.case, cell.arch, cell.compiler, cell.host)
    return next((one for one in records.records(*place, limit=20) if one.verdict in JUDGED), None)


def _repro(root: Path, record: Record) -> Repro:
    """The repro as it was when the record was made. Raises UsageError."""
    path = root / record.claim
    try:
        repro = repro_file.read(path)
    except (OSError, ReproError) as error:
        raise UsageError(f"{record.claim} cannot be read: {error}") from None
    if repro.sha256 != record.provenance.get("repro_sha256"):
        raise UsageError(
            f"{short(path)} has changed since record {record.id}\nfix: run it again, as in `{record.rerun}`"
        )
    return repro


def _good(records: Index, bad: Record, bisected: Bisected | None) -> Record | None:
    """A record that passed, of the same case and text: from the bisection, else the newest."""
    if bad.verdict not in WRONG:
        return None
    if bisected:
        named = (bisected.records.get("last_good") or {}).get(bad.case)
        found = records.named([named]).get(named) if named else None
        if found:
            return found
    text = bad.provenance.get("repro_sha256")
    others = records.records(bad.claim, bad.case)
    return next((o for o in others if o.verdict == "pass" and o.provenance.get("repro_sha256") == text), None)


def _last_bisection(root: Path, claim: str, case: str) -> Bisected | None:
    """The newest bisection that found something about this case; files that cannot be read are left out."""
    found = []
    for path in sorted((root / store.LOCAL / store.BISECTIONS).glob("*/result.json")):
        try:
            one = _bisected(json.loads(path.read_bytes()), "")
        except (OSError, ValueError, TypeError, RecursionError, Misfit):
            continue
        cases = one.records.get("first_bad") or {}
        if (root / one.claim) == (root / claim) and case in cases and one.first_bad and is_moment(one.date):
            found.append(one)
    return max(found, key=lambda one: one.date, default=None)
