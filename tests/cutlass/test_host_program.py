"""Host-only jit functions print the same under nvidia-cutlass-dsl and here: two compilers, one text."""

import os
from pathlib import Path

import pytest

from tests import fork_server

HERE = Path(__file__).parent


def output_of(program: str, *command: str) -> str:
    run = fork_server.run([*command, str(HERE / program)], env={**os.environ, "CUTE_DSL_ARCH": "sm_90a"})
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("program, lines", [("host_program.py", 70), ("frontend_program.py", 180)])
def test_prints_what_upstream_prints(program, lines):
    theirs = output_of(program)
    assert theirs.count("\n") >= lines
    assert output_of(program, "-m", "dsl") == theirs
