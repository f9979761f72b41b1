"""A program in a fork of a process that has imported torch ends as it ends in a new Python."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import fork_server

PROGRAM = """\
import atexit, os, sys
atexit.register(print, "the end")
print(sys.argv, __name__, sys.stdin.read(), os.environ["MARK"], os.path.realpath(sys.path[0] or "."), flush=True)
"""


@pytest.mark.parametrize(
    "arguments, status",
    [
        (["program.py", "-W", "two"], 0),
        (["-c", PROGRAM + "sys.exit(300)", "-m"], 44),
        (["-m", "program", "x"], 0),
        (["-c", "import sys\nsys.exit('a reason')"], 1),
        (["-c", "def f():\n    return 1 / 0\nf()"], 1),
        (["-W", "error", "-c", "import warnings\nwarnings.warn('told')"], 1),
        (
            ["-c", "import threading, time\nthreading.Thread(target=lambda: time.sleep(0.1) or print('late')).start()"],
            0,
        ),
        (["-c", "import os\nprint('lost')\nos._exit(7)"], 7),
        (["-c", "import os\nos.kill(os.getpid(), 9)"], -9),
        (["-"], 0),
    ],
)
def test_a_program_ends_as_in_python(arguments, status, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    settings = {"cwd": tmp_path, "env": {**os.environ, "MARK": "one"}, "input": "print('typed')", "timeout": 60}
    expected = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, **settings)
    done = fork_server.run(arguments, warm="dsl", **settings)
    assert (done.returncode, done.stdout, done.stderr) == (status, expected.stdout, expected.stderr)
    assert expected.returncode == status


def test_a_program_that_takes_too_long_is_killed(tmp_path):
    program = f"import os, time\nprint('begun', flush=True)\nopen('{tmp_path}/pid', 'w').write(str(os.getpid()))\ntime.sleep(99)"
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        fork_server.run(["-c", program], warm="dsl", timeout=1)
    assert caught.value.output == "begun\n"
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert fork_server.run(["-c", "print(1)"], warm="dsl").stdout == "1\n"


def test_it_has_the_compiler_and_nothing_of_the_program_before():
    one = "import sys, os\nprint('torch' in sys.modules, 'dsl.cutlass' in sys.modules, 'left' in os.environ)\n"
    for _ in range(2):
        assert fork_server.run(["-c", one + "os.environ['left'] = ''"], warm="dsl").stdout == "True True False\n"


def test_another_one_starts_where_it_has_ended():
    command = ["-c", "import os; print(os.getppid())"]
    first = int(fork_server.run(command).stdout)
    os.kill(first, signal.SIGKILL)
    while Path(f"/proc/{first}/stat").exists() and Path(f"/proc/{first}/stat").read_text().split()[2] != "Z":
        time.sleep(0.01)
    with pytest.warns(UserWarning, match="the process that forks has ended: another one starts"):
        assert int(fork_server.run(command).stdout) != first
