"""The index follows repros that moved: their records go to the claim where they are now."""

import sqlite3

import pytest

from harness.records.index import places
from tests.harness.conftest import repro_text


@pytest.fixture
def db():
    db = sqlite3.connect(":memory:")
    db.executescript(places.TABLE + "create table record (claim text, said text);")
    return db


def test_marks_add_up_and_records_follow_their_repro(db, tmp_path):
    places.remember(db, {"repros/one.py": {"It is so."}})
    places.remember(db, {"repros/one.py": {"ab12"}})
    assert places.now(db) == {"repros/one.py": "repros/one.py"}
    assert places.moves(db, tmp_path) == {}  # no such file anywhere
    db.execute("insert into record values ('repros/one.py', 'repros/one.py')")

    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "mma").mkdir()
    (tmp_path / "mma/one.py").write_text(repro_text("def run():\n    return {}"))
    assert places.moves(db, tmp_path) == {"repros/one.py": "mma/one.py"}
    assert places.give(db, {"repros/one.py": "mma/one.py"}) == {"repros/one.py", "mma/one.py"}
    assert places.now(db) == {"repros/one.py": "mma/one.py"} and places.moves(db, tmp_path) == {}
    assert db.execute("select claim, said from record").fetchall() == [("mma/one.py", "repros/one.py")]

    (tmp_path / "repros").mkdir()
    (tmp_path / "mma/one.py").rename(tmp_path / "repros/one.py")
    assert places.moves(db, tmp_path) == {"repros/one.py": "repros/one.py"}  # and back
