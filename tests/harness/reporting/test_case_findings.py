"""Findings of compilers and devices, and those read from the texts of Python."""

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from harness.cli import main
from harness.reporting import case_findings
from harness.reporting.case_findings import Place
from harness.run import reply
from harness.run.result import Outcome

ROOT = Path(__file__).parents[3]
RACE = {
    "id": "RACE",
    "message": "writes smem+0x100, which another thread read at line 24: no barrier between",
    "fix": "put a barrier of the block (bar.sync) between line 21 and line 24",
    **{"file": "repros/one.py", "line": 21, "column": 5},
    "related": [
        {"text": "called here: put(s, t)", "file": "repros/one.py", "line": 40},
        {"text": "writes: thread (64, 0, 0): st.shared.b32", "file": "repros/one.py", "line": 21, "does": "writes"},
        {"text": "read: thread (0, 0, 0): ld.shared.b32", "file": "repros/one.py", "line": 24, "does": "read"},
        {"text": "read: thread (1, 0, 0): ld.shared.b32", "does": "read"},
    ],
}
REJECTED = {
    "id": "TYPE_UNSTABLE_JOIN", "message": "`acc` is Int32 before this loop and Float32 after it",
    "file": "repros/one.py", "line": 22, "column": 9,
    "related": [{"text": "it begins here", "file": "repros/one.py", "line": 20, "column": 5}],
}  # fmt: skip
ERROR = """\
Traceback (most recent call last):
  File "{folder}/repros/one.py", line 9, in run
    return halve(3)
  File "/usr/lib/helper.py", line 2, in halve
    raise ValueError("no")
ValueError: no
"""


@pytest.fixture
def found(write, tmp_path, monkeypatch):
    """The findings of an outcome of repros/one.py."""
    monkeypatch.chdir(tmp_path)
    repro = write("def run(): ...")
    return lambda *args, **more: case_findings.of(Outcome(*args, **more), repro, tmp_path)


def told(finding):
    """The detail of an outcome that has this finding."""
    return {"finding": asdict(reply.read(reply.Finding, finding))}


def test_a_race_has_its_other_access_and_its_call(found):
    (one,) = found("race", "the text for people", detail=told(RACE))
    assert (one.id, one.level, one.place) == ("RACE", "error", Place("repros/one.py", 21, 5))
    assert one.message == "writes smem+0x100, which another thread read at line 24: no barrier between"
    assert one.fix == "put a barrier of the block (bar.sync) between line 21 and line 24"
    assert one.related == (
        Place("repros/one.py", 40, None, "called here: put(s, t)"),
        Place("repros/one.py", 24, None, "read: thread (0, 0, 0): ld.shared.b32"),
    )


def test_a_rejection_has_the_place_that_it_refers_to(found):
    (one,) = found("rejected", detail=told(REJECTED))
    assert (one.id, one.message) == ("TYPE_UNSTABLE_JOIN", "`acc` is Int32 before this loop and Float32 after it")
    assert one.related == (Place("repros/one.py", 20, 5, "it begins here"),)


def test_a_report_without_a_place(found):
    (one,) = found("race", detail=told({"id": "RACE", "message": "reads smem+0x0, which a copy still writes"}))
    assert one.place is None and one.message == "reads smem+0x0, which a copy still writes"


def test_a_kernel_that_was_stopped_is_at_its_line(found):
    text = (
        'the repro did not end\nit was here:\nrepros/one.py:9:11: STOPPED\n    x\n  File "repros/one.py", line 4 in run'
    )
    (one,) = found("timeout", text)
    assert (one.id, one.place) == ("TIMEOUT", Place("repros/one.py", 9, 11))


def test_an_exception_is_at_the_line_of_the_repro(found, tmp_path):
    (one,) = found("error", ERROR.format(folder=tmp_path))
    assert (one.id, one.message, one.place) == ("EXCEPTION", "ValueError: no", Place("repros/one.py", 9))


def test_the_place_on_a_host_is_the_file_here(found):
    (one,) = found("error", ERROR.format(folder="/cache/run-7"))
    assert one.place == Place("repros/one.py", 9)


def test_a_script_that_exits_by_itself_has_no_finding(found, tmp_path):
    assert found("exited", stderr="ERROR: no input\n", detail={"exit": 1}) == []
    (one,) = found("exited", stderr=ERROR.format(folder=tmp_path), detail={"exit": 1})
    assert one.message == "ValueError: no"


def test_a_process_that_was_stopped(found):
    (one,) = found("timeout", 'the repro did not end within 2 s\nit was here:\n  File "repros/one.py", line 4 in run')
    assert (one.id, one.message, one.place) == (
        "TIMEOUT",
        "the repro did not end within 2 s",
        Place("repros/one.py", 4),
    )
    (one,) = found("crash", "the repro's process died of SIGSEGV", detail={"signal": "SIGSEGV"})
    assert (one.id, one.place) == ("CRASH", Place("repros/one.py", 1))


def test_a_rejection_by_another_compiler(found):
    (one,) = found("rejected", "error: bad type\n", detail={"class": "DSLRuntimeError", "line": 7})
    assert (one.id, one.message, one.place) == ("REJECTED", "error: bad type", Place("repros/one.py", 7))


@pytest.mark.parametrize(
    "line, name, level",
    [
        ("repros/one.py:23: PortabilityWarning: `assert` tests it", "PortabilityWarning", "warning"),
        ("repros/one.py:23: SameValueRace: RACE_SAME_VALUE: two threads", "RACE_SAME_VALUE", "warning"),
        ("repros/one.py:23: KernelNote: BULK_STORE_NOT_AWAITED: a thread", "BULK_STORE_NOT_AWAITED", "note"),
    ],
)
def test_warnings_and_notes(found, line, name, level):
    (one,) = found("outputs", stderr=f"{line}\n  source\n{line}\n")
    assert (one.id, one.level, one.place) == (name, level, Place("repros/one.py", 23))
    assert found("outputs", stderr="x.py:1: UserWarning: other\n") == []


TWO_BARRIERS = """
import cutlass, torch
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack
@cute.kernel
def kernel(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    words = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(64))
    words[t] = t
    cute.arch.sync_threads()
    cute.arch.sync_threads()
    x[t] = words[63 - t]
@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=(1, 1, 1), block=(64, 1, 1))
def run():
    x = torch.zeros(64, dtype=torch.int32, device="cuda")
    host(from_dlpack(x))
    return {"x": x}
"""
NOT_NEEDED = (
    "`bar.sync` is not needed in this run (1 block of 64 threads): what it separates is ordered by the `bar.sync` of line "
    "14 too, or touches other memory (left out: 3 orders, complete, no finding, the same memory)"
)


@pytest.fixture
def two_barriers(write, tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    return write(TWO_BARRIERS)


def test_notes_about_synchronisation_fail_nothing(two_barriers, tmp_path, capsys):
    assert main(["run", "repros/one.py", "--update-goldens"]) == 0
    assert "not needed" not in capsys.readouterr().out
    assert main(["run", "repros/one.py", "--notes", "--json", "--sarif", "found.sarif"]) == 0
    (case,) = json.loads(capsys.readouterr().out)["result"]["cases"]
    (one,) = case["findings"]
    assert (case["verdict"], one["id"], one["level"]) == ("pass", "REDUNDANT_SYNC", "note")
    assert (one["message"], one["place"]["line"]) == (NOT_NEEDED, 13)
    (result,) = json.loads((tmp_path / "found.sarif").read_text())["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("REDUNDANT_SYNC", "note")


def test_a_note_reads_as_in_the_documentation(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/checkers.md").read_text()
    name, program = re.search(r"# file: (repros/neighbours_with_a_barrier\.py)\n(.*?)```", page, re.DOTALL).groups()
    barrier = "    cute.arch.sync_threads()\n"
    path = tmp_path / name
    path.parent.mkdir()
    path.write_text(program.replace(barrier, 2 * barrier))
    (tmp_path / "pyproject.toml").write_text("")
    assert main(["run", name, "--notes", "--update-goldens"]) == 0
    shown = re.search(r"```text\n(repros/\S+: KernelNote: .*)\n```", page)[1]
    assert shown in capsys.readouterr().out.replace(f"{tmp_path}/", "")


def test_pytest_shows_notes_after_the_run(two_barriers, pytester):
    result = pytester.runpytest_inprocess(str(two_barriers.path), "--gpu-notes", "--update-goldens", "-n0")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"*one.py:13: {NOT_NEEDED}".replace("[", "[[]")])
