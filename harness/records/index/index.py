"""The record, indexed: what each claim's state is, what was run, and what a run knew. Reading only; no numpy here.

    with index.open_index(root) as records:        # root: store.root_of(some path); updates .repro/index.sqlite
        records.cells()                            # [Cell]: one for each claim, case, arch, compiler and host
        records.records("repros/shfl.py", case="width=8", arch="sm_90", compiler="ours", host="p1")  # newest 1st
        records.record("1f2e3d4c-17")              # Record; also by a prefix that only one has. Raises NoRecord
        records.damaged()                          # lines of record files that cannot be read, for a warning

`Cell`: claim (the path of the repro below the root, where it is now: places.py), case ("" without params), title (the
claim's sentence), arch ("sm_90": no suffix a or f; "any" for programs without kernels), compiler (as it was asked
for: "ours", "nvidia", "nvidia==4.6.3"), host (alias), hardware, state and reason (states.py: validated, stale,
regressed, contradicted, predicted, flaky, failing, unknown), last_validated (date of the newest pass on hardware, or
None), last, last_good, first_bad, other_code (ids of records or None; the last: a newer one with other PTX), passes,
fails, ticks ("ppfp": the newest verdicts, oldest first).
`combine(cells)` gives the state of a group of cells: of a claim over its cases and hosts.

`Record`: the columns of a cell, and id, date, verdict (pass | fail | contradicted | infra | skip), verdict_reason,
outcome, provenance (flat: name -> text, number or None; `ptx.KERNEL` and `sass.KERNEL` are hashes), outputs
(name -> {sha256, dtype, shape}; dtype and shape absent in old records), differences (a list of {output, against,
message, count, size, first: [[index, where, expected, got]], lanes: 32 counts or None}), histogram (a list of
{count, outputs}, or None), durations (phase -> seconds), detail (class, id, line of a rejection; kind of a fault),
ptx() and sass() (kernel -> text, without those that were not kept), rerun (the command that asks again).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from harness.comparison import conflict
from harness.records.index import answers, sources, summary_text
from harness.records.index.answers import Answer
from harness.records.index.cells import (
    CELL,
    Cell,
    NoRecord,
    Record,
    as_table,
    column,
    combine,
    line_is_hardware,
    provenance,
)
from harness.records.index.index_file import IndexFile
from harness.records.index.moved import same_text
from harness.records.index.sources import golden_folder
from harness.records.index.states import FORGOTTEN, GONE, STALE, Event, Now, newer_code, state

__all__ = ["Cell", "Index", "NoRecord", "Record", "as_table", "combine", "golden_folder", "open_index"]

CHUNK = 500  # names in one query
_LINE = "path, offset, length, id, claim"
STAMP = "date || ' ' || id"  # puts records in their order


def open_index(root: Path) -> Index:
    """The index of a project's records, up to date."""
    return Index(root)


class Index(IndexFile):
    """Answers from the index."""

    def cells(self, gone: bool = False) -> list[Cell]:
        """Every cell that a repro declares and that has a record, by claim, case, arch, compiler and host.

        With `gone` also the others, whose state is that: of lost repros and cases, and those that a person forgot.
        """
        sql = "select claim, case_name, arch, compiler, host, hardware, title, summary from cell order by 1, 2, 3, 4"
        rows: list[Any] = [(*row[:7], summary_text.read(row[7])) for row in self._read(sql)]
        names = {row[:3]: row[7].last.facts.get("golden") for row in rows if row[7].last}
        own_names = {place: name for place, name in names.items() if name and "/" not in name}
        known = self._read("select * from source")  # which may rebuild the index
        now = sources.Sources(self._db, self.root, known).of((row[:3] for row in rows), own_names)
        drivers = _newest(rows, lambda row: row[4], lambda event: event.facts.get("driver"))
        kernels = _newest(rows, lambda row: row[:4], _compiled)
        rivals: dict[tuple, list[tuple[str, Event]]] = {}
        for row in rows:
            if row[7].last:
                rivals.setdefault(row[:4], []).append((row[4], row[7].last))
        replaced = sources.replaced((row[:5], row[7]) for row in rows)
        cells = [self._cell(row, now[row[:3]], replaced.get(row[:5], ""), drivers, kernels, rivals) for row in rows]
        return [cell for cell in cells if gone or cell.state != GONE]

    def _cell(
        self, row: tuple, source: sources.Source, replaced: str, drivers: dict, kernels: dict, rivals: dict
    ) -> Cell:
        claim, case, arch, compiler, host, hardware, title, summary = row
        is_as_it_ran = source.repro in [e.facts.get("repro_sha256") for e in (summary.last, summary.unjudged) if e]
        gone = replaced if source.gone == sources.NO_TABLE and is_as_it_ran else source.gone or replaced
        now = Now(gone, source.repro, source.golden, drivers.get(host), *kernels.get(row[:4], ()))
        others = [event for name, event in rivals.get(row[:4], ()) if name != host]
        standing, reason = state(summary, now, others)
        good = summary.last_good
        other = newer_code(summary.last, now) if standing == STALE and summary.last else ""
        return Cell(
            claim=claim, case=case, title=title, arch=arch, compiler=compiler, host=host, hardware=bool(hardware),
            state=standing, reason=reason, last_validated=good.date if good and good.hardware else None,
            last=_id(summary.last), last_good=_id(good), first_bad=_id(summary.first_bad),
            passes=summary.passes, fails=summary.fails, ticks=summary.ticks,
            other_code=other or None, forgotten=standing == GONE and bool(summary.forgotten),
            **_arithmetic(summary.last),
        )  # fmt: skip

    def records(
        self,
        claim: str | None = None,
        case: str | None = None,
        arch: str | None = None,
        compiler: str | None = None,
        host: str | None = None,
        since: str | None = None,
        limit: int | None = None,
    ) -> list[Record]:
        """The records that fit, newest first."""
        wanted = {"claim": claim, "case_name": case, "arch": arch, "compiler": compiler, "host": host}
        terms = [f"{key} = ?" for key, value in wanted.items() if value is not None]
        values: list[Any] = [value for value in wanted.values() if value is not None]
        if since:
            terms.append("date >= ?")
            values.append(since)
        where = f" where {' and '.join(terms)}" if terms else ""
        tail = f" limit {int(limit)}" if limit is not None else ""
        sql = f"select {_LINE} from record{where} order by date desc, id desc{tail}"
        return [self._load(*row) for row in self._read(sql, values)]

    def record(self, name: str) -> Record:
        """The record whose id is or begins so. Raises NoRecord."""
        sql = f"select {_LINE} from record where id = ? or id like ? escape '\\' order by id = ? desc"
        like = name.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        rows = self._read(sql, [name, like, name]) if name else []
        if not rows:
            raise NoRecord(f"there is no record {name!r}; `repro record history CLAIM` lists the records of a claim")
        if len(rows) > 1 and rows[0][3] != name:
            raise NoRecord(f"{name!r} begins several records: {', '.join(row[3] for row in rows)}")
        return self._load(*rows[0])

    def named(self, names: Iterable[str]) -> dict[str, Record]:
        """The records with these whole ids, many at once."""
        wanted, cells = sorted(set(names)), {}
        for start in range(0, len(wanted), CHUNK):
            some = wanted[start : start + CHUNK]
            sql = f"select {_LINE} from record where id in ({', '.join('?' * len(some))})"
            cells |= {row[3]: self._load(*row) for row in self._read(sql, some)}
        return cells

    def past(self) -> list[tuple[str, ...]]:
        """Every record in short, oldest first: claim, case, arch, compiler, host, id, date, verdict, reason, digest."""
        sql = f"select {', '.join(CELL)}, id, date, verdict, reason, digest from record order by date, id"
        return [row for row in self._read(sql) if row[7] != FORGOTTEN]

    def answers(self, where: str, values: Iterable[Any]) -> list[Answer]:
        """Of records that fit an SQL condition over the table `record`, the newest of each answer, oldest first.

        The columns answers.SAME define an answer. SQLite takes the other columns from the row with the greatest stamp.
        """
        read = ", ".join(answers.READ)
        sql = (
            f"select {read}, max({STAMP}) from record where {where} group by {', '.join(answers.SAME)} order by {STAMP}"
        )
        return [Answer._make(row[:-1]) for row in self._read(sql, values)]

    def spans(self, where: str, values: Iterable[Any]) -> dict[tuple[str, str], tuple[int, str, str]]:
        """(claim, case) -> how many records fit an SQL condition, and the dates of the first and the last."""
        sql = f"select claim, case_name, count(*), min(date), max(date) from record where {where} group by 1, 2"
        return {row[:2]: row[2:] for row in self._read(sql, values)}

    def values(self, column: str) -> list[str]:
        """The values that a column of the table `record` has."""
        return [
            row[0] for row in self._read(f"select distinct {column} from record where {column} is not null order by 1")
        ]

    def first_after(self, stamp: str, where: str, values: Iterable[Any]) -> str | None:
        """The date of the first record after this stamp (answers.Answer.stamp) that fits an SQL condition."""
        return self._read(f"select min(date) from record where {where} and {STAMP} > ?", [*values, stamp])[0][0]

    def last_seconds(self) -> dict[tuple[str, str], float]:
        """(claim, case) -> how long its process ran in the newest record of a verdict."""
        sql = (
            "select path, offset, length, claim, case_name, max(date) from record "
            "where verdict in ('pass', 'fail', 'contradicted') group by claim, case_name"
        )
        seconds = {}
        for path, offset, length, claim, case, _ in self._read(sql):
            took = (self._line(path, offset, length).get("durations") or {}).get("run_s")
            if isinstance(took, int | float):
                seconds[claim, case] = float(took)
        return seconds

    def damaged(self) -> list[str]:
        """`FILE:OFFSET` of each line that cannot be read, and each last line that was cut off."""
        rows = self._read("select * from damage order by 1, 2")
        conflicts = {path: names for path, at in rows if (names := self._conflict(path, at))}
        lines = [f"{path}: a merge conflict of {names}; delete its lines of marks" for path, names in conflicts.items()]
        others = [(path, at) for path, at in rows if path not in conflicts or not self._is_mark(path, at)]
        lines += [f"{path}: the line at byte {at} is damaged" for path, at in others]
        cut = self._read("select path, size - offset from file where offset < size order by 1")
        return lines + [f"{path}: the last {left} bytes are not a whole line" for path, left in cut]

    def _conflict(self, path: str, at: int) -> str:
        """The names of both sides where a merge conflict begins here, or ''. The lines of both sides are read."""
        with open(self.root / path, "rb") as file:
            file.seek(at)
            opens = file.read(len(conflict.OPENS)).decode("utf-8", "replace")
            text = opens + file.read().decode("utf-8", "replace") if opens == conflict.OPENS else ""
        both = conflict.sides(text)
        return f"{both[0].name} and {both[1].name}, whose records are both read" if both else ""

    def _is_mark(self, path: str, at: int) -> bool:
        """Whether a line that begins here is one that git put round the sides of a conflict."""
        with open(self.root / path, "rb") as file:
            file.seek(at)
            return file.read(len(conflict.OPENS)).decode("utf-8", "replace") in conflict.MARKS

    def count(self) -> int:
        """How many records there are."""
        return self._read("select count(*) from record")[0][0]

    def moved(self) -> dict[str, str]:
        """The paths in records of repros that have moved, and their paths now: below the root."""
        return dict(self._read("select said, claim from place where said != claim"))

    def renamed(self, claims: Collection[str]) -> dict[str, str]:
        """Of these, repros that are gone -> a file of another name that has the text of one of their records."""
        if not claims:
            return {}
        rows = self._read("select claim, marks from place")
        return same_text({claim: json.loads(marks) for claim, marks in rows if claim in claims}, self.root)

    def hosts(self) -> list[str]:
        return [row[0] for row in self._read("select distinct host from cell order by 1")]

    def _load(self, path: str, offset: int, length: int, name: str, claim: str) -> Record:
        line = self._line(path, offset, length)
        place, shapes = column(line), line.get("shapes") or {}
        hashes = line.get("outputs") or {}
        return Record(
            id=name, date=str(line.get("date")), claim=claim, case=place["case_name"],
            title=str(line.get("title") or ""), arch=place["arch"], compiler=place["compiler"], host=place["host"],
            hardware=line_is_hardware(line), verdict=str(line.get("verdict")),
            verdict_reason=str(line.get("reason") or ""), outcome=str(line.get("outcome")),
            digest=str(line.get("digest") or ""), provenance=provenance(line),
            outputs={k: {"sha256": h} | dict(zip(("dtype", "shape"), shapes.get(k, ()))) for k, h in hashes.items()},
            differences=list(line.get("differences") or []), histogram=line.get("histogram"),
            durations=dict(line.get("durations") or {}), detail=dict(line.get("detail") or {}),
            line=line, folders=tuple(self._folders),
        )  # fmt: skip


def _newest(rows: list[tuple], group: Any, value: Any) -> dict[Any, Any]:
    """For each group of cells, the value of their newest verdict; groups whose value is None are left out."""
    newest: dict[Any, tuple[tuple[str, str], Any]] = {}
    for row in rows:
        last = row[7].last
        said = value(last) if last else None
        if said is not None and (group(row) not in newest or newest[group(row)][0] < (last.date, last.id)):
            newest[group(row)] = ((last.date, last.id), said)
    return {key: said for key, (_, said) in newest.items()}


def _compiled(event: Event) -> tuple[Any, str] | None:
    """The kernels of an event and its id, where it knows them."""
    kernels = event.facts.get("kernels")
    return None if kernels is None else (kernels, event.id)


def _arithmetic(last: Event | None) -> dict[str, Any]:
    kind, through = (last and last.facts.get("arithmetic")) or (None, "")
    return {"arithmetic": kind, "through": through, "evidence": last and last.facts.get("evidence")}


def _id(event: Event | None) -> str | None:
    return event.id if event else None
