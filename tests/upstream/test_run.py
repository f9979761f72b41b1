"""The command that runs NVIDIA/cutlass programs, tried on a small folder that has that repository's shape."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

RUN = Path(__file__).with_name("run.py")
HEAD = "import cutlass\nimport cutlass.cute as cute\n"
CELL = """\
@cute.jit
def show(a: cutlass.Int32):
    print("tracing", a)
    cute.printf("a = {}", a)


show(7)
"""
KERNEL = (
    HEAD
    + """\
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(out: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    out[t] = t * 2


@cute.jit
def host(out: cute.Tensor):
    kernel(out).launch(grid=1, block=4)


def test_doubles():
    out = torch.zeros(4, device="cuda", dtype=torch.int32)
    host(from_dlpack(out))
    assert out.tolist() == [0, 2, 4, 6]
"""
)


def clone(folder: Path, files: dict[str, str]) -> Path:
    """A folder with `files`, by their path."""
    (folder / "examples/python/CuTeDSL").mkdir(parents=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def notebook(*cells: tuple[str, str]) -> str:
    """A notebook file of (source, saved output) cells."""
    made = [{"cell_type": "markdown", "source": ["words"]}]
    for source, output in cells:
        outputs = [{"output_type": "stream", "name": "stdout", "text": output.splitlines(keepends=True)}]
        made.append(
            {"cell_type": "code", "source": source.splitlines(keepends=True), "outputs": outputs if output else []}
        )
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def run(*arguments: object) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, str(RUN), *map(str, arguments)], capture_output=True, text=True, timeout=300)


NOTEBOOK = "examples/python/CuTeDSL/cute/notebooks/data_types.ipynb"
PYTEST = "test/examples/CuTeDSL/test_math.py"


def test_a_notebook_that_prints_what_was_saved_passes(tmp_path):
    folder = clone(tmp_path, {NOTEBOOK: notebook((HEAD, ""), (CELL, "tracing ?\na = 7\n"))})
    done = run(folder, "data_types", "--json", tmp_path / "found.json")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = json.loads((tmp_path / "found.json").read_text())
    assert (row["name"], row["verdict"]) == ("notebooks/data_types", "passed")
    assert row["lines"]["different"] == 0 and row["lines"]["equal"] + row["lines"]["trace-time text"] == 2
    assert "1 passed" in done.stdout


def test_a_notebook_that_prints_something_else_does_not(tmp_path):
    cell = "print(cutlass.__name__)\nprint(5)\n"
    folder = clone(tmp_path, {NOTEBOOK: notebook((HEAD, ""), (cell, "cutlass\n5\n"))})
    done = run(folder, "data_types", "--verbose")
    assert done.returncode == 1 and "2 lines, 1 different from what NVIDIA saved" in done.stdout
    assert "    - cutlass\n    + dsl.cutlass\n" in done.stdout


def test_lines_that_nvidias_compiler_prints_differently_today_are_counted_apart(tmp_path, needs):
    needs("cc", "gcc")  # what runs NVIDIA's compiler here is built with it
    folder = clone(tmp_path, {NOTEBOOK: notebook((HEAD, ""), (CELL, "tracing ?\na = 8\n"))})
    done = run(folder, "data_types", "--json", tmp_path / "found.json")
    (row,) = json.loads((tmp_path / "found.json").read_text())
    assert (row["verdict"], row["lines"]["as 4.8.1 prints"], row["lines"]["different"]) == ("passed", 1, 0), done.stdout


def test_a_cell_that_raises_names_its_place(tmp_path):
    folder = clone(
        tmp_path, {NOTEBOOK: notebook((HEAD, ""), (CELL.replace("(7)", "()"), "a = 7\n"), ("print(1)", "1\n"))}
    )
    done = run(folder, "data_types", "--verbose")
    assert done.returncode == 1 and "data_types.ipynb cell 2" in done.stdout and "CALL_MISSING_ARG" in done.stdout


def test_a_test_file_runs_on_the_emulator(tmp_path):
    folder = clone(tmp_path, {PYTEST: KERNEL, "test/examples/CuTeDSL/conftest.py": "raise RuntimeError('no GPU')\n"})
    done = run(folder, "test_math")
    assert done.returncode == 0 and "passed" in done.stdout and "1 passed in" in done.stdout, done.stdout
    (folder / PYTEST).write_text(KERNEL.replace("[0, 2,", "[0, 3,"))
    failed = run(folder, "test_math", "--verbose")
    assert failed.returncode == 1 and "1 failed in" in failed.stdout and "assert [0, 2, 4, 6]" in failed.stdout


def test_the_report_shows_where_a_program_fails(tmp_path):
    path = "examples/python/CuTeDSL/dsl_tutorials/print_latex.py"
    folder = clone(tmp_path, {path: HEAD + "import sys\nprint(sys.argv[1:])\ncute.no_such_name\n"})
    done = run(folder, "print_latex_tv", "--verbose")
    assert done.returncode == 1 and "cutlass.cute has no name `no_such_name`" in done.stdout
    assert "['--tv_layout']" in done.stdout


def test_a_program_that_never_ends_is_stopped(tmp_path):
    folder = clone(tmp_path, {PYTEST: "import time\n\n\ndef test():\n    time.sleep(600)\n"})
    done = run(folder, "test_math", "--limit", 8)
    assert done.returncode == 1 and "timed out" in done.stdout and "1 timed out" in done.stdout


def test_ctrl_c_kills_the_program_too(tmp_path):
    source = f"import os, time\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    folder = clone(tmp_path, {PYTEST: source})
    running = subprocess.Popen(
        [sys.executable, str(RUN), str(folder), "test_math"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    started = time.monotonic()
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() - started < 60 and running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=30)
    assert (running.returncode, errors) == (130, "\nrun.py: stopped\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize(
    "arguments, says",
    [
        ((), "name the folder of a clone of https://github.com/NVIDIA/cutlass"),
        (("/",), "/ is not a clone of NVIDIA/cutlass"),
        (("FOLDER", "no_such_program"), "no program is called 'no_such_program'; --list shows the table"),
    ],
)
def test_wrong_usage(arguments, says, tmp_path):
    done = run(*(clone(tmp_path, {}) if argument == "FOLDER" else argument for argument in arguments))
    assert done.returncode == 2 and says in done.stderr


def test_a_program_that_the_clone_lacks_is_missing_and_not_passed(tmp_path):
    done = run(clone(tmp_path, {}), "test_math")
    assert done.returncode == 1 and f"this clone has no {PYTEST}" in done.stdout


def test_the_table_and_the_help_can_be_read():
    listed = run("--list")
    assert listed.returncode == 0 and "notebooks/hello_world" in listed.stdout
    assert "examples:" in run("--help").stdout


def test_a_set_is_run_and_a_program_after_another(tmp_path):
    folder = "examples/python/CuTeDSL/dsl_tutorials/tvm_ffi"
    first, then = "open('built', 'w').write('5')", "print('built', open('built').read())"
    files = {f"{folder}/aot_export.py": first, f"{folder}/aot_use_in_torch.py": then}
    done = run(clone(tmp_path, files), "aot_use_in_torch")
    assert done.returncode == 0 and "built 5" in done.stdout and "T4: 1 of 1 passed" in done.stdout, done.stdout
    (tmp_path / folder / "aot_export.py").write_text("raise SystemExit('no compiler')")
    failed = run(tmp_path, "aot_use_in_torch")
    assert failed.returncode == 1 and "aot_export.py: no compiler" in failed.stdout, failed.stdout
