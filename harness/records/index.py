"""The record, indexed: what each claim's state is, what was run, and what a run knew. Reading only; no numpy here.

    with index.open_index(root) as records:        # root: store.root_of(some path); updates .repro/index.sqlite
        records.cells()                            # [Cell]: one for each claim, case, arch, compiler and host
        records.records("repros/shfl.py", case="width=8", arch="sm_90", compiler="embedded", host="p1")  # newest 1st
        records.record("1f2e3d4c-17")              # Record; also by a prefix that only one has. Raises NoRecord
        records.damaged()                          # lines of record files that cannot be read, for a warning

`Cell`: claim (the path of the repro below the root, where it is now: places.py), case ("" without params), title (the
claim's sentence), arch ("sm_90": no suffix a or f; "any" for programs without kernels), compiler (as it was asked
for: "embedded", "nvidia", "nvidia==4.6.3"), host (alias), hardware, state and reason (states.py: validated, stale,
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

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from harness import store
from harness.comparison import conflict
from harness.records import answers, places, sources, summary_text
from harness.records.answers import Answer
from harness.records.cells import (
    CELL,
    Cell,
    NoRecord,
    Record,
    as_table,
    column,
    combine,
    facts,
    line_is_hardware,
    marks as marks_of,
    provenance,
    row as row_of,
)
from harness.records.moved import same_text
from harness.records.sources import golden_folder
from harness.records.states import FORGOTTEN, GONE, STALE, Event, Now, newer_code, state, summarise

__all__ = ["Cell", "Index", "NoRecord", "Record", "as_table", "combine", "golden_folder", "open_index"]

SCHEMA = "7"
FILE = "index.sqlite"
TAIL = 64
CHUNK = 500  # names in one query
_LINE = "path, offset, length, id, claim"
STAMP = "date || ' ' || id"  # puts records in their order
PATIENCE_S = 20.0  # for other processes to close the file
_TABLES = (
    places.TABLE
    + sources.TABLE
    + """
create table meta (key text primary key, value text);
create table file (path text primary key, size int, mtime_ns int, offset int, tail text);
create table damage (path text, offset int);
create table record (id text primary key, path text, offset int, length int, claim text, case_name text, arch text,
    compiler text, host text, hardware int, verdict text, reason text, date text, digest text, title text,
    ANSWER, said text);
create table cell (claim text, case_name text, arch text, compiler text, host text, hardware int, title text,
    summary text, primary key (claim, case_name, arch, compiler, host));
""".replace("ANSWER", answers.TABLE)
)


def open_index(root: Path) -> Index:
    """The index of a project's records, up to date."""
    return Index(root)


# --- the index -------------------------------------------------------------------------------------------------------


class Index:
    """An SQLite file that can be thrown away: it is made anew where it is missing, old, broken or does not fit."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.path = self.root / store.LOCAL / FILE
        self._folders = store.record_folders(self.root)
        self._db: Any = None  # an sqlite3.Connection while it is open
        self._lock: int | None = None
        if not (self._hold(fcntl.LOCK_SH) and self._take_up()):
            self.rebuild()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._disconnect()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _disconnect(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    # --- reading ---

    def cells(self, gone: bool = False) -> list[Cell]:
        """Every cell that a repro declares and that has a record, by claim, case, arch, compiler and host.

        With `gone` also the others, whose state is that: of lost repros and cases, and those that a person forgot.
        """
        sql = "select claim, case_name, arch, compiler, host, hardware, title, summary from cell order by 1, 2, 3, 4"
        rows: list[Any] = [(*row[:7], summary_text.read(row[7])) for row in self._read(sql)]
        names = {row[:3]: row[7].last.facts.get("golden") for row in rows if row[7].last}
        own_names = {place: name for place, name in names.items() if name and "/" not in name}
        known = self._read("select * from source")  # which may make the index anew
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
            raise NoRecord(f"there is no record {name!r}; `repro history CLAIM` lists those of a claim")
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

        An answer is what answers.SAME says. SQLite takes the other columns from the row that has the greatest stamp.
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
        """What records call repros that are elsewhere now, and where: paths below the root."""
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

    def _line(self, path: str, offset: int, length: int) -> dict[str, Any]:
        with open(self.root / path, "rb") as file:
            file.seek(offset)
            return json.loads(file.read(length))

    def _read(self, sql: str, values: Iterable[Any] = ()) -> list[tuple]:
        values = list(values)
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            if "locked" in str(error):
                raise
        self.rebuild()
        return self._db.execute(sql, values).fetchall()

    # --- writing ---

    def rebuild(self) -> None:
        """Make the index anew, beside the old one and then in its place; in memory where it cannot be written."""
        self._disconnect()
        if self._hold(fcntl.LOCK_EX) and self._replace():
            return
        self._disconnect()
        self._db = self._connect(":memory:")
        self._fill(self._files())

    def _replace(self) -> bool:
        """Put a new file in the place of the old one; no other process has it open. Whether that could be done."""
        part = self.path.with_name(f".{FILE}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
        try:
            store.sweep(self.path.parent)
            self._db = self._connect(part, sync=False)
            self._fill(self._files())
            self._disconnect()
            with open(part, "rb") as file:
                os.fsync(file.fileno())
            for old in (self.path, self.path.with_name(FILE + "-journal")):  # a journal must not meet another file
                old.unlink(missing_ok=True)
            os.replace(part, self.path)
            self._db = self._connect(self.path)
            return self._hold(fcntl.LOCK_SH)
        except (OSError, sqlite3.Error):
            self._disconnect()
            return False
        finally:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)

    def _hold(self, how: int) -> bool:
        """Hold the lock that says who has the file open: shared, or exclusive to replace it. False after a while."""
        try:
            if self._lock is None:
                store.make_folder(self.path.parent)
                self._lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            end = time.monotonic() + PATIENCE_S
            while True:
                try:
                    fcntl.flock(self._lock, how | fcntl.LOCK_NB)
                    return True
                except BlockingIOError:
                    if time.monotonic() > end:
                        return False
                    time.sleep(0.01)
        except OSError:
            return False

    def _take_up(self) -> bool:
        """Open the file and take what was appended since; False where it must be made anew."""
        for _ in range(2):  # another process may have read what was appended after we looked
            try:
                files = self._files()
                self._db = self._db or (self._connect(self.path) if self.path.exists() else None)
                if self._db is not None and self._update(files):
                    return True
            except (sqlite3.Error, OSError, KeyError, ValueError, TypeError):
                return False
        return False

    def _connect(self, path: Path | str, sync: bool = True) -> sqlite3.Connection:
        db = sqlite3.connect(path, timeout=30, isolation_level=None)
        if not sync:
            db.execute("pragma synchronous = off")
            db.execute("pragma journal_mode = off")
        return db

    def _fill(self, files: dict[str, tuple[int, int]]) -> None:
        self._db.executescript(_TABLES)
        self._db.execute("begin")
        self._take({path: (0, *files[path]) for path in sorted(files)})
        self._follow(places.moves(self._db, self.root))
        self._db.execute("insert into meta values ('schema', ?)", [SCHEMA])
        self._db.execute("commit")

    def _files(self) -> dict[str, tuple[int, int]]:
        """Size and time of each record file, by its path below the root."""
        stamps = {}
        for folder in self._folders:
            for entry in os.scandir(folder):
                if entry.name.endswith(".jsonl") and entry.is_file():
                    about = entry.stat()
                    stamps[os.path.relpath(entry.path, self.root)] = (about.st_size, about.st_mtime_ns)
        return stamps

    def _update(self, files: dict[str, tuple[int, int]]) -> bool:
        """Take what was appended since; False where the index does not fit the files and must be made anew."""
        if self._db.execute("select value from meta where key = 'schema'").fetchone() != (SCHEMA,):
            return False
        grown = self._grown(files)
        if grown or (grown is not None and places.moves(self._db, self.root)):
            self._db.execute("begin immediate")
            try:
                grown = self._grown(files)  # another process may have been faster
                if grown:
                    self._take(grown)
                self._follow(places.moves(self._db, self.root))
                self._db.execute("commit")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("rollback")
                raise
        return grown is not None

    def _grown(self, files: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int, int]] | None:
        """path -> (offset, size, mtime_ns) of files with something new; None where a file is not what it was."""
        read_before = {row[0]: row[1:] for row in self._db.execute("select * from file")}
        if read_before.keys() - files.keys():
            return None
        grown = {}
        for path, (size, mtime_ns) in files.items():
            if path not in read_before:
                grown[path] = (0, size, mtime_ns)
                continue
            old_size, old_mtime_ns, offset, tail = read_before[path]
            if (size, mtime_ns) == (old_size, old_mtime_ns):
                continue
            if size <= old_size or self._tail(path, offset) != tail:
                return None
            grown[path] = (offset, size, mtime_ns)
        return grown

    def _tail(self, path: str, offset: int) -> str:
        """A hash of the bytes before `offset`: whether a file that grew is still the one that was read."""
        with open(self.root / path, "rb") as file:
            file.seek(max(offset - TAIL, 0))
            return hashlib.sha256(file.read(min(TAIL, offset))).hexdigest()

    def _take(self, grown: dict[str, tuple[int, int, int]]) -> None:
        now = places.now(self._db)
        marks: dict[str, set[str]] = {}
        touched = set()
        for path, (offset, size, mtime_ns) in grown.items():
            end, rows = offset, []
            for at, length, line in store.read_lines(self.root / path, offset):
                end = at + length
                try:
                    row = row_of(path, at, length, line)
                    said = row[4]
                    marks.setdefault(said, set()).update(marks_of(line or {}))
                    rows.append((*row[:4], now.get(said, said), *row[5:], said))
                except (KeyError, TypeError, ValueError, AttributeError):
                    self._db.execute("insert into damage values (?, ?)", [path, at])
            row = [path, max(size, end), mtime_ns, end, self._tail(path, end)]
            self._db.execute("insert or replace into file values (?, ?, ?, ?, ?)", row)
            self._db.executemany(
                f"insert or ignore into record values ({', '.join('?' * (16 + len(answers.COLUMNS)))})", rows
            )
            touched |= {row[4:9] for row in rows}
        self._db.execute("create index if not exists record_cell on record (" + ", ".join(CELL) + ", date)")
        self._db.execute("create index if not exists record_date on record (date)")
        places.remember(self._db, marks)
        for place in touched:
            self._summarise(place)

    def _follow(self, moved: dict[str, str]) -> None:
        """Take up that repros moved."""
        for claim in places.give(self._db, moved):
            self._db.execute("delete from cell where claim = ?", [claim])
            for cell in self._db.execute(f"select distinct {', '.join(CELL)} from record where claim = ?", [claim]):
                self._summarise(cell)

    def _summarise(self, place: tuple[str, ...]) -> None:
        where = " and ".join(f"{key} = ?" for key in CELL)
        names = "id, date, verdict, reason, digest, hardware, path, offset, length, title"
        sql = f"select {names} from record where {where}"
        rows = {row[0]: row for row in self._db.execute(sql, place)}
        summary = summarise(Event(*row[:5], hardware=bool(row[5])) for row in rows.values())
        text = summary_text.write(summary, lambda event: facts(self._line(*rows[event.id][6:9])))
        newest = max(rows.values(), key=lambda row: (row[1], row[0]))
        row = [*place, newest[5], newest[9], text]
        self._db.execute("insert or replace into cell values (?, ?, ?, ?, ?, ?, ?, ?)", row)


def _newest(rows: list[tuple], group: Any, value: Any) -> dict[Any, Any]:
    """For each group of cells, what their newest verdict says; without groups where it says None."""
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
