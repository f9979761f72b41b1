"""A cell stands for what a repro declares now: what is left of other runs is shown as gone, never as a claim."""

import hashlib
import os

import pytest

from harness import cli, store
from harness.records.index.index import open_index
from harness.records.index.sources import golden_folder
from tests.harness.by_a_gpu import FACTS

REPRO = '# /// script\n# [tool.repro]\n# params = {{ width = {} }}\n# ///\n"""It is so."""\ndef run(width): ...\n'


@pytest.fixture
def project(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "repros").mkdir()
    return Project(tmp_path, capsys)


class Project:
    """A project with repros of one parameter, lines of its record, and the output of `repro` about them."""

    def __init__(self, root, capsys):
        self.root, self.capsys, self.count = root, capsys, 0

    def write(self, name="one", values="[8, 16]"):
        self.path = self.root / f"repros/{name}.py"
        self.path.write_text(REPRO.format(values))

    def put(self, case, verdict="fail", arch="sm_90a", name="one", **more):
        self.count += 1
        sha256 = hashlib.sha256(self.path.read_bytes()).hexdigest()
        line = {"repro": f"repros/{name}.py", "case": case, "verdict": verdict, "outcome": "outputs", "title": "It is so.",
                "key": {"repro_sha256": sha256}, "device": (FACTS if more.get("hardware") else {"kind": "emulator"}) | {"arch": arch} if arch else {}, "host": "embedded",
                "reason": "" if verdict == "pass" else "could not be run" if verdict == "infra" else "it differs",
                "date": f"2026-11-20T00:00:{self.count:02}Z"} | more  # fmt: skip
        store.Run().append(store.folder(self.path, bool(more.get("hardware")), self.root), line)

    def states(self):
        """Case, arch -> state and reason, of all cells; an index made again has the same."""
        with open_index(self.root) as records:
            cells = records.cells(gone=True)
            assert records.cells() == [cell for cell in cells if cell.state != "gone"]
            records.rebuild()
            assert records.cells(gone=True) == cells
        return {(cell.case, cell.arch): (cell.state, cell.reason) for cell in cells}

    def said(self, *argv):
        status = cli.main(argv)
        return status, self.capsys.readouterr().out


GONE = "no repro claims these any more, so they are not verdicts (`repro record forget --gone` puts them aside)"


def test_a_value_that_was_tried_once_or_removed_is_not_a_failing_claim(project):
    project.write(values="[8, 32]")
    project.put("width=8", "pass")
    project.put("width=32")
    project.put("width=9")
    assert project.states()["width=32", "sm_90"] == ("failing", "it differs")
    project.write(values="[8]")
    states = project.states()
    assert states["width=32", "sm_90"] == states["width=9", "sm_90"] == ("gone", "not declared in params")
    status, text = project.said("record", "status")
    assert status == 0 and "1 claim in 1 cell (case x arch x compiler x host): 1 stale\n" in text
    assert text.split(GONE)[1].splitlines()[1:4] == [
        "    claim          arch   compiler  host      why",
        "    one::width=32  sm_90  ours      embedded  not declared in params",
        "    one::width=9   sm_90  ours      embedded  not declared in params",
    ]
    project.write(values="[8, 9]")
    assert project.states()["width=9", "sm_90"] == ("failing", "it differs")  # and again when it is declared


def test_a_run_that_did_not_begin_knows_no_arch(project):
    project.write()
    project.put("width=8", "infra", arch=None)
    assert project.states() == {("width=8", "any"): ("unknown", "never judged: could not be run")}
    project.put("width=8", "pass")
    assert project.states() == {
        ("width=8", "any"): ("gone", "could not be run, so its arch was not known"),
        ("width=8", "sm_90"): ("predicted", "no hardware has run it"),
    }


def test_an_earlier_text_without_kernels_is_not_a_claim(project):
    project.write()
    project.put("width=8", arch=None)
    project.path.write_text(project.path.read_text() + "# with kernels\n")
    project.put("width=8", "pass")
    assert project.states()["width=8", "any"] == ("gone", "an earlier text of the repro; now it runs on sm_90")
    project.put("width=8", arch=None)  # the same text, both ways: nobody can tell which one the claim means
    assert project.states()["width=8", "any"][0] == "failing"


def test_a_renamed_file_is_named(project):
    project.write()
    project.put("width=8")
    project.path.rename(project.path.with_name("other.py"))
    assert project.states()["width=8", "sm_90"] == ("gone", "the repro is gone")
    status, text = project.said("record", "status", "one")
    assert status == 0 and text.splitlines()[0] == "0 claims in 0 cells (case x arch x compiler x host)"
    assert "one::width=8  sm_90  ours      embedded  the repro is gone; repros/other.py has the same text\n" in text


def test_forget_appends_a_line_and_what_comes_later_counts(project):
    project.write(values="[8]")
    project.put("width=8")
    project.put("width=9", hardware=True, host="p1")
    files = {path: path.read_bytes() for path in project.root.rglob("*.jsonl")}
    assert project.said("record", "forget", "--gone") == (
        0,
        "forgot one::width=9 on sm_90 ours p1: not declared in params\n",
    )
    assert {path: path.read_bytes() for path in files} == files  # nothing is deleted, and nothing changed
    assert len(list((project.root / "repros/records").glob("*.jsonl"))) == 2  # hardware's is for git, too
    assert project.states()["width=9", "sm_90"][0] == "gone" and GONE not in project.said("record", "status")[1]
    assert project.said("record", "forget", "--gone") == (0, "there is nothing to forget\n")
    assert project.said("record", "forget", "one::width=8", "--host", "p1") == (0, "there is nothing to forget\n")
    assert project.said("record", "forget", "one::width=8") == (
        0,
        "forgot one::width=8 on sm_90 ours embedded: it differs\n",
    )
    assert project.said("record", "status")[0] == 0
    history = project.said("record", "history", "one::width=8")[1]
    assert "gone: forgotten on " in history and "forgotten  width=8" in history and "fail       width=8" in history
    project.put("width=8", date=store.moment())
    assert project.states()["width=8", "sm_90"] == ("failing", "it differs")
    assert project.said("record", "forget")[0] == 2


def test_forget_where_the_folder_is_gone_too(project):
    project.write()
    project.put("width=8", name="deep/lost", hardware=True)
    assert project.said("record", "forget", "--gone")[0] == 0
    assert project.states() == {("width=8", "sm_90"): ("gone", f"forgotten on {store.now()[:10]}")}


def test_only_changed_files_are_read_again(project, monkeypatch):
    from harness.records.index import sources

    project.write()
    project.put("width=8", "pass")
    project.states()
    monkeypatch.setattr(sources, "_repro", lambda path: pytest.fail("it was read again"))
    with open_index(project.root) as records:
        assert records.cells()[0].state == "predicted"
    monkeypatch.undo()
    os.utime(project.path, (1, 1))
    project.path.write_text(REPRO.format("[8"))  # what its cases are is not known
    assert project.states()["width=8", "sm_90"][0] == "stale"


def test_a_file_that_is_no_longer_a_repro(project):
    project.write()
    project.put("width=8")
    project.path.write_text('"""It is so."""\ndef run(width): ...\n')
    gone = "the file has no [tool.repro] block any more"
    assert project.states() == {("width=8", "sm_90"): ("gone", gone)}
    assert project.said("record", "status")[0] == 0
    assert project.said("record", "forget", "--gone") == (0, f"forgot one::width=8 on sm_90 ours embedded: {gone}\n")


def test_a_program_that_never_was_a_repro_is_judged_as_it_ran(project):
    project.path = project.root / "repros/one.py"
    project.path.write_text("def run(): ...\n")
    project.put("")
    assert project.states() == {("", "sm_90"): ("failing", "it differs")}
    project.path.write_text("def run(): pass\n")
    assert project.states()["", "sm_90"][0] == "gone"


def test_folders_of_goldens():
    assert golden_folder("repros/a/one.py") == "repros/a/goldens/one" and golden_folder("one.py") == "goldens/one"
