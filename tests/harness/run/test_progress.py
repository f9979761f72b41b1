"""The running cases, as a terminal shows them (a pty, read by a small terminal of the test) and as a file holds them."""

import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from fcntl import ioctl

import pytest

from harness.run.progress import PLAIN_S, Live
from harness.run.transport import Progress
from tests.slow import rest_slow

_PARTS = re.compile(r"\x1b\[([0-?]*)([@-~])|\x1b\][^\x07]*\x07|(\r)|(\n)|([^\x1b\r\n]+)")


class Screen:
    """Rows of text: enough of a terminal for \\r, \\n, CUU, CUF, ED and EL."""

    def __init__(self):
        self.rows, self.row, self.column = [""], 0, 0

    def feed(self, text):
        for number, code, back, down, plain in _PARTS.findall(text):
            count = int(number) if number.isdigit() else 1
            line = self.rows[self.row]
            if plain:
                self.rows[self.row] = line[: self.column].ljust(self.column) + plain + line[self.column + len(plain) :]
                self.column += len(plain)
            elif back:
                self.column = 0
            elif down:
                self.row, self.column = self.row + 1, 0
                self.rows += [""] * (self.row + 1 - len(self.rows))
            elif code == "A":
                self.row -= count
                assert self.row >= 0
            elif code == "C":
                self.column += count
            elif code == "J":
                self.rows[self.row :] = [line[: self.column]]
            elif code == "K":
                self.rows[self.row] = "" if number == "2" else line[: self.column]

    def text(self):
        return "\n".join(row.rstrip() for row in self.rows)


SLOW = "import time\nimport numpy as np\ndef run(n):\n    time.sleep(0.5)\n    return {'out': np.zeros(n)}"


def on_terminal(*options):
    """Every screen that `pytest repros` shows in a terminal of 70 columns."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 70, 0, 0))
    variables = {**os.environ, "TERM": "xterm", "COLUMNS": ""}
    del variables["COLUMNS"]
    argv = [sys.executable, "-m", "pytest", "repros", "-p", "no:cacheprovider", *options]
    process = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, env=variables)
    os.close(theirs)
    screen, shown = Screen(), []
    try:
        while select.select([ours], [], [], 60)[0]:
            try:
                data = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            screen.feed(data.decode())
            shown.append(screen.text())
    finally:
        process.wait(timeout=600)
        os.close(ours)
    return shown


@pytest.mark.slow
@pytest.mark.parametrize("options", rest_slow([[], ["-n2"]], 1))
def test_a_terminal_has_one_live_line_for_each_slot(pytester, repros, options):
    repros(one=(SLOW, "params = { n = [1, 2] }"), two=(SLOW, "params = { n = [3, 4] }"))
    shown = on_terminal(*options)
    live = [set(re.findall(r"^ +\d+ s  (\S+)$", screen, re.MULTILINE)) for screen in shown]
    cases = (("one", 1), ("one", 2), ("two", 3), ("two", 4))
    assert set().union(*live) == {f"repros/{name}.py::embedded::n={n}" for name, n in cases}
    assert max(map(len, live)) == (2 if options else 1)
    assert not live[-1] and "4 failed" in shown[-1]
    if not options:
        assert re.search(r"^repros/one.py FF +\[ 50%\]\nrepros/two.py FF +\[100%\]\n\n=+ FAILURES =+$", shown[-1], re.M)


@pytest.mark.slow
def test_nothing_live_where_output_is_cut_short_or_not_captured(pytester, repros):
    repros(one="import numpy as np\ndef run():\n    return {'out': np.zeros(1)}")
    for option in ("-q", "-s"):
        assert not any(re.search(r"^ +\d+ s  ", screen, re.M) for screen in on_terminal(option))


def test_a_file_has_a_plain_line_for_what_is_silent_for_long(tmp_path):
    now = [0.0]
    path = tmp_path / "out"
    with open(path, "w") as file:
        live = Live(file.fileno(), False, lambda: now[0])
        live.start("repros/one.py::p1")
        live.write("repros/one.py .", file)
        for now[0] in (PLAIN_S - 1, PLAIN_S + 1, PLAIN_S + 5, 2 * PLAIN_S + 2):
            live.phase("uv is at work")
        live.end("repros/one.py::p1")
        live.close()
    line = "s  repros/one.py::p1  uv is at work"
    assert path.read_text() == f"repros/one.py .\n    31 {line}\n    62 {line}\n"


def test_lines_fit_the_terminal_and_slots_are_taken_again(tmp_path):
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 4, 30, 0, 0))
    live, screen = Live(theirs, True, lambda: 0.0), Screen()

    def read():
        while select.select([ours], [], [], 0.2)[0]:
            screen.feed(os.read(ours, 1 << 16).decode())

    with open(os.dup(theirs), "w") as file:
        live.write("dots ..", file)
    for n in range(5):
        live.start(f"a case with a name that is longer than the line {n}")
    live.end("a case with a name that is longer than the line 0")
    live.start("another")
    read()
    assert screen.text() == "dots ..\n     0 s  another\n     0 s  a case with a name"
    live.close()
    read()
    assert screen.text() == "dots .." and live._thread is not None and not live._thread.is_alive()
    for fd in (ours, theirs):
        os.close(fd)


def test_progress_of_a_slot_is_in_its_line_and_queues_above(tmp_path):
    now = [0.0]
    path = tmp_path / "out"
    with open(path, "w") as file:
        live = Live(file.fileno(), False, lambda: now[0])
        live.queues = lambda: ["pool:h100: 1 of 9 done, 2 running in 2 slots, 6 waiting"]
        live.watch()
        for slot in ("p1:1", "p1:10"):
            live.start(f"{slot}  one.py", slot)
        live.phase("p1:1: uv is at work")
        live.phase("p1:10: running (4 s)")
        now[0] = PLAIN_S + 1
        live.phase("p1:1: running (2 s)")
        live.close()
    assert path.read_text().splitlines() == [
        "    31 s  p1:1  one.py  running (2 s)",
        "    31 s  p1:10  one.py  running (4 s)",
        "pool:h100: 1 of 9 done, 2 running in 2 slots, 6 waiting",
    ]


def test_progress_of_no_slot_has_its_own_line_while_it_is_news(tmp_path):
    """A job of Slurm that waits, before there is any slot; and a copy to the host of slots that have names."""
    now = [0.0]
    path = tmp_path / "out"
    with open(path, "w") as file:
        live = Live(file.fileno(), False, lambda: now[0])
        live.queues = lambda: ["slurm:gpu: 0 of 9 done"]
        live.watch()
        for now[0] in (PLAIN_S - 1, PLAIN_S + 1):
            live.phase(Progress("slurm:gpu: job 4711 waits, 3 before it: Slurm reports Resources"))
        live.start("p1:0  one.py", "p1:0")
        now[0] = 2 * PLAIN_S
        live.phase("p2: the connection was lost")
        live.phase(Progress("p1: copying: 12 of 63 MB"))
        now[0] += 2
        live.phase("p1:0: running (2 s)")
        now[0] += PLAIN_S
        live.phase("p1:0: running (32 s)")
        live.close()
    assert path.read_text().splitlines() == [
        "slurm:gpu: 0 of 9 done",
        "    slurm:gpu: job 4711 waits, 3 before it: Slurm reports Resources",
        "    31 s  p1:0  one.py  running (2 s)",
        "slurm:gpu: 0 of 9 done",
        "    p1: copying: 12 of 63 MB",
        "    61 s  p1:0  one.py  running (32 s)",
        "slurm:gpu: 0 of 9 done",
    ]
