"""A sample of the sweep over wrong calls: wrong_calls.py. DSL_WRONG_CALLS=N makes N calls of every function."""

import os
import warnings

import pytest

from dsl import alias
from tests.fuzz import wrong_calls


@pytest.fixture
def surface():
    alias.install("emulator")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    alias.uninstall()


def test_a_wrong_call_is_reported_in_the_authors_words(surface):
    every = int(os.environ.get("DSL_WRONG_CALLS", "0"))
    count, found = wrong_calls.sweep(5, every or 1, share=1.0 if every else 0.4)
    assert count > 150 and found == []


OF_TMA = [
    "make_tiled_tma_atom(None, a, lay, (4, 8))",
    "make_tiled_tma_atom(op, 3, lay, (4, 8))",
    "make_tiled_tma_atom(op, a, 3, (4, 8))",
    "make_tiled_tma_atom(op, a, lay, None)",
    "tma_partition(atom, 0, lay, None, a)",
    "tma_partition(None, 0, lay, st, a)",
    "tma_partition(atom, 0, lay, 3, 'a')",
]


def test_tma_of_values_that_are_not_tensors(surface):
    calls = [
        f"cute.nvgpu.cpasync.{call}".replace("op,", "cute.nvgpu.cpasync.CopyBulkTensorTileG2SOp(),") for call in OF_TMA
    ]
    assert wrong_calls.forked(calls, False) == []


def test_errors_that_the_sweep_calls_faults():
    """The judge itself: each kind of bad error is one."""
    from dsl.core.errors import DSLUserCodeError

    assert wrong_calls.fault(TypeError("x"), True) == "bare exception"
    assert wrong_calls.fault(DSLUserCodeError("x", fix="y", id="INTERNAL"), True) == "fault of the compiler"
    assert wrong_calls.fault(DSLUserCodeError("x"), True) == "no fix"
    assert wrong_calls.fault(DSLUserCodeError("x", fix="y"), False) == "not at the call"
    assert wrong_calls.fault(DSLUserCodeError("dsl.x", fix="y"), True) == "words of the compiler"
    assert wrong_calls.fault(DSLUserCodeError("x", fix="y"), True) == ""
