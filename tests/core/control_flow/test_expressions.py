"""Choices, membership and comparisons of dynamic values: Python's results, in the types that arithmetic has."""

import itertools
import warnings

import pytest
from hypothesis import given, settings, strategies as st

import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeError, PortabilityWarning
from dsl.core.number.dtypes import Boolean, Float16, Float32, Float64, Int8, Int32, Int64, Uint8, Uint32, Uint64
from dsl.cutlass import cute

pytestmark = pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")
TYPES = [Boolean, Int8, Uint8, Int32, Uint32, Int64, Uint64, Float16, Float32, Float64]


@pytest.mark.parametrize("a, b", list(itertools.combinations(TYPES, 2)), ids=str)
def test_a_choice_of_two_types_is_of_the_type_of_their_sum(a, b):
    @cute.jit
    def program(n: Int32, x: Int32):
        left, right = a(x), b(x)
        chosen, other = left if n > 2 else right, right if n > 2 else left
        assert type(chosen) is type(other) is type(left + right)
        return Float64(chosen), Float64(other)

    for n in (1, 3):
        assert program(n, 1) == (1.0, 1.0) and program(n, 0) == (0.0, 0.0)


@settings(max_examples=30, deadline=None, database=None)
@given(
    st.one_of(st.integers(-100, 100), st.floats(-8, 8, width=16)),
    st.one_of(st.integers(-100, 100), st.floats(-8, 8, width=16)),
    st.booleans(),
)
def test_python_numbers_choose_as_pythons_do(a, b, first):
    @cute.jit
    def program(n: Int32):
        return a if n > 2 else b

    assert program(3 if first else 1) == (a if first else b)


def test_a_literal_takes_the_other_type_where_it_fits():
    @cute.jit
    def program(n: Int32, x: Int8):
        assert type(x if n > 2 else 100) is Int8
        assert type(1000 if n > 2 else x) is Int32
        assert type(1 if n > 2 else Boolean(x)) is Int32
        return 1000 if n > 2 else x

    assert program(3, 5) == 1000 and program(1, 5) == 5


def test_select_and_where_of_numbers():
    @cute.jit
    def program(n: Int32):
        return cutlass.select_(n > 2, n, 5), cutlass.select_(n > 2, n, 2.5), cute.where(n > 2, n, Int32(5))

    assert program(3) == (3, 3.0, 3) and program(1) == (5, 2.5, 5)


@settings(max_examples=20, deadline=None, database=None)
@given(
    st.sampled_from(
        [
            (1, 5),
            [3],
            {2: "a", 7: "b"},
            {4, 5},
            frozenset([6]),
            range(5),
            range(9, 0, -2),
            range(3, 3),
            range(-4, 60, 7),
            (),
        ]
    ),
    st.integers(-6, 12),
)
def test_membership_is_pythons(items, x):
    @cute.jit
    def program(n: Int32, static: cutlass.Constexpr):
        return Int32(n in items), Int32(n not in items), Int32(static in items), Int32(n in [*items, n])

    assert program(x, x) == (x in items, x not in items, x in items, True)


def test_logic_keeps_the_values():
    @cute.jit
    def program(n: Int32, x: Float32):
        return n and 5, n or 7, n and x, Int32(not n), Int32(0 < n < 4 < x)

    assert program(3, 4.5) == (5, 3, 4.5, 0, 1) and program(0, 2.5) == (0, 7, 0.0, 1, 0)


def test_extremes():
    @cute.jit
    def program(n: Int32, x: Float32):
        return max(n, 9, 4), min([n, 3]), max(n, x), min(n, 2.5), cutlass.max(n, 2), cutlass.min(n, 2), max(3, 2.0)

    assert program(7, 1.5) == (9, 3, 7.0, 2.5, 7, 2, 3)


def test_any_and_all():
    @cute.jit
    def program(n: Int32):
        tests = [n > 2, n > 5]
        return Int32(any(tests)), Int32(all(tests)), Int32(any(t for t in tests)), any([0, ""]), all([])

    assert [program(n)[:3] for n in (1, 3, 7)] == [(0, 0, 0), (1, 0, 1), (1, 1, 1)]


def test_a_promoting_choice_is_not_portable():
    @cute.jit
    def promotes(n: Int32, x: Float32):
        return n if n > 2 else x

    @cute.jit
    def agrees(n: Int32):
        cute.printf("{} {}", n if n > 2 else 4, Int64(n) if n > 2 else Int64(1))

    with warnings.catch_warnings():
        warnings.simplefilter("error", PortabilityWarning)
        agrees(3)
        with pytest.raises(DSLUserCodeError) as caught:
            promotes(3, 2.5)
    assert (
        str(caught.value).split("\n", 1)[1]
        == """\
    return n if n > 2 else x
           ^^^^^^^^^^^^^^^^^ a choice between Int32 and Float32 becomes Float32, which NVIDIA's compiler rejects
fix: convert both: `Float32(...)`"""
    )
