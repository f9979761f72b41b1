"""Programs that make no claim, run as `python FILE ARGS` runs them: streams, status, Ctrl-C; here and over SSH.

Modules tested here: harness/records/observations.py, harness/records/observed_scripts.py, harness/run/console.py,
harness/run/script.py.
"""

import io
import os
import pty
import signal
import subprocess
import sys

import pytest

from harness.records import observations, observed_scripts
from harness.run import script
from harness.run.console import Console

REPRO = [sys.executable, "-c", "import sys; from harness.cli import main; sys.exit(main())"]
TALKS = """
import sys
print("begun", sys.argv[1:], __name__, flush=True)
for line in sys.stdin:
    print("got", line.strip())
print("to stderr", file=sys.stderr)
sys.exit(7)
"""
WRITES_PAST_THE_END = """
import cutlass, torch
from cutlass import cute

@cute.kernel
def kernel(a: cute.Tensor):
    a[cute.arch.thread_idx()[0] + 40] = 1.0

@cute.jit
def launch(a: cute.Tensor):
    kernel(a).launch(grid=(1, 1, 1), block=(32, 1, 1))

a = torch.zeros(64, device="cuda")
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONPATH", os.getcwd())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess:
    return subprocess.run([*REPRO, *arguments], input=text, capture_output=True, text=True, timeout=600)


def test_arguments_streams_and_status_are_the_programs_own(folder):
    (folder / "talks.py").write_text(TALKS)
    done = run("run", "talks.py", "in.txt", "--", "--width", "8", text="one\ntwo\n")
    assert done.stdout == "begun ['in.txt', '--width', '8'] __main__\ngot one\ngot two\n"
    assert (done.stderr, done.returncode) == ("to stderr\n", 7)
    said = run("history", "talks.py").stdout
    assert "talks.py in.txt --width 8  on embedded ours: exited, exit status 7" in said
    assert "got two" in said and "to stderr" in said and "for line in sys.stdin" in said


def test_a_repro_on_standard_input(folder):
    """It ran as a script, whose run() nobody calls, and passed."""
    block = "# /// script\n# [tool.repro]\n# ///\n"
    done = run("run", "-", text=f'{block}"""A claim."""\ndef run():\n    return {{}}\n')
    said = "standard input has a repro, and a claim is a file\nfix: save it and run the file\n"
    assert (done.stdout, done.stderr, done.returncode) == ("", said, 2)


def test_output_comes_while_the_program_runs(folder):
    (folder / "talks.py").write_text(TALKS)
    process = subprocess.Popen(
        [*REPRO, "run", "talks.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begun [] __main__\n"
    process.stdin.write("line\n")
    process.stdin.flush()
    assert process.stdout.readline() == "got line\n"  # it still reads
    assert process.communicate(timeout=600)[1] == "to stderr\n" and process.returncode == 7


def test_a_heredoc_is_a_program_and_is_found_by_what_it_printed():
    done = run("run", "-", text="print('shuffle width', 8)\nprint(__name__, input.__name__)\n")
    assert done.stdout == "shuffle width 8\n__main__ input\n" and done.returncode == 0
    found = run("history", "--grep", "SHUFFLE +width")
    assert "<stdin>  on embedded" in found.stdout and "shuffle width 8" in found.stdout and found.returncode == 0
    assert run("history", "--grep", "bank conflict").returncode == 1
    wrong = run("history", "--grep", "(")
    assert wrong.returncode == 2 and "'(' is not a regular expression" in wrong.stderr


def test_a_run_is_run_again_by_its_id(folder):
    (folder / "widths.py").write_text("import random, sys\nprint('first', sys.argv[1:], random.random())\n")
    first = run("run", "widths.py", "8", "--seed", "5")
    (one,) = observations.every()
    (folder / "widths.py").write_text("print('edited')\n")
    again = run("run", one.id)
    assert (again.returncode, again.stdout) == (0, first.stdout) and first.stdout.startswith("first ['8'] 0.")
    assert run("run", one.id, "--", "9").stdout.startswith("first ['9']")
    assert [each.script for each in observations.every()] == ["widths.py"] * 3
    assert f"again: repro run {one.id}\n" in run("history", one.id).stdout
    assert run("run", one.id, "--watch").stderr == "--watch wants a file\nfix: name the file, widths.py\n"
    assert run("run", "0000abcd-0001").returncode == 2


def test_a_heredoc_is_run_again_by_its_id():
    run("run", "-", text="print('from a heredoc')\n")
    assert run("run", observations.every()[0].id).stdout == "from a heredoc\n"


def test_a_read_without_input_gets_the_end(folder):
    reads = "import sys\nprint(repr(sys.stdin.read()))\n"
    assert run("run", "-", text=reads).stdout == "''\n"
    (folder / "reads.py").write_text(reads)
    done = run("run", "reads.py", "--compiler", "ours", "--compiler", "nvidia", text="once")
    assert done.stdout == "'once'\n''\n"  # the first program took it


def test_the_history_of_a_repro_is_its_record(folder):
    (folder / "one.py").write_text("print('a script of this name')\n")
    assert run("run", "one.py").returncode == 0
    (folder / "one.py").write_text('# /// script\n# [tool.repro]\n# ///\n"""It is so."""\nprint(1)\n')
    done = run("history", "one.py")
    assert done.returncode == 2 and "no record is of a claim" in done.stderr
    assert "a script of this name" in run("history", "--grep", "of this name").stdout


def test_ctrl_c_is_the_programs_and_nothing_is_left(folder, processes_with, monkeypatch):
    monkeypatch.setenv("OF_THIS_TEST", "ctrl-c-of-a-script")
    process = subprocess.Popen(
        [*REPRO, "run", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdin.write(b"import time\ntry:\n    print('begun')\n    time.sleep(99)\nfinally:\n    print('cleaned')\n")
    process.stdin.close()
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.read() == b"cleaned\n" and process.wait(600) == 130
    assert process.stderr.read().endswith(b"KeyboardInterrupt\n")
    assert processes_with("OF_THIS_TEST=ctrl-c-of-a-script") == []


@pytest.mark.parametrize(
    "text, status, said",
    [
        ("import os; os._exit(9)", 9, ""),
        ("raise SystemExit('no input')", 1, "no input\n"),
        ("1 / 0", 1, 'Traceback (most recent call last):\n  File "<stdin>", line 1, in <module>\n    1 / 0\n'),
        ("import os; os.kill(os.getpid(), 11)", 139, "the repro's process died of SIGSEGV"),
        ("import atexit; atexit.register(print, 'last', file=__import__('sys').stderr)", 0, "last\n"),
        ("import threading as t\nt.Timer(0.2, lambda: __import__('sys').stderr.write('late')).start()", 0, "late"),
        ("import time; time.sleep(30)", 124, "did not end within 1 s"),
        ("x = (", 2, "<stdin>:1:5: SYNTAX_ERROR"),
    ],
)
def test_how_a_program_ends(text, status, said):
    done = run("run", "-", "--timeout", "1" if "sleep" in text else "60", text=text)
    assert done.returncode == status and said in done.stderr and "harness" not in done.stderr


def test_a_failed_kernel_is_a_failure_even_if_the_program_goes_on():
    done = run("run", "-", text=WRITES_PAST_THE_END + "launch(a)\n")
    assert done.returncode == 1 and done.stderr.count("OUT_OF_BOUNDS") == 1 and "a[cute.arch" in done.stderr
    goes_on = WRITES_PAST_THE_END + "try:\n    launch(a)\nexcept Exception:\n    print('caught')\n"
    done = run("run", "-", text=goes_on)
    assert done.stdout == "caught\n" and done.returncode == 1
    assert "a kernel failed, and the program went on" in done.stderr and "OUT_OF_BOUNDS" in done.stderr
    assert "out_of_bounds, exit status 1" in run("history", "--grep", "caught").stdout


PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
.reg .b64 %a;
ld.param.u64 %a, [p];
st.global.u32 [%a+64], 1;
ret;
}
"""
LAUNCHES_PTX = f"""
import numpy as np
from cuda.bindings import driver

def of(answer):
    assert answer[0] == 0, answer[0]
    return answer[1] if len(answer) == 2 else None

of(driver.cuInit(0))
of(driver.cuCtxSetCurrent(of(driver.cuDevicePrimaryCtxRetain(of(driver.cuDeviceGet(0))))))
function = of(driver.cuModuleGetFunction(of(driver.cuModuleLoadData({PTX!r}.encode() + bytes(1))), b"k"))
address = np.array([int(of(driver.cuMemAlloc(64)))], np.uint64)
arguments = np.array([address.ctypes.data], np.uint64)
answer = driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, arguments.ctypes.data, 0)
"""


@pytest.mark.parametrize("use, said", [("of(answer)", "AssertionError: <CUresult"), ("", "the program went on")])
def test_a_finding_of_the_driver_is_printed_once_with_the_place_in_the_program(use, said, tmp_path):
    (tmp_path / "launches.py").write_text(LAUNCHES_PTX + use)
    (tmp_path / "main.py").write_text("import launches\n")
    done = run("run", str(tmp_path / "main.py"))
    assert done.returncode == 1 and done.stderr.count("OUT_OF_BOUNDS") == 1 and said in done.stderr


@pytest.mark.slow
def test_the_status_of_a_finding_is_chosen():
    """It takes the place of 1, and of no status that the program chose."""
    caught = WRITES_PAST_THE_END + "try:\n    launch(a)\nexcept Exception:\n    pass\n"
    programs = {
        WRITES_PAST_THE_END + "launch(a)\n": 9, caught: 9, caught + "sys.exit(7)\n": 7,
        "raise ValueError\n": 1, "": 0,
    }  # fmt: skip
    for text, status in programs.items():
        assert run("run", "-", "--finding-status", "9", text="import sys\n" + text).returncode == status, text
    assert run("run", "-", "--finding-status", "0", text=caught).returncode == 0
    done = run("run", "-", "--finding-status", "256", text="")
    assert done.returncode == 2 and done.stderr.endswith("argument --finding-status: must be 0-255, got 256\n")


def test_options_of_repros_are_refused():
    done = run("run", "-", "-p", "n=1", text="print(1)")
    assert done.returncode == 2 and "-p is for repros, but <stdin> has no run()" in done.stderr
    done = run("run", "-", "--widht", "8", text="print(1)")
    assert (
        done.returncode == 2
        and "unrecognized arguments: --widht 8 (put the program's own options after --)" in done.stderr
    )


def test_a_terminal_gets_colours_and_other_codes_are_escaped():
    with Console(None, stdout=(out := io.StringIO())) as console:  # which has no bytes, as a terminal
        console.take({"kind": "output", "fd": 1}, [b"\x1b[31mred\x1b[0m \xe2\x82"])
        console.take({"kind": "output", "fd": 1}, [b"\xac\x1b]0;title\x07\n"])
        console.end()
    assert out.getvalue() == "\x1b[31mred\x1b[0m \u20ac\\x1b]0;title\\x07\n"


def test_a_module_that_came_with_a_job_is_imported(monkeypatch):
    finder = script._Shipped({"of_an_author": ("/home/of_an_author.py", "VALUE = 3\n")})
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, finder])
    import of_an_author

    assert of_an_author.VALUE == 3 and of_an_author.__file__ == "/home/of_an_author.py"


def test_over_ssh_with_a_module_of_the_authors(on_host, sshd, folder, monkeypatch):
    on_host()
    (folder / "widths.py").write_text("WIDTH = 8\n")
    (folder / "far.py").write_text("import widths\nprint(widths.WIDTH, input())\nraise SystemExit(5)\n")
    options = ["--set", f"cache={sshd.folder}/cache", "--set", f"python={sys.executable}"]
    done = run("run", "far.py", "--host", "p1", *options, text="typed\n")
    assert (done.stdout, done.returncode) == ("8 typed\n", 5), done.stderr
    done = run("run", "-", "--host", "p1", *options, text="print('from a heredoc')\n")
    assert (done.stdout, done.returncode) == ("from a heredoc\n", 0), done.stderr


def test_observations_are_read_again_by_script_id_and_text():
    assert run("run", "-", text="print('a')").returncode == run("run", "-", text="print('b')").returncode == 0
    newest, oldest = observations.every()
    assert observations.output_of(newest) == "b\n" and observations.script_of(oldest) == "print('a')"
    assert observations.named(newest.id) == [newest] and observations.with_text("'A'") == [oldest]
    assert observed_scripts.history([newest, oldest], 1)["total"] == 2


@pytest.mark.slow
def test_in_a_project_of_the_host(on_host, sshd, folder, uv):
    """`workdir`: the program runs in the project's folder, by its environment, as `uv run python -` there does."""
    on_host()
    project = sshd.folder / "kestrel-of-scripts"
    project.mkdir()
    (project / "pyproject.toml").write_text('[project]\nname = "kestrel"\nversion = "1"\n')
    (project / "of_kestrel.py").write_text("NAME = 'kestrel'\n")
    uv("venv", "--quiet", "--python", sys.executable, project / ".venv")
    uv("pip", "install", "--quiet", "--python", project / ".venv/bin/python", "numpy")
    options = ["--set", f"cache={sshd.folder}/cache", "--set", f"workdir={project}", "--set", "bootstrap=true"]
    text = (
        "import os, sys, numpy, of_kestrel\nprint(of_kestrel.NAME, os.getcwd(), sys.prefix, *sys.stdin)\nsys.exit(3)\n"
    )
    done = run("run", "-", "--host", "p1", *options, text=text)
    assert (done.stdout, done.returncode) == (f"kestrel {project} {project}/.venv\n", 3), done.stderr
    (folder / "far.py").write_text(text)
    done = run("run", "far.py", "--host", "p1", *options, text="typed\n")
    assert (done.stdout, done.returncode) == (f"kestrel {project} {project}/.venv typed\n\n", 3), done.stderr


@pytest.mark.slow
def test_packages_of_its_block_are_there_on_a_host(on_host, sshd, folder, monkeypatch):
    """The environment that is made there has what the script's block names."""
    on_host()
    options = ["--set", f"cache={sshd.folder}/of-scripts", "--set", "bootstrap=true"]
    block = '# /// script\n# dependencies = ["six==1.17.0"]\n# ///\n'
    (folder / "needs.py").write_text(block + "import six, sys\nprint(six.__version__, input(), 'envs' in sys.prefix)\n")
    done = run("run", "needs.py", "--host", "p1", *options, text="typed\n")
    assert (done.stdout, done.returncode) == ("1.17.0 typed True\n", 0), done.stderr


def test_a_terminal_is_read(folder):
    """Text typed at a terminal reaches the program line by line, and Ctrl-D ends its input."""
    (folder / "asks.py").write_text("import sys\nprint('got', input('name? '))\nprint(sys.stdin.read().split())\n")
    typed, terminal = pty.openpty()
    process = subprocess.Popen(
        [*REPRO, "run", "asks.py"], stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    os.close(terminal)
    os.write(typed, b"Ada\n")
    assert process.stdout.readline() == b"name? got Ada\n"
    os.write(typed, b"one two\n\x04")
    assert process.stdout.readline() == b"['one', 'two']\n" and process.wait(600) == 0
    os.close(typed)
