"""Files that the harness reads and others may have written: goldens, records, results that wait, files of `validation/`.

Each is changed at random; it is refused by a sentence, or read; there is no traceback, and nothing is written elsewhere.
"""

import json
import os
import random
import resource

import numpy as np
import pytest

from harness import pending, session
from harness.capsules import agreement_files
from harness.claim.repro_file import read
from harness.comparison import golden, unused_goldens
from harness.errors import UsageError
from harness.host.hosts import Host
from harness.judge import judge
from harness.records import query, tables
from harness.records.index import index
from harness.run import result
from tests.harness.by_a_gpu import FACTS
from tests.harness.mutants import change, changes, torn_bytes, whole

REPRO = '# /// script\n# [tool.repro]\n# params = { width = [8] }\n# compare = { o = "abs:1" }\n# ///\n"""A claim."""\ndef run(width): ...\n'
DATE = "2026-11-22T10:00:00Z"


class Project:
    """A project with one case, which was run on a GPU."""

    def __init__(self, folder):
        self.root, self.path = folder / "project", folder / "project/repros/one.py"
        self.path.parent.mkdir(parents=True)
        (self.root / "pyproject.toml").write_text("")
        self.path.write_text(REPRO)
        self.case = next(read(self.path).cases())
        self.host = Host("p1", "cuda", device_facts=FACTS)

    def verdict(self, update=False):
        header, _ = whole("outputs")
        body = header["result"] | {
            "outputs": [{"name": "o", "dtype": "float32", "shape": [2]}],
            "others": [],
            "spread": [],
        }
        header["result"] = body | {"expected": [], "preds": []}
        header["result"]["facts"]["device"] = dict(FACTS)
        outcome = result.from_reply(header, [np.float32([1, np.nan]).tobytes()])
        return judge(self.case, self.host, outcome, self.root, update=update)

    def strays(self):
        ours = ("pyproject.toml", "repros/", ".repro/", "validation/")
        names = (
            path.relative_to(self.root.parent).as_posix() for path in self.root.parent.rglob("*") if path.is_file()
        )
        return [name for name in names if not name.startswith(tuple(f"project/{one}" for one in ours))]


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    found = Project(tmp_path)
    monkeypatch.chdir(found.root)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield found
    assert found.strays() == []
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 300 << 10


def mutants(text, count, seed):
    """Numbers and texts: half of the text with other values, half with other bytes."""
    for number in range(count):
        chance = random.Random(f"{seed}.{number}")
        table = json.loads(text)
        for _ in changes(chance):
            change(table, chance)
        yield number, torn_bytes(text.encode(), chance) if number % 2 else json.dumps(table).encode()


COUNTS = [60, pytest.param(5_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", COUNTS)
def test_goldens(project, count):
    made = project.verdict(update=True).pending
    golden.write(made)
    path, refused = golden.path_of(project.case), 0
    for number, data in mutants(made.text, count, "golden"):
        path.write_bytes(data)
        try:
            golden.read(path)
        except golden.CorruptGolden as error:
            refused += 1
            assert str(error).isprintable() or "\n" in str(error), number
        verdict = project.verdict()
        assert verdict.status in ("pass", "fail", "infra"), number
        assert verdict.text.replace("\n", "").replace("\t", "").isprintable(), number
        unused_goldens.unused([project.case.repro], [], [project.path.parent])
        golden.sidecars_of(path.parent)
    assert refused > count // 3


@pytest.mark.parametrize("count", COUNTS)
def test_records(project, count):
    run = session.Session(project.root)
    run.take(session.as_data(project.verdict(), project.path, True))
    (file,) = (project.path.parent / "records").glob("*.jsonl")
    text = file.read_text()
    every = [data for _, data in mutants(text, count, "record")]
    for start in range(0, count, 50):
        file.write_bytes(text.encode() + b"\n".join(every[start : start + 50]) + b"\n")
        with index.open_index(project.root) as records:
            told = [tables.status(query.status(records, []), 40), json.dumps(records.records(), default=str)]
            told.append(json.dumps(query.history(records, "one", None, None, None, 100), default=str))
        assert "one" in told[0] and told[0].replace("\n", "").isprintable(), start


@pytest.mark.parametrize("count", COUNTS)
def test_results_that_wait(project, count):
    run = session.Session(project.root)
    run.take(session.as_data(project.verdict(), project.path, True))
    (path,) = pending.folder(project.root).rglob("*.json")
    text, stale = path.read_text(), 0
    for number, data in mutants(text, count, "pending"):
        path.write_bytes(data)
        (one,) = pending.waiting(project.root)
        stale += bool(one.stale)
        assert pending.show(one), number
        pending.lanes(one)
    assert stale > count // 3


@pytest.mark.parametrize("count", COUNTS)
def test_files_of_validation(project, count):
    rows = [agreement_files.Row(f"form.{number}", "agrees", 8, 8, 8, "h100") for number in range(3)]
    agreement_files.write(project.root, rows, FACTS, DATE)
    (path,) = (project.root / "validation").glob("*.json")
    text, refused = path.read_text(), 0
    for number, data in mutants(text, count, "validation"):
        path.write_bytes(data)
        try:
            agreement_files.write(project.root, rows[:1], FACTS, DATE)
            assert (project.root / "validation/agreement.md").read_text().count("\n| form |") == 1
        except UsageError as error:
            refused += 1
            assert str(error).startswith("validation/") and "\nfix: " in str(error), number
    assert refused > count // 3
