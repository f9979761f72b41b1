"""Kernels over every dtype and many constructs leave what apache-tvm's leave (sweep.py recorded it): a sample, or all.

DSL_SWEEP=all pytest tests/tirx/oracle/test_sweep.py
"""

from __future__ import annotations

import os
import random
import warnings
from pathlib import Path

import numpy as np
import pytest

import dsl.tirx as tvm
from dsl import alias
from tests.tirx.oracle import sweep_cases as cases

RECORDED = np.load(Path(__file__).with_name("sweep.npz"))
CASTS = [name for name in cases.SOURCES if name.startswith("cast_")]
CHOSEN = (
    list(cases.SOURCES)
    if os.environ.get("DSL_SWEEP") == "all"
    else [name for name in cases.SOURCES if name not in CASTS] + random.Random(0).sample(CASTS, 16)
)
CLOSE = {"functions": 2e-6, "functions_of_two": 2e-6}  # within 2 ulp of CUDA


@pytest.fixture(scope="module")
def launched():
    import linecache

    alias.install("emulator")
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in CHOSEN:
            source, file = cases.SOURCES[name], f"sweep_{name}.py"
            linecache.cache[file] = (len(source), None, source.splitlines(True), file)
            names = {"__name__": "sweep"}
            exec(compile(source, file, "exec"), names)
            given = [
                tvm.runtime.tensor(argument, device=tvm.cuda(0)) if not isinstance(argument, int) else argument
                for argument in cases.arguments(name)
            ]
            tvm.compile(names[name], target="cuda")(*given)
            found[name] = given
    alias.uninstall()
    return found


@pytest.mark.slow
def test_values_are_upstreams(launched):
    for name, given in launched.items():
        for (label, *_), mine in zip(cases.PARAMETERS[name], given, strict=True):
            if label not in cases.OUTPUTS:
                continue
            theirs = RECORDED[f"{name}.{label}"]
            if name in CLOSE:
                np.testing.assert_allclose(mine.numpy(), theirs, rtol=CLOSE[name], err_msg=name)
            else:
                np.testing.assert_array_equal(mine.numpy(), theirs, err_msg=name)


def test_every_kernel_is_recorded():
    wanted = {
        f"{name}.{label}"
        for name, parameters in cases.PARAMETERS.items()
        for label, *_ in parameters
        if label in cases.OUTPUTS
    }
    assert wanted == set(RECORDED.files) and len(cases.SOURCES) > 140
