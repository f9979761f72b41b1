"""`pytest tests --gpu-host p1 --gpu-all`: ordinary tests run there, and each outcome is reported here as it was."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from harness import shipped_tests
from harness.run.result import DTYPES, Array, Outcome

TESTS = """
import os
import pytest

def test_passes_there(where):
    assert os.path.exists(os.path.join(os.getcwd(), "tests/conftest.py")) and os.getcwd() != HERE
    assert where == os.environ["SSH_CONNECTION"].split()[0]

def test_fails():
    print("printed there")
    assert 1 == 2

@pytest.mark.parametrize("n", ["a/b", "c d"])
def test_rows(n):
    assert n in ("a/b", "c d")

@pytest.mark.skip(reason="a reason")
def test_skips():
    raise AssertionError

@pytest.mark.xfail(reason="known")
def test_is_expected_to_fail():
    raise AssertionError

def test_breaks_before(broken):
    pass

def test_dies():
    os.abort()

class TestMethods:
    def test_method(self):
        pass
"""
CONFTEST = """
import os
import pytest

@pytest.fixture
def where():
    return os.environ["SSH_CONNECTION"].split()[0]

@pytest.fixture
def broken():
    raise RuntimeError("of a fixture")
"""


@pytest.fixture
def project(pytester, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\n")
    (pytester.path / "tests").mkdir()
    (pytester.path / "tests/test_one.py").write_text(TESTS.replace("HERE", repr(str(pytester.path))))
    (pytester.path / "tests/conftest.py").write_text(CONFTEST)
    return pytester


def test_outcomes_pass_through_a_real_host(project, sshd, monkeypatch):
    monkeypatch.setenv("GPU_REPRO_SSH_CONFIG", str(sshd.folder / "ssh_config"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project.path / "config"))
    settings = [f"p1.python={sys.executable}", f"p1.cache={sshd.folder}/cache", "p1.device=emulator"]
    options = [word for one in settings for word in ("--gpu-set", one)]
    result = project.runpytest_subprocess("tests", "--gpu-host", "p1", "--gpu-all", "-rA", *options)
    said = result.stdout.str()
    result.assert_outcomes(passed=4, failed=2, skipped=1, xfailed=1, errors=1)
    assert result.ret == 1 and "ran here" not in said
    for line in (
        "PASSED tests/test_one.py::test_rows[[]c d]",
        "FAILED tests/test_one.py::test_fails - assert 1 == 2, on p1 *",
        "ERROR tests/test_one.py::test_breaks_before - RuntimeError: of a fixture*",
        "FAILED tests/test_one.py::test_dies - the repro's process died of SIGABRT*",
        "SKIPPED [[]1[]] tests/test_one.py:*: a reason",
        "XFAIL tests/test_one.py::test_is_expected_to_fail - known",
        "*Captured stdout call*",
        "printed there",
    ):
        result.stdout.fnmatch_lines([line])
    assert "the repro's process died of SIGABRT" in said


def test_without_it_one_line_reports_that_they_ran_here(needs, project, monkeypatch):
    needs("ssh", "openssh-client")
    monkeypatch.setenv("SSH_CONNECTION", "x y")
    (project.path / "tests/test_one.py").write_text("def test_one(): pass\ndef test_two(): pass\n")
    monkeypatch.setenv("GPU_REPRO_SSH_CONFIG", str(project.path / "ssh_config"))
    (project.path / "ssh_config").write_text("Host p1\n  HostName 192.0.2.1\n")
    for options in ([], ["-q"]):
        result = project.runpytest_subprocess("tests", "--gpu-host", "p1", *options)
        line = "gpu-repro: 2 ordinary tests ran here, not on p1: --gpu-all runs them there"
        assert result.ret == 0 and result.stdout.str().count(line) == 1
    assert "ran here" not in project.runpytest_subprocess("tests").stdout.str()
    assert "ran here" not in project.runpytest_subprocess("tests", "--gpu-host", "embedded").stdout.str()


def test_it_needs_one_host(project):
    for hosts in (["--gpu-host", "embedded", "--gpu-host", "p1"],):
        result = project.runpytest_subprocess("tests", "--gpu-all", *hosts)
        assert result.ret == 4


ITEM = SimpleNamespace(nodeid="t.py::t", location=("t.py", 3, "t"), keywords={"t": 1}, path="t.py")
ROW = {"when": "call", "outcome": "passed", "text": "", "sections": [], "duration": 0.5}


def reported(rows: object) -> list:
    data = np.frombuffer(json.dumps(rows).encode(), np.uint8)
    outcome = Outcome("outputs", outputs={"reports": Array(DTYPES["uint8"], data)})
    return list(shipped_tests.reports(ITEM, outcome, "p1"))


@pytest.mark.parametrize("rows", [
    5, {}, [5], [{}], [ROW | {"when": "later"}], [ROW | {"outcome": 1}], [ROW | {"sections": [["a"]]}], [ROW] * 1001,
    [ROW | {"text": "x" * 200_000}], [ROW | {"duration": float("nan")}],
])  # fmt: skip
def test_an_invalid_report_is_an_error_of_one_sentence(rows):
    (report,) = reported(rows)
    said = report.longrepr.partition("\n")[2]
    assert (report.when, report.outcome) == ("setup", "failed") and "what came back is not a report of pytest" in said


def test_a_report_is_text_alone():
    (report,) = reported([ROW | {"outcome": "failed", "text": "a\x1b[2Jb", "nodeid": "../other", "item": 5}])
    assert (report.nodeid, report.longrepr) == ("t.py::t", "on p1\na\\x1b[2Jb")
    assert not hasattr(report, "item")
    (report,) = reported([])
    assert (report.when, report.outcome) == ("setup", "failed") and "pytest ran nothing there" in report.longrepr
    (report,) = shipped_tests.reports(ITEM, Outcome("infra", "no such host"), "p1")
    assert (report.when, report.longrepr) == ("setup", "no such host, on p1\nno such host")


def test_the_program_brings_the_file_its_conftests_and_its_needs(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    for folder in ("", "a/", "a/b/"):
        (tmp_path / f"{folder}conftest.py").write_text(f"# {folder}")
    test = tmp_path / "a/b/test_x.py"
    test.write_text(
        '# /// script\n# dependencies = ["scipy>=1"]\n# ///\nimport torch\ndef test_x(): """\'\'\' {x}"""\n'
    )
    item = SimpleNamespace(path=test, nodeid="a/b/test_x.py::test_x", config=SimpleNamespace(rootpath=tmp_path))
    (case,) = shipped_tests.cases([item], tmp_path).values()
    names: dict = {}
    exec(compile(case.repro.text, "x", "exec"), names)
    assert list(names["FILES"]) == ["conftest.py", "a/conftest.py", "a/b/conftest.py", "a/b/test_x.py"]
    assert names["FILES"]["a/b/test_x.py"] == test.read_text() and names["ITEMS"] == ["a/b/test_x.py::test_x"]
    assert {"pytest", "scipy>=1"} <= set(case.repro.needs) and "torch" in case.repro.warm
