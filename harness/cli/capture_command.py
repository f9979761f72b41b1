"""The command `repro capture`: one call of a program as a file that runs alone."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import compiler_name, store
from harness.claim import as_count, as_megabytes
from harness.cli import document
from harness.errors import UsageError
from harness.run.environment import as_typed
from harness.terminal import say
from harness.verbosity import note

if TYPE_CHECKING:
    from harness.capture.started import Ran

HOLDS, FAILS, NOT_RUN = 0, 1, 3
DEFAULT_LIMIT_MB = 64

ABOUT = """\
Run a program and write one of its calls of a GPU function as a file that runs alone: the function and what it reaches,
the arguments, and run(). The file is run in a fresh process at once, and its outputs are compared with the outputs of
the program.

  repro capture -o repros/x.py -- python train.py --steps 10           the first call of a @cute.jit function
  repro capture --kernel softmax -o repros/x.py -- python train.py     of that function or kernel
  repro capture --kernel softmax --call 30 -o repros/x.py -- python train.py
  repro capture --nan -o repros/x.py -- python train.py                the first call that makes a NaN out of none
  repro capture --first-finding --check race -o repros/x.py -- python train.py
  repro capture --differs checks:expected -o repros/x.py -- python train.py     the first that differs from a reference
  repro capture -o repros/x.py -- python -m pytest tests/test_x.py     anything that starts by python

Data that no generator makes goes to a folder `data` next to the file. A program whose GPU is not here runs on the
emulator, by `python -m dsl`; --compiler and --device choose.

Exit status: 0 the file does what the program did, 1 it does not, or no call was captured, 2 wrong usage, 3 the program
could not be run.
"""


def add(commands: argparse._SubParsersAction) -> None:
    parser = document.command(commands, "capture", "one call of a program as a file that runs alone", ABOUT, _capture)
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="the file to write")
    parser.add_argument("--kernel", metavar="NAME", help="only calls of this function, class or kernel")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--call", type=as_count, default=1, metavar="N", help="the N-th of them (default 1)")
    which.add_argument("--first-finding", action="store_true", help="the first that a checker or a fault ends")
    which.add_argument("--nan", action="store_true", help="the first with a NaN in its outputs and none in its inputs")
    which.add_argument(
        "--differs",
        metavar="REFERENCE",
        help="the first whose outputs are not close to REFERENCE(*arguments): module:function, or a Python expression",
    )
    parser.add_argument(
        "--compiler", type=compiler_name.typed, choices=("ours", "nvidia"), help="run the program with this compiler"
    )
    parser.add_argument("--device", choices=("emulator", "cuda"), help="run its kernels there")
    parser.add_argument(
        "--check", metavar="NAMES", help="what the emulator looks for: race, undefined, all (default) or none"
    )
    parser.add_argument(
        "--data-limit",
        type=as_megabytes,
        default=None,
        metavar="MB",
        help=f"write at most this much data next to the file (default {DEFAULT_LIMIT_MB}; a terminal is asked)",
    )
    parser.add_argument("--keep-running", action="store_true", help="let the program go on after the captured call")
    parser.add_argument("--whole", action="store_true", help="keep code that did not run, and every comment")
    parser.add_argument("--force", action="store_true", help="replace FILE")
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the program's command")


def _capture(arguments: argparse.Namespace) -> int:
    from harness.capture import started

    words = arguments.program[1:] if arguments.program[:1] == ["--"] else arguments.program
    out = arguments.out
    if out.suffix != ".py":
        raise UsageError(f"-o {out}: name a Python file, as in repros/x.py")
    if out.exists() and not arguments.force:
        raise UsageError(f"{out} exists already; --force replaces it")
    command = started.command_of(words, arguments.compiler, arguments.device)
    if arguments.check:
        os.environ["GPU_REPRO_CHECK"] = arguments.check
    with tempfile.TemporaryDirectory(prefix="repro-capture-") as name:
        folder = Path(name)
        ran = started.run(command, folder, _wanted(arguments, words))
        if not ran.is_captured:
            return _nothing(ran, arguments)
        return _keep(arguments, folder, ran.report)


def _wanted(arguments: argparse.Namespace, words: list[str]) -> dict[str, Any]:
    chosen = {"finding": arguments.first_finding, "nan": arguments.nan, "differs": arguments.differs}
    return {
        "kernel": arguments.kernel,
        "number": arguments.call,
        "property": next((name for name, value in chosen.items() if value), "call"),
        "reference": arguments.differs,
        "program": _program(words),
        "goes_on": arguments.keep_running,
    }


def _program(words: list[str]) -> str:
    """The name of the program in the claim: the name of its file or module, without folders."""
    for before, word in zip(["", *words], words):
        if before == "-m" and word != "dsl":
            return word
        if word.endswith(".py"):
            return Path(word).name
    return Path(words[0]).name


_NOT_WRITTEN = {
    "written": None, "lines": 0, "data": [], "function": None, "call": None, "same": None, "differences": [],
    "missing": [], "calls_seen": None, "calls_fitting": None, "problems": [],
}  # fmt: skip


def _nothing(ran: Ran, arguments: argparse.Namespace) -> int:
    """Say why there is no file."""
    report = ran.report
    document.give(
        arguments,
        {
            **_NOT_WRITTEN,
            "calls_seen": report.get("seen", 0),
            "calls_fitting": report.get("fitting", 0),
            "problems": [*report.get("problems", ()), *([report["problem"]] if "problem" in report else [])],
        },
    )
    for line in report.get("problems", ()):
        say(f"repro capture: {line}", file=sys.stderr)
    if "problem" in report:
        say(f"repro capture: the call could not be written: {report['problem']}", file=sys.stderr)
        return FAILS
    if not ran.has_begun:
        say(
            "repro capture: the program did not start under capture: does it run Python with -I, -E or -S, or with "
            "its own PYTHONPATH?",
            file=sys.stderr,
        )
        return NOT_RUN
    seen, fitting = report.get("seen", 0), report.get("fitting", 0)
    fits = f", {fitting} of {arguments.kernel}" if arguments.kernel else ""
    say(f"repro capture: nothing was captured: the program made {seen} calls{fits}", file=sys.stderr)
    if not seen:
        say(
            "calls of @cute.jit functions, Quadrants kernels and compiled TIRx functions are captured, and launches of "
            "PTX by cuda.bindings and cuda.core",
            file=sys.stderr,
        )
    if ran.status and not seen:
        say(f"repro capture: it ended with exit status {ran.status}", file=sys.stderr)
        return NOT_RUN
    return FAILS


def _keep(arguments: argparse.Namespace, folder: Path, report: dict[str, Any]) -> int:
    """Check the file, write it and its data to their places, and report it."""
    from harness.capture import checked, private

    data = sorted((folder / "data").glob("*.npz"))
    if not _is_allowed(arguments, sum(file.stat().st_size for file in data)):
        document.give(arguments, _NOT_WRITTEN | {"problems": ["the data are larger than the limit"]})
        return FAILS
    note(f"captured call {report['number']} of {report['name']}; running it alone")
    out: Path = arguments.out
    alone = folder / out.name
    shutil.move(folder / "captured.py", alone)
    checking = checked.Alone(alone, folder, report, note)
    try:
        text = alone.read_text()
        text, differences = (text, checking.check(text)) if arguments.whole else checking.shortened(text)
        differences += report["reasons"] if differences else []
    finally:
        checking.close()
    text = "".join(f"# missing: {private.sentence(line)}\n" for line in differences) + text
    out.parent.mkdir(parents=True, exist_ok=True)
    for file in data:
        (out.parent / "data").mkdir(exist_ok=True)
        store.write_atomically(out.parent / "data" / file.name, file.read_bytes())
    store.write_atomically(out, text.encode())
    lines = len(text.splitlines())
    beside = f" and {len(data)} of data" if data else ""
    note(f"wrote {out}: {lines} lines{beside}", sys.stdout)
    document.give(
        arguments,
        _NOT_WRITTEN
        | {
            "written": out,
            "lines": lines,
            "data": [out.parent / "data" / file.name for file in data],
            "function": report["name"],
            "call": report["number"],
            "same": not differences,
            "differences": differences,
            "missing": report["missing"],
        },
    )
    for line in [*report["missing"], *differences]:
        say(f"missing: {line}")
    if differences:
        say("it does not do what the program did")
        return FAILS
    names = ", ".join(report["outputs"]) or report["outcome"].get("kind") or report["outcome"]["outcome"]
    say(f"it does what the program did: {names}")
    note(f"next: {as_typed(f'uv run repro run {out} --update-goldens')}", sys.stdout)
    return HOLDS


def _is_allowed(arguments: argparse.Namespace, size: int) -> bool:
    """Whether so many bytes of data may be written: below the limit, or asked for at the terminal."""
    megabytes = size / 1e6
    limit = DEFAULT_LIMIT_MB if arguments.data_limit is None else arguments.data_limit
    if megabytes <= limit:
        return True
    if arguments.data_limit is None and sys.stdin.isatty():
        try:
            answer = input(f"write {megabytes:.0f} MB of data next to the file? [y/N] ")
        except EOFError:
            answer = ""
        if answer.strip().lower() in ("y", "yes"):
            return True
    say(
        f"repro capture: its data are {megabytes:.0f} MB, and the limit is {limit:g} MB\n"
        f"fix: --data-limit {megabytes + 1:.0f}, or capture a call with smaller tensors",
        file=sys.stderr,
    )
    return False
