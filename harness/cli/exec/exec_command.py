"""The commands `repro exec` and `repro libdir`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from harness import store
from harness.claim import CHECKS_HELP, GPU_MODEL_HELP, as_exit_status, as_gpu_model, as_seconds, as_seed, findings
from harness.cli import document
from harness.cli.exec import processes
from harness.errors import UsageError
from harness.terminal import say

NOT_RUN = 3
_DRIVER = (sys.executable, "-m", "dsl.driver")

_EXEC = """\
Run any program on the emulator: its calls of the CUDA driver and runtime go to libraries of this project, its kernels
run on the CPU and are checked. Nothing on the machine is replaced. The processes that the program starts are included.

  repro exec ./a.out 1024                        a CUDA C++ program, built with `nvcc -cudart shared -lineinfo`
  repro exec python train.py --epochs 1          a Python program: Triton, Numba, cuda.core, cuda-python
  repro exec --junit found.xml -- ctest          every test of a build, one report
  repro exec --check none ./a.out                without the checks, faster
  LD_LIBRARY_PATH=$(repro libdir) ./a.out        the same without this command, and without its report

A program finds these libraries if it loads libcuda.so.1 and libcudart.so.12 or .13 at run time. nvcc links its runtime
into a program unless it gets `-cudart shared`. Machine code does not run: the program needs PTX (docs/driver.md).

Exit status: as the program ends, 128 and the number of the signal that ended it, 124 after --timeout, 130 after Ctrl-C;
1 if the program ended with 0 and an error was found (--finding-status); 2 wrong usage, 3 it could not be run.
"""
_LIBDIR = """\
Print the folder of the emulator's libcuda.so.1, libcudart.so.12 and libcudart.so.13, for LD_LIBRARY_PATH. In a checkout
they are built first if they are not there.

  LD_LIBRARY_PATH=$(repro libdir) ./a.out

Exit status: 0, 3 they could not be built.
"""


def add(commands: Any) -> None:
    """Add the commands."""
    parser = document.command(commands, "exec", "run any program on the emulator", _EXEC, _exec)
    parser.add_argument("--check", metavar="NAMES", help=CHECKS_HELP)
    parser.add_argument(
        "--seed", type=as_seed, default=0, metavar="N", help="start the emulator's order of threads here"
    )
    parser.add_argument("--gpu-model", type=as_gpu_model, metavar="NAME", help=GPU_MODEL_HELP)
    parser.add_argument("--timeout", type=as_seconds, metavar="SECONDS", help="end the program after this many seconds")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write a JUnit XML file: a case for each process")
    parser.add_argument("--sarif", type=Path, metavar="FILE", help="write what was found as SARIF 2.1.0")
    parser.add_argument(
        "--finding-status",
        type=as_exit_status,
        default=1,
        metavar="N",
        help="exit with N, not 1, if an error was found and the program ended with 0",
    )
    parser.add_argument("args", nargs=argparse.REMAINDER, metavar="CMD ...", help="the program and its arguments")
    document.command(commands, "libdir", "the folder of the emulator's CUDA libraries", _LIBDIR, _libdir)


def _exec(arguments: argparse.Namespace) -> int:
    from harness.reporting import program_findings as found

    command = [text for at, text in enumerate(arguments.args) if at or text != "--"]
    if not command or not command[0]:
        raise UsageError("no program is given\nfix: repro exec ./a.out, or repro exec python program.py")
    _refuse_unknown(arguments)
    root = store.root_of(Path.cwd() / "_")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "found.jsonl")
        report.touch()
        began = time.monotonic()
        output = sys.stderr.fileno() if arguments.json else None
        status = processes.run([*_DRIVER, *command], _environment(arguments, report), arguments.timeout, output)
        tables = found.tables(report, command, status, root)
    n_errors = found.errors(tables)
    problems = _write(arguments, tables, root, time.monotonic() - began)
    for error in problems:
        say(f"repro: {error}", file=sys.stderr)
    if n_errors:
        n_processes = sum(bool(table["findings"]) for table in tables)
        what = f"{n_errors} error{'s' * (n_errors > 1)} in {n_processes} process{'es' * (n_processes > 1)}"
        say(f"repro: found {what}", file=sys.stderr)
    rows = [
        {"process": table["process"], "command": table["script"], "findings": table["findings"]}
        for table in tables
        if table["process"] is not None
    ]
    document.give(arguments, {"program": command, "exit": status, "processes": rows, "errors": problems})
    if status or not n_errors:
        return status or (NOT_RUN if problems else 0)
    return arguments.finding_status


def _refuse_unknown(arguments: argparse.Namespace) -> None:
    try:
        findings.checks(arguments.check or "all")
    except findings.BadChecks as error:
        raise UsageError(str(error)) from None


def _environment(arguments: argparse.Namespace, report: Path) -> dict[str, str]:
    asked = {"GPU_REPRO_CHECK": arguments.check, "GPU_REPRO_GPU_MODEL": arguments.gpu_model}
    default = {"GPU_REPRO_CHECK": "all"} if not os.environ.get("GPU_REPRO_CHECK") else {}
    return {
        **os.environ,
        **default,
        **{name: value for name, value in asked.items() if value},
        "GPU_REPRO_SEED": str(arguments.seed),
        "GPU_REPRO_REPORT": str(report),
    }


def _write(arguments: argparse.Namespace, tables: list[dict[str, Any]], root: Path, seconds: float) -> list[str]:
    """Write the files that are asked for; which could not be written."""
    from harness.reporting import program_findings as found, publish

    lines, problems = publish.publish(tables, root, arguments.sarif)
    for line in lines:
        say(line)
    if arguments.junit:
        try:
            found.write_junit(arguments.junit, tables, seconds)
        except OSError as error:
            problems.append(f"the JUnit file {arguments.junit} could not be written: {error}")
    return problems


def _libdir(arguments: argparse.Namespace) -> int:
    done = subprocess.run(_DRIVER, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return NOT_RUN
    document.give(arguments, {"folder": done.stdout.strip()}, done.stdout.strip())
    return 0
