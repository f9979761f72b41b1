"""A kernel of each instruction leaves what apache-tvm 0.27's leaves (instructions.py recorded it): a sample, or all.

DSL_SWEEP=all pytest tests/tirx/oracle/test_instructions.py
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

import dsl.tirx as tvm
from dsl import alias
from tests.tirx.oracle import instructions

RECORDED = np.load(instructions.RECORD)
EVERY = range(len(instructions.LINES))
CHOSEN = list(EVERY) if os.environ.get("DSL_SWEEP") == "all" else random.Random(1).sample(EVERY, 24)


@pytest.fixture(scope="module")
def installed():
    alias.install("emulator")
    yield
    alias.uninstall()


@pytest.mark.parametrize("number", CHOSEN, ids=lambda number: instructions.LINES[number][0])
def test_values_are_upstreams(number, installed):
    compiled, given = tvm.compile(instructions.function(number), target="cuda"), instructions.arguments(number)
    tensors = {name: tvm.runtime.tensor(array, device=tvm.cuda(0)) for name, array in given.items()}
    compiled(*tensors.values())
    for name, tensor in tensors.items():
        if name.startswith("Y"):
            theirs = RECORDED[f"{number}.{name}"]
            np.testing.assert_array_equal(tensor.numpy().view("uint8"), theirs.view("uint8"), err_msg=name)


def test_every_line_is_recorded():
    wanted = {f"{n}.{name}" for n in EVERY for name in instructions.parameters(instructions.LINES[n]) if name[0] == "Y"}
    assert wanted == set(RECORDED.files) and len(EVERY) > 280
