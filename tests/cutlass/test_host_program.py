"""Host-only jit functions print the same under nvidia-cutlass-dsl and here: two compilers, one text."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def output_of(program: str, *command: str) -> str:
    run = subprocess.run(
        [sys.executable, *command, str(HERE / program)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "CUTE_DSL_ARCH": "sm_90a"},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("program, lines", [("host_program.py", 70), ("frontend_program.py", 180)])
def test_prints_what_upstream_prints(program, lines):
    theirs = output_of(program)
    assert theirs.count("\n") >= lines
    assert output_of(program, "-m", "dsl") == theirs
