"""Host-only jit functions print the same under nvidia-cutlass-dsl and here: two compilers, one text."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("host_program.py")


def output_of(*command: str) -> str:
    run = subprocess.run([sys.executable, *command, str(PROGRAM)], capture_output=True, text=True, timeout=120,
                         env={**os.environ, "CUTE_DSL_ARCH": "sm_90a"})
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_prints_what_upstream_prints():
    theirs = output_of()
    assert theirs.count("\n") > 70
    assert output_of("-m", "dsl") == theirs
