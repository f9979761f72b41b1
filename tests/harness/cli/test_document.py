"""The option --json: every command, every end of a command, and the page that describes the fields."""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import document, main, main_command
from harness.errors import NoDevice
from tests.harness import documents
from tests.harness.documents import document_of, result_of

pytestmark = pytest.mark.usefixtures("project")

PAGE = (Path(__file__).parents[3] / "docs/json.md").read_text()
WITHOUT = {"completion": "it prints a script for a shell"}  # command -> why it has no --json
DOUBLE = """
import numpy as np
def run(width):
    print("from the repro")
    return {"out": np.arange(width, dtype=np.float32) * 2}
def expected(width):
    return {"out": np.arange(width, dtype=np.float32) * FACTOR}
"""
WIDTHS = "params = { width = [8, 16] }"


@pytest.fixture
def said(capsys):
    """Runs a command with --json; its document."""

    def said(*argv: str, status: int | None = None):
        got = main([*argv, "--json"])
        return document_of(capsys.readouterr().out, got if status is None else status)

    return said


def commands() -> dict[str, argparse.ArgumentParser]:
    """Every command of `repro`, also in groups."""
    found, left = {}, [("", main_command._parser())]
    while left:
        name, parser = left.pop()
        groups = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
        if not groups:
            found[name.strip()] = parser
        left += [(f"{name} {sub}", one) for group in groups for sub, one in group.choices.items()]
    return found


def test_every_command_has_the_option_or_a_reason():
    with_option = {name for name, parser in commands().items() if "--json" in parser._option_string_actions}
    assert commands().keys() - with_option == WITHOUT.keys()
    has = {name.split()[-1] for name in with_option}
    described = {name.removesuffix("_result") for name in document.schema()["$defs"] if name.endswith("_result")}
    assert described == has
    assert {name for name in document.schema()["properties"]["command"]["enum"] if name} == has


def test_a_run(write, said):
    write(DOUBLE.replace("FACTOR", "2"), WIDTHS)
    one = said("run", "repros/one.py", status=0)
    assert (one["command"], one["exit_status"], one["error"]) == ("run", 0, None)
    cases = one["result"]["cases"]
    assert [(case["name"], case["verdict"], case["waits"]) for case in cases] == [
        ("repros/one.py::width=8", "pass", True), ("repros/one.py::width=16", "pass", True)]  # fmt: skip
    assert cases[0]["stdout"] == "from the repro\n" and cases[0]["findings"] == []
    assert cases[0]["outputs"] == {"out": "float32 (8) 0.0 2.0 4.0 6.0 8.0 10.0 12.0 14.0"}
    assert one["result"]["advice"] == [
        "repros/one.py agrees with expected(), not accepted yet: `repro golden accept repros/one.py`"
    ]


def test_a_run_that_fails(write, said):
    write(DOUBLE.replace("FACTOR", "3"), WIDTHS)
    (case,) = said("run", "repros/one.py", "-p", "width=8", status=1)["result"]["cases"]
    assert case["verdict"] == "fail" and case["reason"] == "differs from expected()"
    (difference,) = case["differences"]
    assert difference["count"] == 7 and difference["first"][0] == [[1], "", "0x40400000 3.0", "0x40000000 2.0"]
    (finding,) = case["findings"]
    assert (finding["id"], finding["place"]["file"], finding["place"]["line"]) == ("CLAIM_FAILS", "repros/one.py", 5)
    assert case["again"] == "uv run repro run repros/one.py -p width=8"


def test_a_script(project, said):
    text = "import os, sys\nos.write(1, b'out')\nprint('err', file=sys.stderr)\nsys.exit(3)\n"
    (project / "script.py").write_text(text)
    done = run_alone("run", "script.py", "--json")
    (run,) = result_of(done.stdout, done.returncode)["scripts"]
    assert (done.returncode, run["exit"], run["stdout"], run["ended_with"]) == (3, 3, "out", 3)
    assert done.stderr == "outerr\n"
    (again,) = said("record", "history", "script.py", status=0)["result"]["runs"]
    assert again["id"] == run["id"] and again["output"] == "out\n--- stderr\nerr\n"


def run_alone(*argv: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from harness.cli import main; raise SystemExit(main())", *argv]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)


def test_nothing_but_the_document_is_on_standard_output(project):
    """Also what a child of the command prints to the file descriptor."""
    (project / "program.py").write_text("print('the program', flush=True)\n")
    done = run_alone("capture", "-o", "x.py", "--json", "--", sys.executable, "program.py")
    result = result_of(done.stdout, done.returncode)
    assert result["written"] is None and result["calls_seen"] == 0
    assert done.stderr.startswith("the program\n")


def test_goldens(write, said):
    write(DOUBLE.replace("FACTOR", "2"), WIDTHS)
    said("run", "repros/one.py")
    waiting = said("golden", "review", status=1)["result"]["waiting"]
    assert [(one["name"], one["is_new"], one["stale"]) for one in waiting] == [
        ("repros/one.py::width=16", True, None), ("repros/one.py::width=8", True, None)]  # fmt: skip
    assert said("golden", "accept", "one::width=8", status=0)["result"] == {
        "accepted": ["repros/goldens/one/width=8.json"], "refused": [], "replayed": None}  # fmt: skip
    assert said("golden", "reject", "--all", status=0)["result"] == {"rejected": ["repros/one.py::width=16"]}
    write(DOUBLE.replace("FACTOR", "2"), "params = { width = [16] }")
    assert said("golden", "unused", status=1)["result"] == {
        "unused": ["repros/goldens/one/width=8.json"],
        "deleted": False,
    }


def test_the_record(write, said):
    write(DOUBLE.replace("FACTOR", "2"), WIDTHS)
    said("run", "repros/one.py", "--update-goldens")
    status = said("record", "status", status=0)["result"]
    assert (status["claims"], status["cells"], status["states"]) == (1, 2, {"predicted": 2})
    records = said("record", "history", "one")["result"]["records"]
    assert [one["verdict"] for one in records] == ["pass", "pass"]
    assert said("record", "diff", records[0]["id"], records[1]["id"])["result"]["unrelated"].startswith(
        "A is a record of width=16"
    )
    assert said("record", "regressions", status=0)["result"] == {"regressions": []}
    assert said("record", "matrix")["result"]["rows"][0]["cells"] == ["predicted"]
    compared = said("record", "compare", "ours", "nvidia==0.0.1", "--no-run")["result"]
    assert [one["case"] for one in compared["missing"]] == ["width=8", "width=16"] and compared["not_run"] == []
    assert said("record", "report", "--no-sass")["result"]["columns"] == 1
    assert [one["case"] for one in said("record", "forget", "one::width=8")["result"]["forgotten"]] == ["width=8"]


@pytest.mark.slow
def test_a_new_repro_and_files_for_elsewhere(said, project):
    one = said("new", "question", status=0)["result"]
    assert one["written"] == "repros/question.py" and {case["verdict"] for case in one["cases"]} == {"pass"}
    capsule = said("replay", "capsule", "repros", "-o", "all.capsule", status=0)["result"]
    assert capsule["written"] == "all.capsule" and capsule["bytes"] == (project / "all.capsule").stat().st_size
    (project / "script.py").write_text('"""It is so."""\nimport numpy as np\nx = np.arange(4)\nprint(x)\n')
    adopted = said("adopt", "script.py", "-o", "repros/adopted.py", status=0)["result"]
    assert adopted["written"] == "repros/adopted.py" and list(adopted["outputs"]) == ["x"]
    assert said("doctor", "embedded", status=0)["result"]["hosts"][0]["ready"] is True
    assert said("hosts", status=0)["result"] == {"pools": {}, "hosts": []}


@pytest.mark.slow
def test_reduce(project, said):
    (project / "raises.py").write_text("a = [1, 2]\nprint(a)\nb = 0\nprint(1 // b)\n")
    one = said("reduce", "raises.py", status=0)["result"]
    assert one["written"] == "raises_reduced.py" and one["lines_before"] == 4 and one["finished"]


@pytest.mark.slow
def test_validate(said, project):
    (project / "repros").mkdir()
    one = said("replay", "validate", "repros", "-o", "v.pyz", "-k", "vote", status=0)["result"]
    assert one["written"] == "v.pyz" and one["forms"] > 0


ERRORS = {
    ("run", "none.py"): (2, "run", "system", "none.py: No such file or directory"),
    ("run", "--what"): (2, "run", "usage", "repro run: error: unrecognized arguments: --what; did you mean `--watch`?"),
    ("run",): (2, "run", "usage", "repro run: error: the following arguments are required: FILE"),
    ("frobnicate",): (2, None, "usage", "argument COMMAND: invalid choice: 'frobnicate'"),
    ("history",): (2, "history", "usage", "repro record history: name a claim or a script"),
    ("doctor", "p9"): (2, "doctor", "usage", "unknown host 'p9'"),
}


@pytest.mark.parametrize("argv", ERRORS)
def test_errors(needs, capsys, argv):
    needs("ssh", "openssh-client")
    status, command, kind, text = ERRORS[argv]
    assert main([*argv, "--json"]) == status
    printed = capsys.readouterr()
    one = document_of(printed.out, status)
    assert (one["command"], one["error"]["kind"], one["result"]) == (command, kind, None)
    assert text in one["error"]["message"] and text in printed.err


def test_a_host_without_a_device(monkeypatch, said):
    def fail(arguments):
        raise NoDevice("there is no device")

    assert _ended(fail, monkeypatch, said, 3) == {"kind": "not_run", "message": "there is no device"}


def test_ctrl_c(monkeypatch, said):
    def fail(arguments):
        os.kill(os.getpid(), signal.SIGINT)

    assert _ended(fail, monkeypatch, said, 130)["kind"] == "interrupted"


def _ended(run, monkeypatch, said, status):
    monkeypatch.setattr("harness.cli.record.record_commands._status", run)
    one = said("record", "status", status=status)
    assert one["result"] is None
    return one["error"]


def test_without_the_option_a_wrong_command_line_ends_as_ever(capsys):
    with pytest.raises(SystemExit) as left:
        main(["run"])
    assert left.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.startswith("usage: repro run ")
    assert printed.err.endswith("repro run: error: the following arguments are required: FILE\n")


@pytest.mark.parametrize("words, is_asked", [(["run", "x", "--json"], True), (["run", "x", "--", "--json"], False)])
def test_an_option_of_the_program_is_not_ours(words, is_asked):
    assert document.is_asked(words) is is_asked


def test_values_that_json_does_not_have():
    value = {"a": (1, float("nan"), Path("x/y")), 2: {"b": float("inf"), "c": 0.5}}
    assert document.plain(value) == {"a": [1, None, "x/y"], "2": {"b": None, "c": 0.5}}
    assert json.dumps(document.plain(value), allow_nan=False)


def test_the_page_describes_every_field():
    for name, rows in documents.tables().items():
        title = f"### {name.removesuffix('_result')}\n"
        assert title in PAGE, f"docs/json.md has no section {title}; python -m tests.harness.documents prints it"
        section = PAGE.partition(title)[2].partition("\n### ")[0]
        assert rows in section, f"{title}: python -m tests.harness.documents prints the rows"


@pytest.mark.slow
def test_the_example_of_the_page(project, said):
    name, program = re.search(r"```python\n# file: (\S+)\n(.*?)```", PAGE, re.DOTALL).groups()
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text(program)
    shown = json.loads(re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)[1])
    one = said("run", name, status=shown["exit_status"])
    assert _has(one, shown) == []


def _has(got, shown, place="document"):
    """The places where a document differs from the part of it that a page shows."""
    if isinstance(shown, dict):
        return [wrong for key in shown for wrong in _has(got.get(key), shown[key], f"{place}.{key}")]
    if isinstance(shown, list):
        if len(got) != len(shown):
            return [f"{place} has {len(got)} elements"]
        return [wrong for n, one in enumerate(shown) for wrong in _has(got[n], one, f"{place}[{n}]")]
    return [] if got == shown else [f"{place}: {got!r} is not {shown!r}"]


def test_commands_of_the_page_that_use_jq_name_fields_that_are_there():
    fields = {field for rows in documents.tables().values() for field in re.findall(r"`([\w.\[\]]+?)(?:\[\])?`", rows)}
    paths = [path for line in re.findall(r"jq [^']*'([^']*)'", PAGE) for path in re.findall(r"\.(\w+)", line)]
    assert paths and [path for path in paths if path not in fields] == []
