"""Composition of layouts known at run time only: NVIDIA's compiler prints the same, and R(c) is A(B(c))."""

import re
from pathlib import Path

from tests import fork_server

PROGRAM = Path(__file__).with_name("dynamic_composition.py")


def output_of(*command: str) -> str:
    run = fork_server.run([*command, str(PROGRAM)])
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_compositions_are_upstreams():
    theirs, ours = output_of(), output_of("-m", "dsl", "--device", "emulator")
    assert ours == theirs
    values = re.findall(r"^(\d+) (\d+)$", ours, re.MULTILINE)
    assert len(values) == 60 and all(composed == applied for composed, applied in values)
