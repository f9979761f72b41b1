"""A supervisor's process: its frames, its deadlines and its end. A program stands for the supervisor."""

import os
import sys

import pytest

from harness.run import supervisor_process
from harness.run.frames import BadFrame
from harness.run.supervisor_process import SupervisorProcess

READY = """
import os, sys, time
from harness.run.frames import read_exactly, read_frame, write_frame
write_frame(1, {"kind": "ready", "protocol": 7, "folder": os.getcwd(), "argv": sys.argv[1:], "mark": os.environ["MARK"]})
"""


@pytest.fixture
def supervised(monkeypatch):
    """Start a program in place of the supervisor; it is ended after the test."""
    started = []

    def supervised(program: str, **places) -> SupervisorProcess:
        variables = {**os.environ, "MARK": "one", "PYTHONPATH": os.getcwd()}
        started.append(SupervisorProcess([sys.executable, "-c", program], variables, "the program", **places))
        return started[-1]

    yield supervised
    monkeypatch.setattr(supervisor_process, "_END_S", 0.0)
    for process in started:
        process.close()


def test_its_first_frame_is_read_once(supervised, tmp_path):
    process = supervised(READY + "write_frame(1, *read_frame(read_exactly(0), 9))", cwd=str(tmp_path))
    about = {"folder": str(tmp_path), "argv": ["-P", "-m", "harness.run.supervisor"], "mark": "one"}
    assert process.ready(60) == process.ready() == {"kind": "ready", "protocol": 7, "buffers": [], **about}
    process.write({"kind": "input"}, [b"abc"])
    assert process.read(3) == ({"kind": "input", "buffers": [3]}, [b"abc"])


def test_a_frame_over_the_limit(supervised):
    process = supervised(READY + "write_frame(1, {}, [b'abc'])")
    process.ready()
    with pytest.raises(BadFrame, match=r"^the arrays are over the limit of 2 bytes$"):
        process.read(2)


@pytest.mark.parametrize("begun", ["", "os.write(1, b'RPR1')"])
def test_a_deadline_is_for_the_whole_frame(supervised, begun):
    process = supervised(READY + begun + "\ntime.sleep(99)")
    process.ready()
    with pytest.raises(TimeoutError, match=r"^the program did not answer within 0\.2 s$"):
        process.read(0, 0.2)
    assert process.last_words() == ""


def test_its_last_words(supervised, tmp_path):
    process = supervised(READY + "sys.exit('x' * 5000 + ' no more')", scratch=str(tmp_path))
    process.ready()
    with pytest.raises(BadFrame, match="^the program ended$"):
        process.read(0)
    assert process.last_words() == f" (exit status 1):\n{('x' * 5000 + ' no more')[-3999:]}"


@pytest.mark.parametrize("handler, limit_s, status", [("DFL", 60.0, -15), ("IGN", 0.2, -9)])
def test_close_ends_it(supervised, monkeypatch, handler, limit_s, status):
    monkeypatch.setattr(supervisor_process, "_END_S", limit_s)
    deaf = f"import signal\nsignal.signal(signal.SIGTERM, signal.SIG_{handler})\n"
    process = supervised(deaf + READY + "time.sleep(99)")
    process.ready()
    ended = process._process
    process.close()
    assert ended.returncode == status and ended.stdin.closed and ended.stdout.closed
