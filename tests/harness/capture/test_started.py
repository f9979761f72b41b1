"""How a program is started under capture."""

import sys

import pytest

from harness.capture import started
from harness.errors import UsageError


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    monkeypatch.setattr(started, "_has_gpu", lambda: False)


OURS = [sys.executable, "-m", "dsl"]
COMMANDS = {
    "python train.py": [*OURS, "train.py"],
    "train.py --steps 3": [*OURS, "train.py", "--", "--steps", "3"],
    "python -u -W error train.py -v": [sys.executable, "-u", "-W", "error", "-m", "dsl", "train.py", "--", "-v"],
    "python3.11 -m pytest tests": [*OURS, "-m", "pytest", "tests"],
    "python -m dsl --check all train.py": ["python", "-m", "dsl", "--check", "all", "train.py"],
    "./train --steps 3": ["./train", "--steps", "3"],
}


@pytest.mark.parametrize("words", COMMANDS)
def test_commands(words):
    assert started.command_of(words.split(), None, None) == COMMANDS[words]


def test_a_compiler_and_a_device_are_passed_on():
    command = started.command_of(["/opt/env/bin/python", "train.py"], "nvidia", "emulator")
    assert command == "/opt/env/bin/python -m dsl --compiler nvidia --device emulator train.py".split()


def test_with_a_gpu_the_program_runs_as_it_is(monkeypatch):
    monkeypatch.setattr(started, "_has_gpu", lambda: True)
    assert started.command_of(["python", "train.py"], None, None) == ["python", "train.py"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("", "name the program after `--`: repro capture -o repros/x.py -- python train.py"),
        ("python", "name the program after python: repro capture -o repros/x.py -- python train.py"),
        ("python -c pass", "a program of `python -c` has no file: write it to one, and name that"),
    ],
)
def test_programs_that_cannot_be_started(words, text):
    with pytest.raises(UsageError) as error:
        started.command_of(words.split(), None, None)
    assert str(error.value) == text


def test_a_command_that_does_not_exist(tmp_path):
    with pytest.raises(UsageError) as error:
        started.run(["/nowhere/at/all"], tmp_path, {})
    assert str(error.value) == "/nowhere/at/all cannot be started: No such file or directory"


def test_a_program_that_captures_nothing_counts_its_calls(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("print('hello')\n")
    wanted = {"kernel": None, "number": 1, "property": "call", "reference": None, "program": "x", "goes_on": False}
    ran = started.run([sys.executable, str(program)], tmp_path, wanted)
    assert (ran.status, ran.has_begun, ran.is_captured) == (0, True, False)
    assert (ran.report["seen"], ran.report["problems"]) == (0, [])


def test_a_program_that_keeps_capture_out_is_known(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("")
    wanted = {"kernel": None, "number": 1, "property": "call", "reference": None, "program": "x", "goes_on": False}
    ran = started.run([sys.executable, "-I", str(program)], tmp_path, wanted)
    assert not ran.has_begun and ran.report == {}
