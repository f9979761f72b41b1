"""What `repro run` and pytest write for GitHub and as SARIF, and when."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import main
from harness.reporting import publish
from tests.harness.documents import result_of
from tests.harness.reporting.findings_of_a_run import case, finding
from tests.harness.reporting.test_sarif import valid

RAISES = "def run():\n    return {'out': 1 // 0}"
PASSES = """
import numpy as np
def run(): return {"out": np.arange(4)}
def expected(): return {"out": np.arange(4)}
"""
TABLES = [case(finding())]


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    for name in ("CI", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "GITHUB_SHA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


@pytest.fixture
def github(project, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project / "summary.md"))
    return project / "summary.md"


def test_nothing_is_written_elsewhere(project):
    assert publish.publish(TABLES, project, None) == ([], [])
    assert {path.name for path in project.iterdir()} == {"pyproject.toml"}


def test_a_file_that_cannot_be_written_is_an_error(project, github):
    github.mkdir()
    (project / "file").write_text("")
    lines, errors = publish.publish(TABLES, project, project / "file" / "x.sarif")
    assert len(lines) == 1 and [error.split(" could not")[0] for error in errors] == [
        f"the SARIF file {project}/file/x.sarif", "the summary for GitHub"]  # fmt: skip


def test_a_run_annotates_the_line_of_the_exception(write, github, capsys):
    write(RAISES)
    assert main(["run", "repros/one.py", "--sarif", "x.sarif"]) == 1
    annotation = (
        "::error file=repros/one.py,line=6,title=EXCEPTION::ZeroDivisionError: integer division or modulo by zero%0A"
    )
    assert annotation in capsys.readouterr().out
    assert "| repros/one.py:6: EXCEPTION: ZeroDivisionError" in github.read_text()
    (result,) = valid(json.loads(open("x.sarif").read()))["results"]
    assert result["ruleId"] == "EXCEPTION"


def test_without_github_a_run_prints_no_annotation(write, project, capsys):
    write(RAISES)
    assert main(["run", "repros/one.py"]) == 1
    assert "::error" not in capsys.readouterr().out


def test_with_json_annotations_go_to_standard_error(write, github, capsys):
    write(RAISES)
    assert main(["run", "repros/one.py", "--json"]) == 1
    printed = capsys.readouterr()
    assert result_of(printed.out, 1)["cases"][0]["findings"][0]["id"] == "EXCEPTION"
    assert printed.err.count("\n::error file=repros/one.py,line=6,") == 1


def test_a_script_is_published_too(project, github):
    (project / "script.py").write_text("print(1)\nraise ValueError('no')\n")
    command = [sys.executable, "-c", "from harness.cli import main; raise SystemExit(main())", "run", "script.py"]
    done = subprocess.run([*command, "--sarif", "x.sarif"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 1
    assert "::error file=script.py,line=2,title=EXCEPTION::ValueError: no%0A" in done.stdout
    assert "| ❌ | script.py<br>script | embedded | exit status 1 |" in github.read_text()


@pytest.mark.parametrize("options", [[], ["-n1"]])
def test_pytest(repros, pytester, monkeypatch, options):
    repros(fails=RAISES, passes=PASSES)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path / "summary.md"))
    result = pytester.runpytest("repros", "--gpu-sarif", "out/x.sarif", *options)
    result.assert_outcomes(passed=1, failed=1)
    lines = [line for line in result.outlines if line.startswith("::")]
    assert len(lines) == 1 and lines[0].startswith("::error file=repros/fails.py,line=6,title=EXCEPTION::")
    assert (pytester.path / "summary.md").read_text().startswith("### gpu-repro: 2 cases, 1 failed, 1 passed\n")
    assert len(valid(json.loads((pytester.path / "out/x.sarif").read_text()))["results"]) == 1


def test_pytest_without_github(repros, pytester):
    repros(fails=RAISES)
    result = pytester.runpytest("repros")
    assert not [line for line in result.outlines if line.startswith("::")]


def test_the_example_of_the_page(project, github, capsys):
    page = (Path(__file__).parents[3] / "docs/github.md").read_text()
    name, program = re.search(r"```python\n# file: (\S+)\n(.*?)```", page, re.DOTALL).groups()
    (project / name).parent.mkdir()
    (project / name).write_text(program)
    annotation, summary = (text.strip() for text in re.findall(r"```text\n(.*?)```", page, re.DOTALL))
    assert main(["run", name, "--sarif", "findings.sarif"]) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::")]
    assert line.startswith(f"{annotation}%0A") and "%0Afix: put a barrier of the block" in line
    assert github.read_text().strip() == summary
