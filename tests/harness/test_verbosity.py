"""-q and -v: every command has both, and each prints what it should next to the same answer."""

import json
import re
import subprocess
import sys

import pytest

from harness import verbosity
from harness.cli import main
from harness.terminal import say
from tests.harness.cli.test_document import WITHOUT, commands

REPRO = '''\
# /// script
# [tool.repro]
# params = { width = [4, 8] }
# ///
"""Indices count up."""
import numpy as np


def run(width):
    return {"out": np.arange(width)}


def expected(width):
    return {"out": np.arange(width)}
'''


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name in ("CI", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "repros").mkdir()
    (tmp_path / "repros/count.py").write_text(REPRO)
    return tmp_path


def both(capsys, *argv: str, status: int = 0) -> tuple[str, str]:
    assert main(argv) == status
    found = capsys.readouterr()
    return found.out, found.err


def test_every_command_has_both():
    for name, parser in commands().items():
        has = {"-q", "--quiet", "-v", "--verbose"} <= parser._option_string_actions.keys()
        assert has == (name not in WITHOUT), name


def test_a_level_holds_inside_alone(capsys):
    def spoken() -> tuple[str, str]:
        say("an answer")
        verbosity.note("a note")
        verbosity.note("a file", sys.stdout)
        verbosity.detail("a detail")
        found = capsys.readouterr()
        return found.out, found.err

    usual = ("an answer\na file\n", "a note\n")
    assert spoken() == usual
    with verbosity.at(verbosity.QUIET):
        assert spoken() == ("an answer\n", "")
        with verbosity.at(verbosity.VERBOSE):
            assert spoken() == ("an answer\na file\n", "a note\na detail\n")
        assert re.fullmatch(r"this took .* s\n", capsys.readouterr().err)
        assert spoken() == ("an answer\n", "")
    assert spoken() == usual


def test_verbose_tells_the_commands_that_ran(capsys):
    word = "x" * 600
    with verbosity.at(verbosity.VERBOSE):
        subprocess.run(["true", "a b\x1b[1m"], check=True)
        subprocess.run(["true", word], check=True)
        subprocess.run("true", shell=True, check=True)
    subprocess.run(["true", "afterwards"], check=True)
    first, second, third, took = capsys.readouterr().err.splitlines()
    assert first == r"run: true 'a b\x1b[1m'"
    assert second == f"run: true {word}"[: len("run: ") + verbosity.SHOWN_COMMAND] + " ..."
    assert third.endswith("sh -c true")
    assert re.fullmatch(r"this took \d+\.\d\d s", took)


def test_a_run(project, capsys):
    usual, _ = both(capsys, "run", "repros/count.py")
    assert usual.count("\n") > 10 and "claim: " in usual
    quiet = both(capsys, "run", "repros/count.py", "-q")
    assert quiet == (
        "pass: repros/count.py::width=4: agrees with expected(), not accepted yet\n"
        "pass: repros/count.py::width=8: agrees with expected(), not accepted yet\n",
        "",
    )
    out, told = both(capsys, "run", "repros/count.py", "-p", "width=4", "-v")
    assert usual.startswith(out.rpartition("repros/count.py agrees")[0])
    assert "repros/count.py::width=4 ran on embedded (emulator)\n" in told
    assert f"    environment: the one of this command, {sys.prefix}\n" in told
    assert re.search(r"^    packages:    .*python 3\.", told, re.MULTILINE)
    assert re.search(r"^    durations:   load .* s, call .* s", told, re.MULTILINE)
    assert re.search(r"^run: .* -m harness\.run\.supervisor$", told, re.MULTILINE)


def test_with_json_the_document_stays_alone(project, capsys):
    usual, _ = both(capsys, "run", "repros/count.py", "-p", "width=4", "--json")
    out, told = both(capsys, "run", "repros/count.py", "-p", "width=4", "--json", "-v")
    assert "this took" in told and out.startswith("{") and out.endswith("}\n")
    assert json.loads(out).keys() == json.loads(usual).keys()


def test_quiet_errors_are_printed(project, capsys):
    (project / "repros/count.py").write_text(REPRO.replace('"out": np', '"out": no'))
    out, _ = both(capsys, "run", "repros/count.py", "-q", status=1)
    assert out.splitlines()[0].startswith("fail: repros/count.py::width=4: error: ") and out.count("\n") == 2
    with pytest.raises(SystemExit) as wrong:
        main(["run", "repros/count.py", "-q", "-v"])
    assert wrong.value.code == 2
    assert "argument -v/--verbose: not allowed with argument -q/--quiet" in capsys.readouterr().err


def test_quiet_actions_print_nothing(project, capsys):
    assert both(capsys, "new", "one", "--numpy", "-q")[0].startswith("pass: repros/one.py")
    both(capsys, "run", "repros/count.py", "-q")
    assert both(capsys, "golden", "accept", "--all", "-q") == ("", "")
    assert both(capsys, "record", "report", "-q", "--no-sass")[0] == ""
    assert (project / "report.html").exists()


def test_pytest_verbose_shows_where_a_failed_case_ran(project):
    (project / "repros/count.py").write_text(REPRO.replace("np.arange(width)}", "np.zeros(width, int)}", 1))
    run = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "repros", "-k", "width=4"]
    usual = subprocess.run(run, capture_output=True, text=True, timeout=600).stdout
    verbose = subprocess.run([*run, "-v"], capture_output=True, text=True, timeout=600).stdout
    assert "1 failed" in usual and "environment:" not in usual
    assert "1 failed" in verbose and f"    environment: the one of this command, {sys.prefix}\n" in verbose
