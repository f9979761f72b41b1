"""Operators and casts of static numbers, over types and values, against NVIDIA's compiler: equal, or the same class of
exception; if NVIDIA's compiler has none for them, ours may have a value."""

import json
from pathlib import Path

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeError, DSLWarning
from dsl.core.number.dtypes import Float4E2M1FNx2, Float16, Int8, Int32, Int64, Int128, Uint8
from dsl.core.number.static_value import NoStaticValue
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack

PROGRAM = Path(__file__).parents[1] / "static_numbers_program.py"
SHARE = 23  # of the pairs of types and operators; 1 asks for all of them
WIDER = {"invert", "pow", "float", "int"}  # what ours takes and NVIDIA's leaves to run time or refuses


@pytest.mark.slow
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


def test_an_arm_that_does_not_run_may_divide_by_zero():
    """NVIDIA's compiler takes what an arm assigns for a value of run time: kernels count with 0 stages there."""
    out = np.zeros(2, np.int32)

    @cute.jit
    def count(out: cute.Tensor, n: Int32, stages: cutlass.Constexpr):
        index, phase = Int32(2), Int32(1)
        if n > 4:
            phase ^= index // stages
            index = index % stages
        out[0], out[1] = index, phase

    count(from_dlpack(out), 3, 0)
    assert out.tolist() == [2, 1]
    count(from_dlpack(out), 5, 2)
    assert out.tolist() == [0, 0]


# --- Python numbers as values of a type: numpy's conversions, and what is refused -------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_integers_wrap_as_numpys_do():
    for dtype, theirs in ((Int32, np.int32), (Int64, np.int64), (Uint8, np.uint8), (Int8, np.int8)):
        for value in (0, -1, 5, 200, 300, -129, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63)):
            assert dtype(value).value == int(np.array([value], np.int64).astype(theirs)[0]), (dtype, value)


def test_values_that_no_type_holds_are_refused():
    for make, kind, message in (
        (lambda: Int32(2**64), OverflowError, "18446744073709551616 is too large for any integer type"),
        (lambda: Int32(float("nan")), ValueError, "Int32 holds integers, got nan"),
        (lambda: Int64(float("inf")), OverflowError, "Int64 holds integers, got inf"),
        (lambda: Int128(1), NoStaticValue, "Int128 has no values known while compiling"),
        (
            lambda: Float4E2M1FNx2(1.0),
            NoStaticValue,
            "Float4E2M1FNx2 has no values known while compiling: it is a type of bits in memory",
        ),
    ):
        with pytest.raises(kind) as caught:
            make()
        assert caught.value.message == message and caught.value.fix


def test_a_literal_that_does_not_fit_gives_a_warning():
    for make, message in (
        (lambda: Uint8(300), "TYPE_INT_LITERAL_OUT_OF_RANGE: 300 does not fit in Uint8 (0 to 255) and becomes 44"),
        (
            lambda: Float16(1e6),
            "TYPE_FLOAT_LITERAL_OVERFLOW: 1000000.0 is larger than the greatest Float16 and becomes inf",
        ),
    ):
        with pytest.warns(DSLWarning) as told:
            make()
        assert [str(one.message) for one in told] == [message]
