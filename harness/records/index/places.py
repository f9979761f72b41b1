"""Where the repros are now that records name: the part of the index that follows those that moved (moved.py).

`place` has a row for each path that records name: the path where that repro is now, and by what records know it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from harness.records.index.moved import follow

TABLE = "create table place (said text primary key, claim text, marks text);"


def now(db: sqlite3.Connection) -> dict[str, str]:
    """What records call a repro -> where it is now: paths below the root."""
    return dict(db.execute("select said, claim from place"))


def remember(db: sqlite3.Connection, marks: Mapping[str, set[str]]) -> None:
    """Keep by what records know the repros that they call so."""
    for said, mine in marks.items():
        old = db.execute("select claim, marks from place where said = ?", [said]).fetchone()
        claim, before = (old[0], json.loads(old[1])) if old else (said, [])
        row = [said, claim, json.dumps(sorted(mine.union(before)))]
        db.execute("insert or replace into place values (?, ?, ?)", row)


def moves(db: sqlite3.Connection, root: Path) -> dict[str, str]:
    """What records call a repro -> where it is now, for those of which the index has another place."""
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
