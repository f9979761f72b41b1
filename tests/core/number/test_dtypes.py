"""Operators and casts of static numbers, over types and values, against NVIDIA's compiler: equal, or the same class of
exception; where NVIDIA's has none for them ours may have a value."""

import json
from pathlib import Path

import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.core.number.dtypes import Int32, Int64
from dsl.cutlass import cute

PROGRAM = Path(__file__).parents[1] / "static_numbers_program.py"
SHARE = 23  # of the pairs of types and operators; 1 asks for all of them
WIDER = {"invert", "pow", "float", "int"}  # what ours takes and NVIDIA's leaves to run time or refuses


def test_as_nvidias_compiler(both):
    ours, theirs = ([json.loads(line) for line in run.output.splitlines()] for run in both(PROGRAM, [str(SHARE)]))
    assert [line[:3] for line in ours] == [line[:3] for line in theirs] and len(ours) > 150
    differing = [
        (mine[:3], here, there)
        for mine, other in zip(ours, theirs)
        for here, there in zip(mine[3], other[3])
        if here != there and not ((mine[0] in WIDER and isinstance(there, str)) or mine[0] == "pow")
    ]
    assert differing == []


def zero(n: Int32):
    return Int32(1) // Int32(0)


def remainder_of_a_float(n: Int32):
    return 1.5 % Int32(0)


def shift(n: Int32):
    return Int32(1) << -1


def grows(n: Int32):
    return Int64(3) ** Int64(1 << 62)


TEXTS = {
    zero: (ZeroDivisionError, "`//` divides by zero", "test the divisor first"),
    remainder_of_a_float: (ZeroDivisionError, "`%` divides by zero", "test the divisor first"),
    shift: (ValueError, "`<<` shifts by a negative count, -1", "shift the other way by its absolute value"),
    grows: (
        OverflowError,
        "`**` of two Int64 known while compiling gives more than 64 bits hold",
        "compute it of values known at run time, which wrap, or in smaller steps",
    ),
}


@pytest.mark.filterwarnings("ignore")
def test_the_words():
    for function, (kind, message, fix) in TEXTS.items():
        with pytest.raises(kind) as caught:
            cute.jit(function)(3)
        assert isinstance(caught.value, DSLUserCodeError)
        assert (caught.value.message, caught.value.fix) == (message, fix)
        assert caught.value.place.line == function.__code__.co_firstlineno + 1
