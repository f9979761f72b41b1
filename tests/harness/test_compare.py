"""Comparison rules against numpy's own view of floats, over all bit patterns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from harness.compare import agree, compare, differences, is_finite, ulps_apart
from harness.repro import Rule
from harness.result import DTYPES, RAW, Array

FLOATS = {"float16": np.float16, "float32": np.float32, "float64": np.float64}


def array(values, name: str | None = None) -> Array:
    values = np.asarray(values)
    dtype = DTYPES[name or values.dtype.name]
    return Array(dtype, values.view(RAW[dtype.bits]))


@st.composite
def pairs(draw):
    """A float type and two arrays of any bits, near each other or not."""
    name = draw(st.sampled_from(sorted(FLOATS)))
    raw = RAW[DTYPES[name].bits]
    elements = npst.arrays(raw, 8)
    a = draw(elements)
    b = draw(st.one_of(elements, st.just(a), st.integers(1, 3).map(lambda n: (a + raw(n)).astype(raw))))
    return name, a, b


@given(pairs())
def test_bits_is_equality_of_bytes(pair):
    name, a, b = pair
    same = [x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True)]
    assert agree(Array(DTYPES[name], a), Array(DTYPES[name], b), Rule()).tolist() == same


@given(pairs())
def test_finite_is_numpys(pair):
    name, a, _ = pair
    assert is_finite(Array(DTYPES[name], a)).tolist() == np.isfinite(a.view(FLOATS[name])).tolist()


@given(pairs())
def test_ulps_is_symmetric_and_zero_only_for_equal_numbers(pair):
    name, a, b = pair
    x, y = Array(DTYPES[name], a), Array(DTYPES[name], b)
    assert ulps_apart(x, y).tolist() == ulps_apart(y, x).tolist()
    finite = is_finite(x) & is_finite(y)
    equal = a.view(FLOATS[name]) == b.view(FLOATS[name])
    assert (ulps_apart(x, y) == 0)[finite].tolist() == equal[finite].tolist()


@given(st.sampled_from(sorted(FLOATS)), st.data(), st.integers(1, 4))
def test_one_nextafter_is_one_ulp(name, data, steps):
    kind = FLOATS[name]
    width = DTYPES[name].bits
    start = kind(data.draw(st.floats(allow_nan=False, allow_infinity=False, width=width)))
    value = start
    for _ in range(steps):
        with np.errstate(over="ignore"):
            value = np.nextafter(value, kind(np.inf))
    if not np.isfinite(value):
        return
    apart = int(ulps_apart(array([start]), array([value]))[0])
    assert apart == steps
    assert agree(array([start]), array([value]), Rule("ulp", steps)).all()
    assert not agree(array([start]), array([value]), Rule("ulp", steps - 1)).all()


@given(pairs(), st.floats(0, 2))
def test_rel_is_the_formula(pair, bound):
    name, a, b = pair
    x, y = a.view(FLOATS[name]).astype(np.float64), b.view(FLOATS[name]).astype(np.float64)
    with np.errstate(all="ignore"):
        near = np.isfinite(x) & np.isfinite(y) & (np.abs(y - x) <= bound * np.abs(x))
    got = agree(Array(DTYPES[name], a), Array(DTYPES[name], b), Rule("rel", bound))
    assert got.tolist() == ((a == b) | near).tolist()


@given(pairs(), st.sampled_from([Rule(), Rule("ulp", 3), Rule("rel", 0.1)]))
def test_every_rule_accepts_itself_and_any_looser_one_accepts_more(pair, rule):
    name, a, b = pair
    x, y = Array(DTYPES[name], a), Array(DTYPES[name], b)
    assert agree(x, x, rule).all()
    assert (agree(x, y, rule) | ~agree(x, y, Rule())).all()


CASES = [
    (-0.0, 0.0, Rule(), False),
    (-0.0, 0.0, Rule("ulp", 0), True),
    (np.inf, np.finfo(np.float32).max, Rule("ulp", 1), False),
    (np.inf, np.inf, Rule("ulp", 0), True),
    (-np.inf, np.inf, Rule("rel", 1.0), False),
    (np.nan, 1.0, Rule("rel", 1.0), False),
    (1e-45, -1e-45, Rule("ulp", 2), True),
]


@pytest.mark.parametrize(("expected", "got", "rule", "agrees"), CASES)
def test_edges(expected, got, rule, agrees):
    a, b = (array(np.array([value], np.float32)) for value in (expected, got))
    assert agree(a, b, rule).all() == agrees


def test_nan_is_itself_only_with_its_payload():
    quiet, other = (Array(DTYPES["float32"], np.array([bits], np.uint32)) for bits in (0x7FC00000, 0x7FC00001))
    for rule in (Rule(), Rule("ulp", 5), Rule("rel", 1.0)):
        assert agree(quiet, quiet, rule).all() and not agree(quiet, other, rule).any()


def test_bfloat16_and_float8_decode_as_torch_says():
    torch = pytest.importorskip("torch")
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        raw = np.arange(1 << DTYPES[name].bits, dtype=RAW[DTYPES[name].bits])
        wanted = torch.from_numpy(raw.copy()).view(getattr(torch, name)).float().numpy()
        got = Array(DTYPES[name], raw)
        np.testing.assert_array_equal(got.values(), wanted)
        assert is_finite(got).tolist() == np.isfinite(wanted).tolist()
        assert compare("x", got, got, Rule("ulp", 0), "itself") is None


def test_shape_dtype_and_names_come_first():
    f, i = array(np.zeros(3, np.float32)), array(np.zeros(3, np.int32))
    assert compare("o", f, i, Rule(), "the golden").message == "`o` is int32; the golden has float32"
    reshaped = array(np.zeros((3, 1), np.float32))
    assert compare("o", f, reshaped, Rule(), "the golden").message == "`o` has the shape (3, 1); the golden has (3,)"
    assert "cannot compare" in compare("o", i, i, Rule("ulp", 1), "the golden").message
    assert compare("o", f, i, Rule("undef"), "the golden") is None
    both = differences({"a": f}, {"b": f}, {}, "the golden")
    assert [d.message for d in both] == [
        "the golden has the output `a`, which run() did not return",
        "run() returned `b`, which the golden has not",
    ]
    assert not differences({}, {"b": f}, {}, "expected()", partial=True)
