"""One program under two compilers on the embedded device: ours, and NVIDIA's (`python -m dsl --compiler nvidia`).

    ours, theirs = second_opinion.both(path, ["--some", "argument"])
    assert ours.output == theirs.output

Each compiler has one process, which imports it once and forks for each program, so that a program costs its own time.
Standard library only. Run as a script it is that process: `python second_opinion.py COMPILER`, a line of JSON in and a
line of JSON out for each program. `python second_opinion.py --all [PATH ...]` compares the programs inside the tests:
own_programs.py.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

COMPILERS = ("embedded", "nvidia")
LIMIT_S = 120


@dataclass(frozen=True)
class Run:
    """What became of a program. `status` is its exit status, negative for a signal; SIGALRM after LIMIT_S seconds."""

    output: str
    errors: str
    status: int
    seconds: float


def both(program: Path | str, arguments: Sequence[str] = ()) -> tuple[Run, Run]:
    """Run a program, in a folder of its own, under our compiler and then under NVIDIA's: (ours, theirs).

    Raises RuntimeError with what is missing where NVIDIA's compiler cannot be used: see `missing`.
    """
    ours, theirs = (run(compiler, program, arguments) for compiler in COMPILERS)
    return ours, theirs


def run(compiler: str, program: Path | str, arguments: Sequence[str] = ()) -> Run:
    """Run a program under one of COMPILERS. Raises RuntimeError where that cannot be used."""
    process = _server(compiler)
    ask = {"path": str(Path(program).resolve()), "arguments": list(arguments)}
    print(json.dumps(ask), file=process.stdin, flush=True)
    answer = process.stdout.readline()
    if not answer:
        _server.cache_clear()
        raise RuntimeError(f"the process of the compiler {compiler} ended with {process.wait()}")
    return Run(**json.loads(answer))


@functools.cache
def missing() -> str:
    """What NVIDIA's compiler lacks here, as its error says it, or ''."""
    try:
        _server("nvidia")
    except RuntimeError as error:
        return str(error)
    return ""


@functools.cache
def _server(compiler: str) -> subprocess.Popen:
    process = subprocess.Popen(
        [sys.executable, __file__, compiler], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    atexit.register(_end, process)
    said = json.loads(process.stdout.readline() or "null")
    if said != "ready":
        raise RuntimeError(said or f"the process of the compiler {compiler} ended with {process.wait()}")
    return process


def _end(process: subprocess.Popen) -> None:
    """Kill it: a fork of this process may hold the other end of its stdin, and then it never sees the end of that."""
    process.kill()
    process.communicate()


# ** in the process of a compiler


def serve(compiler: str) -> None:
    """Answer programs until stdin ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from dsl import alias
    from dsl.launch.devices.protocol import DeviceMissing

    try:
        import torch

        torch.set_num_threads(1)  # an OpenMP pool does not survive a fork
        if compiler == "embedded":
            alias.install("emulator")
            import cutlass.cute  # noqa: F401
        alias.warm(compiler)
        alias.uninstall()
    except DeviceMissing as error:
        print(json.dumps(str(error)), file=answers, flush=True)
        return
    print(json.dumps("ready"), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(_forked(compiler, json.loads(line))), file=answers, flush=True)


def _forked(compiler: str, ask: dict) -> dict:
    import time

    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="second-opinion-") as folder,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
    ):
        child = os.fork()
        if child == 0:
            _run_here(compiler, ask, folder, output.fileno(), errors.fileno())
        _, ended = os.waitpid(child, 0)
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    return {
        "output": texts[0],
        "errors": texts[1],
        "status": os.waitstatus_to_exitcode(ended),
        "seconds": round(time.monotonic() - started, 4),
    }


def _run_here(compiler: str, ask: dict, folder: str, output_fd: int, errors_fd: int) -> None:
    """In the fork: be `python -m dsl`, and never return."""
    status = 70
    try:
        os.setsid()
        signal.alarm(LIMIT_S)
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output_fd, 1)
        os.dup2(errors_fd, 2)
        from dsl.__main__ import main

        status = main(["--device", "emulator", "--compiler", compiler, ask["path"], "--", *ask["arguments"]])
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


FOLDERS = ("tests/core", "tests/cutlass", "tests/gpu", "tests/tile", "tests/launch")


def compare_all(paths: Sequence[str]) -> int:
    """Print what became of the programs inside the tests of `paths`; 1 where some differ and nothing explains it."""
    sys.path.insert(0, str(Path(__file__).parent))
    import own_programs

    with tempfile.TemporaryDirectory(prefix="second-opinion-") as folder:
        found = own_programs.compare(list(paths or FOLDERS), Path(folder))
    print(own_programs.report(found))
    return any(made.kind in ("differs", "died") for made in found)


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])
    if sys.argv[1] == "--all":
        sys.exit(compare_all(sys.argv[2:]))
    serve(sys.argv[1])
