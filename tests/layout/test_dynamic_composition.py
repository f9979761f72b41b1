"""Composition of layouts known at run time only: NVIDIA's compiler prints the same, and R(c) is A(B(c))."""

import re
from pathlib import Path

import pytest

from tests.recorded import output, recorded

PROGRAM = Path(__file__).with_name("dynamic_composition.py")


@pytest.mark.slow
def test_compositions_are_upstreams():
    ours = output(PROGRAM, "-m", "dsl", "--device", "emulator")
    assert ours == recorded(PROGRAM)
    values = re.findall(r"^(\d+) (\d+)$", ours, re.MULTILINE)
    assert len(values) == 60 and all(composed == applied for composed, applied in values)
