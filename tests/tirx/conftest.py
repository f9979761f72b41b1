"""`run(f, *arguments)`: a T.prim_func compiled and run on the emulator; its arrays as the kernel left them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dsl.tirx as tvm
from dsl.launch import session


@pytest.fixture(scope="module", autouse=True)
def emulated():
    """Programs of a test file run on the emulator."""
    session.start("emulator")
    yield
    session.stop()


@pytest.fixture
def run():
    def go(function, *arguments):
        executable = tvm.compile(function, target="cuda")
        given = [tvm.runtime.tensor(a, device=tvm.cuda(0)) if isinstance(a, np.ndarray) else a for a in arguments]
        executable(*given)
        return [a.numpy() if isinstance(a, tvm.runtime.Tensor) else a for a in given]

    return go


@pytest.fixture
def ptx():
    def text(function):
        return tvm.compile(function, target="cuda").mod.imports[0].inspect_source("ptx")

    return text


@pytest.fixture
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
