"""One program under two compilers on the emulator: ours, and NVIDIA's (`python -m dsl --compiler nvidia`).

    ours, theirs = second_opinion.both(path, ["--some", "argument"])
    assert ours.output == theirs.output

`python second_opinion.py --all [PATH ...]` compares the programs inside the tests: own_programs.py.
"""

from __future__ import annotations

import functools
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import fork_server

COMPILERS = ("ours", "nvidia")
LIMIT_S = 120


@dataclass(frozen=True)
class Run:
    """The outcome of a program. `status` is its exit status, negative for a signal; SIGALRM after LIMIT_S seconds."""

    output: str
    errors: str
    status: int


def both(program: Path | str, arguments: Sequence[str] = ()) -> tuple[Run, Run]:
    """Run a program, in its own folder, under our compiler and then under NVIDIA's compiler: (ours, theirs).

    Raises RuntimeError with what is missing where NVIDIA's compiler cannot be used: see `missing`.
    """
    ours, theirs = (run(compiler, program, arguments) for compiler in COMPILERS)
    return ours, theirs


def run(compiler: str, program: Path | str, arguments: Sequence[str] = ()) -> Run:
    """Run a program under one of COMPILERS. Raises RuntimeError where that cannot be used."""
    if compiler == "nvidia" and missing():
        raise RuntimeError(missing())
    command = ["-m", "dsl", "--device", "emulator", "--compiler", compiler, Path(program).resolve(), "--", *arguments]
    with tempfile.TemporaryDirectory(prefix="second-opinion-") as folder:
        try:
            done = fork_server.run(command, cwd=folder, timeout=LIMIT_S)
        except subprocess.TimeoutExpired as late:
            return Run(late.output, late.stderr, -signal.SIGALRM)
    return Run(done.stdout, done.stderr, done.returncode)


@functools.cache
def missing() -> str:
    """The thing that NVIDIA's compiler lacks here, in the words of its error, or ''."""
    from dsl.launch.nvidia import hook, host_runtime

    try:
        hook.version()
        host_runtime.path()
    except hook.CompilerMissing as error:
        return str(error)
    return ""


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
    if sys.argv[1:2] != ["--all"]:
        sys.exit(__doc__)
    sys.path[0] = str(Path(__file__).parents[1])
    sys.exit(compare_all(sys.argv[2:]))
