"""Power cuts, full disks, many writers, merges: nothing is lost, nothing is read by halves, the index comes back."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness import store
from harness.records.index.index import open_index
from tests.harness.by_a_gpu import FACTS

CRASH = Path(__file__).with_name("crash.py")


def points(scenario: str, folder: Path) -> list[dict]:
    """The state that crash.py found after each of its deaths."""
    argv = [sys.executable, str(CRASH), scenario, str(folder)]
    run = subprocess.run(argv, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]
    return [json.loads(line) for line in run.stdout.splitlines()]


CHANGES = {  # scenario: (goldens, counts of records) that may be found after a death
    "golden": ([[1], [2]], {3}),
    "append": ([[1]], {3, 4, 5}),
    "propose": ([[1]], {3}),
    "accept": ([[1], [2]], {3, 4}),
    "reject": ([[1]], {3}),
    "blob": ([[1]], {3}),
    "rebuild": ([[1]], {3}),
}


@pytest.mark.slow
@pytest.mark.parametrize("scenario", CHANGES)
def test_death_at_every_write_point(tmp_path, scenario):
    goldens, counts = CHANGES[scenario]
    found = points(f"crash:{scenario}", tmp_path)
    assert found[-1]["status"] == 0 and all(one["status"] == 77 for one in found[:-1])
    least = {"golden": 10, "append": 6, "propose": 5, "accept": 15, "reject": 1, "blob": 3, "rebuild": 3}[scenario]
    assert len(found) > least
    for one in found:
        assert one["golden"] in goldens and one["records"] in counts, one
        assert one["damaged"] <= 1 and one["records"] >= 3, one
        assert len(one["left"]) <= 1 and not any(name.startswith("repros/") for name in one["left"]), one
        if scenario == "golden":  # what waited was about the golden before
            assert one["waiting"] in ([""], ["the golden has changed since: run it again"]), one
        elif one["waiting"]:
            assert one["waiting"] == [""] and one["again"]["golden"] == [2] and one["again"]["waiting"] == [], one
    assert {tuple(one["golden"]) for one in found} == {tuple(one) for one in goldens}


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "count"), [("update", 33), ("rebuild", 3)])
def test_death_inside_the_index(tmp_path, scenario, count):
    """A fresh index and the one that is found are the same; crash.py compares them."""
    found = points(f"sqlite:{scenario}", tmp_path)
    assert found[-1]["status"] == 0 and len(found) >= 3
    assert {one["records"] for one in found} == {count} and not any(one["damaged"] for one in found)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["golden", "append", "propose", "accept", "rebuild"])
def test_a_disk_that_takes_only_so_much(tmp_path, scenario):
    goldens, counts = CHANGES[scenario]
    found = points(f"full:{scenario}", tmp_path)
    assert found[-1]["status"] == 0
    assert {one["status"] for one in found} <= {0, 5}
    if scenario != "rebuild":  # which then works in memory
        assert found[0]["status"] == 5
    for one in found:
        assert one["golden"] in goldens and one["records"] in counts and not one["left"], one
        assert one["damaged"] == 0, one
        if one["status"] == 5 and scenario == "append":
            assert one["records"] in (3, 4)


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from crash import line
from harness import store
from harness.records.index.index import open_index
root, me = Path({root!r}), int(sys.argv[1])
run = store.Run()
for n in range(40):
    run.append(root / ".repro/records", line(n) | {{"case": f"w={{me}}"}})
    store.keep_text(root / ".repro/records", store.sha256(str(n)) + ".ptx", str(n))
    if n % 8 == me % 8:
        with open_index(root) as records:
            mine = [cell for cell in records.cells(gone=True) if cell.case == f"w={{me}}"]
            assert mine[0].passes == n + 1, (mine, n)
            if n % 16 == me:
                records.rebuild()
                assert records.count() > n
"""


@pytest.mark.slow
def test_eight_processes_write_one_store_and_read_it(tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    script = WRITER.format(tests=str(CRASH.parent), root=str(tmp_path))
    writers = [
        subprocess.Popen([sys.executable, "-c", script, str(me)], stderr=subprocess.PIPE, text=True) for me in range(8)
    ]
    for writer in writers:
        _, said = writer.communicate(timeout=600)
        assert writer.returncode == 0, said
    with open_index(tmp_path) as records:
        assert records.count() == 320 and not records.damaged()
        assert {cell.case: cell.passes for cell in records.cells(gone=True)} == {f"w={me}": 40 for me in range(8)}
        kept = records.cells(gone=True)
        records.rebuild()
        assert records.cells(gone=True) == kept
    assert store.kept_text([tmp_path / ".repro/records"], store.sha256("7") + ".ptx") == "7"
    assert not list(tmp_path.rglob("*.tmp"))


def rounds(kind: str, folder: Path, count: int) -> list[dict]:
    """The state that rounds.py found after each round: goldens that somebody gave, and whole records."""
    argv = [sys.executable, str(CRASH.with_name("rounds.py")), kind, str(folder), str(count), "1"]
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    run = subprocess.run(argv, capture_output=True, text=True, timeout=900, env=environment)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]
    found = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(found) == count and not run.stderr, run.stderr[-4000:]
    for one in found:
        assert all(len(numbers) == 1 and numbers[0] in one["answers"] for numbers in one["goldens"]), one
        assert one["damaged"] <= (0 if kind == "at-once" else one["round"] + 1) and one["temporary"] == [], one
    return found


@pytest.mark.slow
@pytest.mark.parametrize("count", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_eight_processes_accept_at_once(tmp_path, count):
    for one in rounds("at-once", tmp_path, count):
        assert one["status"] == [0] * 9 and len(one["goldens"]) == 2 and one["unused"] == []
        assert one["records"] == 16 * (one["round"] + 1)


@pytest.mark.slow
@pytest.mark.parametrize("count", [11, pytest.param(101, marks=pytest.mark.slow)])
def test_a_process_that_is_killed_while_it_accepts(tmp_path, count):
    found = rounds("kill", tmp_path, count)
    assert {one["status"][0] for one in found[::10]} == {0}
    assert any(one["status"] == [-9] for one in found)
    for one in found[::10]:  # which were not killed
        assert one["goldens"] == [[one["round"]]] * 2 and one["unused"] == []
    assert all(len(one["goldens"]) == 2 for one in found)


def git(folder: Path, *argv: str) -> str:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    run = subprocess.run(["git", *argv], cwd=folder, env=os.environ | who, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_two_checkouts_merge(tmp_path, needs):
    needs("git", "git")
    one, two = tmp_path / "one", tmp_path / "two"
    (one / "repros").mkdir(parents=True)
    (one / "pyproject.toml").write_text("")
    (one / "repros/one.py").write_text("# /// script\n# dependencies = []\n# [tool.repro]\n# ///\n")
    git(one, "init", "-q", "-b", "main")
    git(one, "add", ".")
    git(one, "commit", "-qm", "first")
    git(tmp_path, "clone", "-q", str(one), "two")
    base = {"repro": "repros/one.py", "verdict": "pass", "hardware": True, "device": FACTS}
    for folder, host in ((one, "p1"), (two, "p2")):
        run = store.Run()
        for n in range(3):
            line = base | {"host": host, "date": f"2026-11-21T00:00:0{n}Z"}
            run.append(folder / "repros/records", line)
            store.keep_text(folder / "repros/records", store.sha256("same") + ".ptx", "same")
            store.keep_text(folder / "repros/records", store.sha256(host) + ".ptx", host)
        with open_index(folder) as records:
            assert records.count() == 3
        git(folder, "add", ".")
        git(folder, "commit", "-qm", host)
    assert ".repro" not in git(two, "ls-files")
    git(two, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    with open_index(two) as records:
        assert records.count() == 6 and {cell.host for cell in records.cells()} == {"p1", "p2"}
    names = sorted(path.name for path in (two / "repros/records/blobs").iterdir())
    assert names == sorted(f"{store.sha256(text)}.ptx" for text in ("same", "p1", "p2"))


STATUS = "from harness.cli import main; raise SystemExit(main())"
SMALL = "import numpy as np\ndef run(n):\n    return {'out': np.arange(2000, dtype=np.int32) * n}"


@pytest.mark.slow
def test_a_disk_that_is_really_full(tmp_path, repros, pytester):
    """A file system of 200 KB, in its own namespace: files written before it was full are whole."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode != 0:
        pytest.skip("no file system can be mounted here")
    folder = repros(one=(SMALL, f"params = {{ n = {list(range(1, 25))} }}"))
    script = f"""
        mount -t tmpfs -o size=200k tmpfs {tmp_path} && cp -r {folder} {tmp_path} && cd {tmp_path} \
&& touch pyproject.toml
        {sys.executable} -m pytest -q -p no:cacheprovider repros; echo "pytest: $?"
        {sys.executable} -c '{STATUS}' status; echo "status: $?"; rm -r .repro/pending
        {sys.executable} -c '{STATUS}' status; find . -name '*.tmp'; wc -l .repro/records/*.jsonl
    """
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, timeout=600)
    said = done.stdout
    assert "pytest: 1" in said and "status: 0" in said and ".tmp" not in said, said + done.stderr
    assert "gpu-repro: not written" in said and "No space left on device" in said, said
    counts = [int(n) for n in re.findall(r"(\d+) records?$", said, re.M)]
    lines = int(re.search(r"(\d+) \.repro/records/", said)[1])
    assert counts == [lines, lines] and 0 < lines < 24, said
