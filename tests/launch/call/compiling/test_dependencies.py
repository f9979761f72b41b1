"""Values that tracing reads besides its arguments: a change is seen, and reads that cannot be seen are reported."""

import math
import types

import pytest

from dsl.launch.call.compiling.dependencies import Reads, Unseen

LIMIT = 5
SCALE = (1, (2.0, "x"))
TABLE = [1, 2]


def helper(x, extra=3):
    return x + LIMIT + extra


def calls(x):
    return helper(x) + math.floor(SCALE[1][0]) + len(SCALE)


def validator(function):
    reads = Reads()
    reads.function(function)
    return reads.validator()


def test_values_that_functions_read_are_compared(monkeypatch):
    same = validator(calls)
    assert same()
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "LIMIT", 6)
        assert not same()
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "helper", lambda x: x)
        assert not same()
    with monkeypatch.context() as patch:
        patch.setattr(helper, "__defaults__", (4,))
        assert not same()
    with monkeypatch.context() as patch:
        patch.setattr(math, "floor", math.ceil)
        assert not same()
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "len", lambda x: 0)  # hides the builtin
        assert not same()
    assert same()


def test_closures_are_compared():
    value = 3

    def inner(x):
        return x + value

    same = validator(inner)
    assert same()
    value = 4
    assert not same()
    value = 3
    assert same()


def sets_a_global():
    global LIMIT
    LIMIT = 7


def imports():
    import os

    return os


MODULE = types.ModuleType("made_up")
MODULE.value = 5


def of_a_module():
    return MODULE.value


def test_attributes_of_modules_are_compared(monkeypatch):
    same = validator(of_a_module)
    monkeypatch.setattr(MODULE, "value", 6)
    assert not same()


@pytest.mark.parametrize(
    "function",
    [
        sets_a_global,
        imports,
        lambda: TABLE[0],
        lambda: print("x"),
        lambda: math.__name__,
        lambda: MODULE.absent,
        lambda: pytest.approx(1),
        lambda: (yield),
    ],
)
def test_reads_that_cannot_be_seen_are_reported(function):
    with pytest.raises(Unseen):
        validator(function)


def test_a_function_that_reaches_itself_ends():
    def again(n):
        return again(n - 1) if n else 0

    assert validator(again)()
