"""The index agrees with the record files, whatever happened to the files or to the index itself.

Modules tested here: harness/records/index/index_file.py.
"""

import hashlib
import json
import os
import sqlite3

import pytest
from hypothesis import given, settings, strategies as st

from harness import store
from harness.records.index import index, index_file
from harness.records.index.index import NoRecord, combine, open_index
from tests.harness.by_a_gpu import UUID

COMPILER = {"name": "ours", "version": "0.1.0"}


def line(n: int, repro: str = "repros/one.py", case: str = "", verdict: str = "pass", hardware: bool = False, **more):
    device = {"kind": "cuda", "name": "H100", "arch": "sm_90", "driver": "570", "uuid": UUID} if hardware else {
        "kind": "emulator", "arch": "sm_90a"}  # fmt: skip
    date = f"2026-{n // 28 % 12 + 1:02}-{n % 28 + 1:02}T00:00:00.{n:06}Z"
    return {
        "schema": 2, "key": {"repro_sha256": "0"}, "repro": repro, "case": case,
        "host": "p1" if hardware else "embedded", "hardware": hardware, "device": device,
        "asked": "ours", "compiler": COMPILER, "versions": {"numpy": "2"},
        "verdict": verdict, "reason": "" if verdict == "pass" else "differs from the golden", "outcome": "outputs",
        "outputs": {"out": "ab"}, "shapes": {"out": ["int32", [8]]}, "kernels": {"k": "p"}, "durations": {"run_s": 1.0},
        "date": date, "digest": f"d{n}", "title": "It is so.",
    } | more  # fmt: skip


@pytest.fixture
def root(tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "repros").mkdir()
    text = "# a repro\n"
    for name in ("one", "two"):
        (tmp_path / f"repros/{name}.py").write_text(text)
    return tmp_path


@pytest.fixture
def put(root):
    """Append lines as one run each; lines of hardware go next to the repros."""

    def put(*lines: dict, run: store.Run | None = None) -> list[dict]:
        run = run or store.Run()
        sha256 = hashlib.sha256(b"# a repro\n").hexdigest()
        done = []
        for one in lines:
            one["key"] = {"repro_sha256": sha256}
            done.append(run.append(store.folder(root / one["repro"], one["hardware"], root), one))
        return done

    return put


def said(root):
    """The cells of a fresh index and of one that was kept up to date; they must be the same."""
    with open_index(root) as kept:
        cells, count, records = kept.cells(), kept.count(), kept.records()
        kept.rebuild()
        assert (kept.cells(), kept.count(), kept.records()) == (cells, count, records)
    return cells


def test_cells_and_records(root, put):
    first, second, third = put(line(1), line(2, hardware=True), line(3, "repros/two.py", "w=8", "fail"))
    cells = said(root)
    assert [(c.claim, c.case, c.arch, c.compiler, c.host, c.state) for c in cells] == [
        ("repros/one.py", "", "sm_90", "ours", "embedded", "predicted"),
        ("repros/one.py", "", "sm_90", "ours", "p1", "validated"),
        ("repros/two.py", "w=8", "sm_90", "ours", "embedded", "failing"),
    ]
    assert cells[1].last_validated == second["date"] and cells[1].ticks == "p" and cells[1].title == "It is so."
    assert combine(cells[:2]) == "validated" and combine(cells) == "failing"
    with open_index(root) as records:
        one = records.record(third["id"][:8] + "-0003")
        assert (one.claim, one.case, one.verdict, one.verdict_reason) == (
            "repros/two.py", "w=8", "fail", "differs from the golden")  # fmt: skip
        assert one.outputs == {"out": {"sha256": "ab", "dtype": "int32", "shape": [8]}}
        assert one.rerun == "uv run repro run repros/two.py -p w=8"
        assert one.provenance["compiler_version"] == "0.1.0" and one.provenance["ptx.k"] == "p"
        assert [r.id for r in records.records("repros/one.py")] == [second["id"], first["id"]]
        assert records.records(host="p1", limit=1)[0].hardware and len(records.records(since=third["date"])) == 1
        json.dumps([index.as_table(one), *map(index.as_table, cells)])
        with pytest.raises(NoRecord, match="begins several records"):
            records.record(third["id"][:8])
        with pytest.raises(NoRecord, match="no record 'nope'"):
            records.record("nope")
        with pytest.raises(NoRecord):
            records.record("%")


def test_a_change_on_disk_makes_a_pass_stale(root, put):
    golden = root / "repros/goldens/one/default.json"
    golden.parent.mkdir(parents=True)
    golden.write_text('{"outcome": "outputs", "provenance": {"date": "1"}, "validated": false}')
    put(line(1, hardware=True, golden_sha256=store.answer_sha256(golden.read_bytes())))
    assert said(root)[0].state == "validated"
    golden.write_text('{"outcome": "outputs", "provenance": {"date": "2"}, "validated": true}')
    assert said(root)[0].state == "validated"  # the answer is the same
    golden.write_text('{"outcome": "trap", "provenance": {}, "validated": true}')
    assert said(root)[0].reason.startswith("the golden changed since")
    (root / "repros/one.py").write_text("# /// script\n# [tool.repro]\n# ///\ndef run(): ...\n")
    assert said(root)[0].reason.startswith("the repro changed since")
    (root / "repros/one.py").unlink()
    with open_index(root) as records:
        assert records.cells() == [] and records.cells(gone=True)[0].reason == "the repro is gone"
        assert len(records.records("repros/one.py")) == 1


REPRO = '# /// script\n# [tool.repro]\n# ///\n"""{}"""\n\n\ndef run():\n    return {{}}  # {}\n'


def write(root, path: str, claim: str, text: str = "") -> str:
    """Write a repro; the sha256 of its text."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(REPRO.format(claim, text))
    return hashlib.sha256((root / path).read_bytes()).hexdigest()


def test_a_repro_that_moved_is_the_same_claim(root, put):
    """Its records of both places are one cell, whichever index is read, and from the place where it lies now."""
    first, second = put(line(1), line(2, verdict="fail"))
    said(root)
    (root / "repros/shuffle").mkdir()
    (root / "repros/one.py").rename(root / "repros/shuffle/one.py")
    (cell,) = said(root)
    assert (cell.claim, cell.ticks, cell.state) == ("repros/shuffle/one.py", "pf", "regressed")
    put(line(3, "repros/shuffle/one.py"))
    (cell,) = said(root)
    assert (cell.claim, cell.ticks, cell.passes, cell.fails) == ("repros/shuffle/one.py", "pfp", 2, 1)
    with open_index(root) as records:
        assert records.moved() == {"repros/one.py": "repros/shuffle/one.py"}
        assert [one.claim for one in records.records(cell.claim)] == [cell.claim] * 3 and not records.records(
            "repros/one.py")  # fmt: skip
        assert records.record(first["id"]).repro_then == "repros/one.py"
        assert records.record(first["id"]).rerun == "uv run repro run repros/shuffle/one.py"
        assert {row[0] for row in records.past()} == {cell.claim}
    put(line(4))  # a record of before the move, which comes with another branch
    assert said(root)[0].ticks == "pfpp"
    (root / "repros/shuffle/one.py").rename(root / "repros/one.py")  # and back
    (cell,) = said(root)
    assert (cell.claim, cell.ticks) == ("repros/one.py", "pfpp")


MOVES = {  # what becomes of repros/one.py, known as "It is so." -> where its record is then
    "changed, but the same claim": ([("a/one.py", "It is so.", "other text")], "repros/a/one.py"),
    "another claim": ([("a/one.py", "It is not so.", "")], None),
    "another name": ([("a/other.py", "It is so.", "")], None),
    "two of the same claim": ([("a/one.py", "It is so.", "a"), ("b/one.py", "It is so.", "b")], None),
    "two, one of them as it was": ([("a/one.py", "It is so.", "a"), ("b/one.py", "It is so.", "")], "repros/b/one.py"),
    "it is still there": ([("one.py", "It is not so.", ""), ("a/one.py", "It is so.", "")], "repros/one.py"),
    "in a folder that is not ours": ([("goldens/one.py", "It is so.", ""), (".venv/one.py", "It is so.", "")], None),
}


@pytest.mark.parametrize("case", MOVES)
def test_only_the_same_claim_is_followed(root, case):
    sha256 = write(root, "repros/one.py", "It is so.")
    store.Run().append(root / ".repro/records", line(1) | {"key": {"repro_sha256": sha256}})
    assert said(root)[0].claim == "repros/one.py"
    (root / "repros/one.py").unlink()
    files, now = MOVES[case]
    for path, claim, text in files:
        write(root, f"repros/{path}", claim, text)
    assert [cell.claim for cell in said(root)] == ([now] if now else [])
    with open_index(root) as records:
        assert [cell.claim for cell in records.cells(gone=True)] == [now or "repros/one.py"]


def test_a_claim_that_was_reworded_after_it_moved_keeps_its_history(root):
    """Its earlier names in the new place are in the records of that place."""
    for n, path in enumerate(("repros/one.py", "repros/a/one.py")):
        sha256 = write(root, path, "It is so.")
        store.Run().append(root / ".repro/records", line(n, path) | {"key": {"repro_sha256": sha256}})
    (root / "repros/one.py").unlink()
    write(root, "repros/a/one.py", "It is always so.", "and more")
    (cell,) = said(root)
    assert (cell.claim, cell.ticks, cell.state) == ("repros/a/one.py", "pp", "stale")


def test_a_newer_emulator_run_with_other_ptx_makes_hardware_stale(root, put):
    put(line(1, hardware=True), line(2, kernels={"k": "other"}))
    assert {c.host: c.state for c in said(root)} == {"p1": "stale", "embedded": "predicted"}


def test_records_are_taken_as_they_come(root, put):
    run = store.Run()
    for n in range(5):
        put(line(n, verdict="pass" if n < 4 else "fail"), run=run)
        with open_index(root) as records:
            assert records.count() == n + 1
    (cell,) = said(root)
    assert (cell.state, cell.ticks, cell.passes, cell.fails) == ("regressed", "ppppf", 4, 1)


BREAK = {
    "gone": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "no database": lambda path: path.write_bytes(b"SQLite format 3\0" + b"x" * 5000),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "a page of zeros": lambda path: path.write_bytes(
        path.read_bytes()[:4096] + bytes(8192) + path.read_bytes()[12288:]),
    "another schema": lambda path: _sql(path, "update meta set value = '0'"),
    "no cells": lambda path: _sql(path, "drop table cell"),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}  # fmt: skip


def _sql(path, text):
    with sqlite3.connect(path) as db:
        db.execute(text)
    db.close()


@pytest.mark.parametrize("name", BREAK)
def test_a_broken_index_is_made_again(root, put, name):
    put(*(line(n, case=f"n={n}") for n in range(40)))
    before = said(root)
    BREAK[name](root / ".repro" / index_file.FILE)
    with open_index(root) as records:
        assert records.cells() == before and records.count() == 40
    assert not list((root / ".repro").glob("*.tmp*"))


def test_it_works_in_memory_if_nothing_can_be_written(root, put):
    put(line(1, hardware=True))
    (root / ".repro").write_text("in the way")
    with open_index(root) as records:
        assert records.count() == 1 and records.cells()[0].state == "validated"


def test_damaged_and_torn_lines_are_reported_and_lose_nothing_else(root, put):
    put(line(1), line(2))
    (path,) = (root / ".repro/records").glob("*.jsonl")
    good = path.read_bytes().splitlines(keepends=True)
    nested = b"[" * 100000 + b"\n"
    bad = b'{"half": \n' + b"\0" * 50 + b"\n[]\n{}\n" + nested + b"\xff\xfe\n"
    path.write_bytes(good[0] + bad + good[1] + good[0][:60])
    with open_index(root) as records:
        assert records.count() == 2
        told = records.damaged()
        assert len(told) == 7 and told[-1].endswith("the last 60 bytes are not a whole line")
    with open(path, "ab") as file:
        file.write(good[0][60:].replace(b"-0001", b"-0009"))
    with open_index(root) as records:
        assert records.count() == 3 and len(records.damaged()) == 6


def test_a_merge_conflict_in_a_record_is_named_and_both_sides_are_read(root, put):
    put(line(1))
    put(line(2))
    one, two = sorted((root / ".repro/records").glob("*.jsonl"))
    both = b"<<<<<<< HEAD\n" + one.read_bytes() + b"=======\n" + two.read_bytes() + b">>>>>>> topic\n"
    two.unlink()
    one.write_bytes(both)
    told = f".repro/records/{one.name}: a merge conflict of HEAD and topic, whose records are both read; "
    told += "delete its lines of marks"
    with open_index(root) as records:
        assert records.count() == 2
        assert records.damaged() == [told]
    one.write_bytes(both + b'{"torn": \n')
    with open_index(root) as records:
        damaged = f".repro/records/{one.name}: the line at byte {len(both)} is damaged"
        assert records.damaged() == [told, damaged]  # another line of that file is named all the same


def test_a_file_that_was_rewritten_or_removed_is_read_again(root, put):
    put(line(1))
    put(line(2))
    assert said(root)[0].passes == 2
    a, b = sorted((root / ".repro/records").glob("*.jsonl"))
    a.write_bytes(a.read_bytes().replace(b'"pass"', b'"fail"'))
    assert said(root)[0].fails == 1
    b.write_bytes(b.read_bytes()[:-1].replace(b'"pass"', b'"fail"') + b"\n" + b.read_bytes())
    assert said(root)[0].passes + said(root)[0].fails == 2
    a.unlink()
    assert said(root)[0].passes + said(root)[0].fails == 1


def test_a_line_that_is_in_two_files_counts_once(root, put):
    put(line(1), line(2))
    (path,) = (root / ".repro/records").glob("*.jsonl")
    (path.parent / "merged.jsonl").write_bytes(path.read_bytes() * 2)
    assert said(root)[0].passes == 2


def test_lines_of_the_first_schema_are_read(root):
    folder = root / ".repro/records"
    folder.mkdir(parents=True)
    old = {k: v for k, v in line(1).items() if k not in ("hardware", "asked", "digest", "title", "shapes")}
    key = {"repro_sha256": hashlib.sha256(b"# a repro\n").hexdigest()}
    (folder / "2026-01-01-77.jsonl").write_text(json.dumps(old | {"schema": 1, "key": key}) + "\n")
    (cell,) = said(root)
    assert cell.compiler == "ours" and cell.last.startswith("x")


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from(["pass", "fail", "infra", "contradicted"]),
                          st.booleans(), st.sampled_from(["", "w=8"])), max_size=12))  # fmt: skip
def test_an_index_kept_up_to_date_equals_one_made_again(tmp_path_factory, history):
    root = tmp_path_factory.mktemp("root")
    (root / "repros").mkdir()
    (root / "repros/one.py").write_text("x")
    run = store.Run()
    for n, verdict, hardware, case in history:
        one = line(n, case=case, verdict=verdict, hardware=hardware)
        one["key"] = {"repro_sha256": hashlib.sha256(b"x").hexdigest()}
        run.append(store.folder(root / "repros/one.py", hardware, root), one)
        with open_index(root) as records:
            records.cells()
    said(root)
