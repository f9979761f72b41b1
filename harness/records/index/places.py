"""The paths now of the repros that records name: the part of the index that follows moved repros (moved.py).

`place` has a row for each path that records name: the path of that repro now, and the marks by which records know it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from harness.records.index.moved import follow

TABLE = "create table place (said text primary key, claim text, marks text);"


def now(db: sqlite3.Connection) -> dict[str, str]:
    """The path of a repro in records -> its path now, below the root."""
    return dict(db.execute("select said, claim from place"))


def remember(db: sqlite3.Connection, marks: Mapping[str, set[str]]) -> None:
    """Keep the marks by which records know the repros of these paths."""
    for said, mine in marks.items():
        old = db.execute("select claim, marks from place where said = ?", [said]).fetchone()
        claim, before = (old[0], json.loads(old[1])) if old else (said, [])
        row = [said, claim, json.dumps(sorted(mine.union(before)))]
        db.execute("insert or replace into place values (?, ?, ?)", row)


def moves(db: sqlite3.Connection, root: Path) -> dict[str, str]:
    """The path of a repro in records -> its path now, for repros of which the index has another path."""
    rows = db.execute("select said, claim, marks from place").fetchall()
    moved = follow({said: json.loads(marks) for said, _, marks in rows}, root)
    return {said: str(place) for said, claim, _ in rows if (place := moved.get(said, said)) != claim}


def give(db: sqlite3.Connection, moved: Mapping[str, str]) -> set[str]:
    """Give these repros' records to the places where they are now; the claims that lost or gained some."""
    touched = set()
    for said, claim in moved.items():
        (before,) = db.execute("select claim from place where said = ?", [said]).fetchone()
        db.execute("update record set claim = ? where claim = ? and said = ?", [claim, before, said])
        db.execute("update place set claim = ? where said = ?", [claim, said])
        touched |= {before, claim}
    return touched
