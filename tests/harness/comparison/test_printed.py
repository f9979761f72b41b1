"""The output of a program, compared with a golden: texts, numbers, statuses, and the way through the commands."""

import json
import subprocess
import sys

import pytest

from harness.claim import printed_claim
from harness.claim.repro_file import read
from harness.claim.rule import Rule
from harness.cli import main
from harness.comparison import compare, printed
from harness.run.frames import TEXT_LIMIT_BYTES
from harness.run.result import Outcome

NUMBERS = Rule("numbers")
NEAR = Rule("numbers", 1e-3)


def difference(a: str, b: str, rule: Rule) -> str:
    found = compare.compare("stdout", printed.of(a), printed.of(b), rule, "the golden")
    return found.message if found else ""


@pytest.mark.parametrize(
    "a, b, rule, is_same",
    [
        ("a b\n", "a b\n", Rule("text"), True),
        ("a b\n", "a  b\n", Rule("text"), False),
        ("1.0 -2 nan", "1.00\n-2.0  NaN", NUMBERS, True),
        ("[ 1. 10.]", "[1.0 10]", NUMBERS, True),
        ("1.0", "1.0001", NUMBERS, False),
        ("1.0 x", "1.0001 x", NEAR, True),
        ("1.0 x", "1.01 x", NEAR, False),
        ("1.0 x", "1.0 y", NEAR, False),
        ("1.0 1.0", "1.0", NEAR, False),
        ("inf", "-inf", NEAR, False),
        ("inf", "1e30", NEAR, False),
        ("9007199254740993", "9007199254740992", NUMBERS, False),
        ("0.0", "-0.0", NUMBERS, True),
        ("0.0", "0.1", Rule("numbers", 0, "", 0.2), True),
        ("release 4.6.3 at 0x10", "release 4.6.4 at 0x10", Rule("numbers", 10), False),
        ("3-4", "3-5", NUMBERS, False),
    ],
)
def test_agreement(a, b, rule, is_same):
    assert (difference(a, b, rule) == "") == is_same


def test_numbers_that_differ_are_named_by_line():
    a = "".join(f"value {n}.0 of 20\n" for n in range(20))
    b = a.replace("value 3.0", "value 3.5")
    assert difference(a, b, NEAR) == (
        "`stdout` differs from the golden in 1 of 40 numbers (numbers rel:0.001)\n    line 4: expected 3.0, got 3.5"
    )
    assert difference(a, a.replace(".0", ".5"), NUMBERS).endswith("\n    ... and 4 more")


def test_lines_that_differ_are_shown_between_those_that_agree():
    a = "one\ntwo\nthree\nfour\n"
    assert difference(a, "one\n2\n3\nfour\n", Rule("text")) == (
        "`stdout` differs from the golden from line 2 on (text)\n      one\n    - two\n    - three\n    + 2\n    + 3"
    )
    assert difference(a, a + "five\n", Rule("text")).endswith("      four\n    + five")
    many = "".join(f"{n}\n" for n in range(50))
    assert difference("", many, Rule("text")).endswith("    + 11\n    + ... and 38 lines more")


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "repros").mkdir()
    return tmp_path


def write(project, body: str, *keys: str) -> None:
    block = "\n".join(f"# {key}" for key in keys)
    text = f'# /// script\n# [tool.repro]\n{block}\n# ///\n"""It prints so."""\n{body}\n'.replace("\n\n#", "\n#")
    (project / "repros/one.py").write_text(text)


def test_exit_status_and_output_decide_what_came_of_it(project):
    write(project, "print(1)", "exit = 3")
    repro = read(project / "repros/one.py")
    ended = Outcome("exited", detail={"exit": 1}, stderr="why\n")
    assert printed.outcome_of(repro, ended).text == (
        "the program ended with exit status 1; the claim states 3\nwhy\n"
        "fix: if that is what the claim states, write `exit = 1` in the file's [tool.repro]"
    )
    same = printed.outcome_of(repro, Outcome("exited", detail={"exit": 3}, stdout="a\r\n"))
    assert (same.kind, printed.text(same.outputs["stdout"])) == ("outputs", "a\n")
    found = printed.outcome_of(repro, Outcome("exited", "words", detail={"exit": 1, "found": "race"}))
    assert (found.kind, found.text) == ("race", "words")
    cut = "x" * TEXT_LIMIT_BYTES + "\n[... 9 bytes left out ...]\n"
    assert printed.outcome_of(repro, Outcome("exited", detail={"exit": 3}, stdout=cut)).text.startswith(
        "the program printed more than 256 KB"
    )
    write(project, "pass", "timeout = 9")
    silent = printed.outcome_of(read(project / "repros/one.py"), Outcome("exited", detail={"exit": 0}))
    assert silent.kind == "error" and silent.text.startswith("the program printed nothing")


def test_stderr_is_an_output_where_it_is_compared(project, capsys):
    body = "import sys\nprint('warned', file=sys.stderr)"
    write(project, body, 'compare = { stderr = "text" }')
    assert main(["run", "repros/one.py", "--update-goldens"]) == 0
    golden = json.loads((project / "repros/goldens/one/default.json").read_text())
    assert golden["outputs"]["stderr"]["lines"] == ["warned", ""]
    write(project, body.replace("warned", "failed"), 'compare = { stderr = "text" }')
    capsys.readouterr()
    assert main(["run", "repros/one.py"]) == 1
    assert "`stderr` differs from the golden" in capsys.readouterr().out
    ours = Outcome("exited", detail={"exit": 0}, stdout="1\n", stderr="repro: it was compiled\nfailed\n")
    assert printed.text(printed.outcome_of(read(project / "repros/one.py"), ours).outputs["stderr"]) == "failed\n"


def test_a_filter_that_does_not_end_is_refused(project, monkeypatch):
    monkeypatch.setattr(printed_claim, "FILTERS_S", 0.5)
    write(project, "print(1)", 'filters = [{ "b" = "c" }, { "(a+)+$" = "x" }]')
    ended = Outcome("exited", detail={"exit": 0}, stdout="a" * 60 + "é\n")
    told = printed.outcome_of(read(project / "repros/one.py"), ended)
    assert told.kind == "error" and told.text.startswith("the filter '(a+)+$' takes longer than")
    ended = Outcome("exited", detail={"exit": 0}, stdout="bé\n")
    assert printed.text(printed.outcome_of(read(project / "repros/one.py"), ended).outputs["stdout"]) == "cé\n"


def test_from_the_first_run_to_a_difference(project, capsys):
    body = "import os, sys\nprint('args', sys.argv[1:], 'job', os.getpid())\nprint('sum', 1.0)\nsys.exit(3)"
    keys = ('filters = [{ "job [0-9]+" = "job N" }]', "exit = 3", 'args = ["-n"]')
    write(project, body, *keys)
    assert main(["run", "repros/one.py"]) == 1
    assert (
        "there is no golden repros/goldens/one/default.json; this run gave\n"
        "    stdout: 2 lines of text\n        args ['-n'] job N\n        sum 1.0\n"
    ) in capsys.readouterr().out
    assert main(["golden", "accept", "one"]) == 0
    golden = json.loads((project / "repros/goldens/one/default.json").read_text())
    assert golden["outputs"]["stdout"]["lines"] == ["args ['-n'] job N", "sum 1.0", ""]
    assert main(["run", "repros/one.py"]) == 0
    capsys.readouterr()
    write(project, body.replace("1.0", "1.5"), *keys)
    assert main(["run", "repros/one.py"]) == 1
    shown = capsys.readouterr().out
    assert (
        "      args ['-n'] job N\n    - sum 1.0\n    + sum 1.5\n" in shown and "fail: differs from the golden" in shown
    )


def test_pytest_collects_it(project):
    write(project, "print('so')", "timeout = 30")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "repros"]
    first = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert "fail: no golden" in first.stdout
    again = subprocess.run([*command, "--update-goldens"], capture_output=True, text=True, timeout=600)
    assert again.returncode == 0 and "1 passed" in again.stdout


def test_a_capsule_refuses_it_by_name(project, capsys):
    write(project, "print('so')", "timeout = 30")
    assert main(["replay", "capsule", "repros/one.py", "-o", "x.capsule"]) == 2
    assert "repros/one.py: a capsule holds what kernels did, and this claims what the program prints" in (
        capsys.readouterr().err
    )
