"""uv at work: its output is passed on, and Ctrl-C at any moment leaves nothing of it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.host.environment import remote_env

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


def test_ctrl_c_while_a_process_is_being_started_leaves_nothing(monkeypatch):
    """The signal comes when the process is there and its Popen has not returned."""
    started: list[subprocess.Popen] = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        remote_env._uv(SLEEP, "", {}, lambda text: None)
    assert started[0].returncode == -signal.SIGKILL and not Path("/proc", str(started[0].pid)).exists()
    assert signal.getsignal(signal.SIGINT) is before


def test_its_output_is_passed_on_and_a_failure_is_reported():
    notes: list[str] = []
    program = "import sys; print('one'); print(sys.stdin.read()); sys.exit(3)"
    with pytest.raises(remote_env.Refused) as refused:
        remote_env._uv([sys.executable, "-c", program], "two", {}, notes.append)
    assert notes == ["uv: one", "uv: two"]
    assert str(refused.value).startswith("uv could not make the environment (`-c import sys;")
    assert str(refused.value).endswith("\none\ntwo")


def test_a_program_that_is_not_there_leaves_the_handler_of_ctrl_c(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(FileNotFoundError):
        remote_env._uv([str(tmp_path / "uv")], "", {}, lambda text: None)
    assert signal.getsignal(signal.SIGINT) is before


UV = """#!/bin/sh
echo "$*" >> {log}
case "$*" in *install*) echo "error: the index is broken"; exit 2;; esac
"""


def test_an_index_that_is_broken_is_tried_once_in_a_run(tmp_path, monkeypatch):
    """Every case asks for the environment: each gets the same error, and uv is not started again."""
    program, log = tmp_path / "uv", tmp_path / "log"
    program.write_text(UV.format(log=log))
    program.chmod(0o755)
    monkeypatch.setattr(remote_env, "find_uv", lambda cache: str(program))
    monkeypatch.setattr(remote_env, "_not_made", {})
    (tmp_path / "packages" / "ours").mkdir(parents=True)
    about = {"kind": "managed", "python": "3.11", "torch_index": None, "variables": {}}

    def told(need: str) -> str:
        with pytest.raises(remote_env.Refused) as refused:
            remote_env.prepare(about | {"requires": [need]}, str(tmp_path), "ours", lambda text: None)
        return str(refused.value)

    assert [told("one"), told("one")] == [
        "uv could not make the environment (`pip install`):\nerror: the index is broken"
    ] * 2
    assert len(log.read_text().splitlines()) == 3  # `uv venv`, `uv pip compile` and `uv pip install`
    told("two")  # another environment may be to be had
    assert len(log.read_text().splitlines()) == 6
