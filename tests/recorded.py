"""The output of NVIDIA's compiler for programs of the tests, kept next to them: its import and compiles take long, and
the output of a release for a text does not change.

    uv run python -m tests.recorded             record all of them again, with the release that is installed
    uv run python -m tests.recorded PROGRAM     record one

`PROGRAM.upstream.gz` begins with the release and the hash of the program. A test that reads one fails if either has
changed; `tests/test_recorded.py`, which is slow, asks NVIDIA's compiler again.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
from importlib import metadata
from pathlib import Path

from tests import fork_server

HERE = Path(__file__).parent
PROGRAMS = (
    "cutlass/frontend_program.py",
    "cutlass/host_program.py",
    "layout/dynamic_composition.py",
    "layout/dynamic_layouts.py",
    "tile/mma/mma_program.py",
)


def output(program: Path, *command: str) -> str:
    """The output of a program, run by Python alone (NVIDIA's compiler) or by `command` before it."""
    run = fork_server.run(["-W", "ignore", *command, str(program)], env={**os.environ, "CUTE_DSL_ARCH": "sm_90a"})
    assert run.returncode == 0, run.stderr
    return run.stdout


def recorded(program: Path) -> str:
    """The recorded output of NVIDIA's compiler for a program."""
    head, _, text = gzip.decompress(_file(program).read_bytes()).decode().partition("\n")
    again = f"uv run python -m tests.recorded {program.relative_to(HERE)}"
    assert head == _head(program), f"{program.name} was recorded as {head}, and now is {_head(program)}: {again}"
    return text


def record(program: Path) -> None:
    data = f"{_head(program)}\n{output(program)}".encode()
    _file(program).write_bytes(gzip.compress(data, mtime=0))


def _head(program: Path) -> str:
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    return f"nvidia-cutlass-dsl {metadata.version('nvidia-cutlass-dsl')}, program {digest[:16]}"


def _file(program: Path) -> Path:
    return program.with_suffix(".upstream.gz")


if __name__ == "__main__":
    for name in sys.argv[1:] or PROGRAMS:
        record(HERE / name)
        print("recorded", name)
