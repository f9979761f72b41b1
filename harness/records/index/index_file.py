"""The file of the index: made from the record files, kept up to date with them, replaced where it is bad.

Several processes may have it open; one that replaces it waits until no other has. `index.py` reads it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from harness import store
from harness.records.index import answers, places, sources, summary_text
from harness.records.index.cells import CELL, facts, marks as marks_of, row as row_of
from harness.records.index.states import Event, summarise

SCHEMA = "7"
FILE = "index.sqlite"
TAIL = 64
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


class IndexFile:
    """An SQLite file that can be thrown away: it is rebuilt if it is missing, old, broken or does not fit."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.path = self.root / store.LOCAL / FILE
        self._folders = store.record_folders(self.root)
        self._db: Any = None  # an sqlite3.Connection while it is open
        self._lock: int | None = None
        if not (self._hold(fcntl.LOCK_SH) and self._take_up()):
            self.rebuild()

    def __enter__(self) -> Self:
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

    def _line(self, path: str, offset: int, length: int) -> dict[str, Any]:
        with open(self.root / path, "rb") as file:
            file.seek(offset)
            return store.parsed(file.read(length))

    def _read(self, sql: str, values: Iterable[Any] = ()) -> list[tuple]:
        values = list(values)
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            if "locked" in str(error):
                raise
        self.rebuild()
        return self._db.execute(sql, values).fetchall()

    def rebuild(self) -> None:
        """Rebuild the index next to the old one, then replace it; in memory if it cannot be written."""
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
        """Hold the lock of an open index: shared, or exclusive to replace the file. False after a while."""
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
        """Open the file and add lines that were appended since; False if it must be rebuilt."""
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
        """Add lines that were appended since; False if the index does not fit the files and must be rebuilt."""
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
                    said, own = row[4], marks_of(line or {})
                    "".join([one for one in (*row, *own) if isinstance(one, str)]).encode()  # no half of a character
                    marks.setdefault(said, set()).update(own)
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
        if not rows:  # its only record has the id of another, which came first
            return
        summary = summarise(Event(*row[:5], hardware=bool(row[5])) for row in rows.values())
        text = summary_text.write(summary, lambda event: facts(self._line(*rows[event.id][6:9])))
        newest = max(rows.values(), key=lambda row: (row[1], row[0]))
        row = [*place, newest[5], newest[9], text]
        self._db.execute("insert or replace into cell values (?, ?, ?, ?, ?, ?, ?, ?)", row)
