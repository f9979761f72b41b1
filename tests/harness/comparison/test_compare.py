"""Comparison rules against numpy's own view of floats, over all bit patterns."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as npst

from harness.claim.rule import Rule
from harness.comparison.compare import agree, compare, differences, is_finite, ulps_apart
from harness.run.result import DTYPES, RAW, Array

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


def test_bfloat16_and_float8_decode_as_in_torch():
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


# --- attacks: a wrong output that looks right must not agree, under any rule that bounds its error ---


ATTACKS = {
    "all zeros": np.zeros_like,
    "all the first element": lambda raw: np.full_like(raw, raw.flat[0]),
    "two lanes swapped": lambda raw: raw[[1, 0, *range(2, raw.size)]],
    "shifted by one lane": lambda raw: np.roll(raw, 1),
    "reversed": lambda raw: raw[::-1].copy(),
    "one lane poisoned": lambda raw: np.where(np.arange(raw.size) == 5, raw.dtype.type(0xA5), raw),
    "one sign flipped": lambda raw: np.where(
        np.arange(raw.size) == 3, raw ^ raw.dtype.type(1 << (raw.itemsize * 8 - 1)), raw
    ),
    "the last lane has the value of the first": lambda raw: np.where(np.arange(raw.size) == raw.size - 1, raw[0], raw),
    "one NaN": lambda raw: np.where(np.arange(raw.size) == 7, raw.dtype.type((1 << (raw.itemsize * 8 - 1)) - 1), raw),
}
RULES = {"float32": ("bits", "ulp:4", "rel:1e-6"), "bfloat16": ("bits", "ulp:1"), "float8_e4m3fn": ("bits",),
         "int32": ("bits",), "uint8": ("bits",), "float64": ("bits", "rel:1e-12")}  # fmt: skip


def _rule(text):
    mode, _, bound = text.partition(":")
    return Rule(mode, float(bound or 0))


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize(("dtype", "rule"), [(d, rule) for d, rules in RULES.items() for rule in rules])
def test_no_attack_agrees(dtype, rule, attack):
    kind = DTYPES[dtype]
    raw = RAW[kind.bits]
    start = 0x40 if kind.bits == 8 else 0x4000 << (kind.bits - 16)
    step = 1 if kind.bits == 8 else 8 << (kind.bits - 16)
    good = (start + step * np.arange(32, dtype=np.uint64)).astype(raw)
    bad = ATTACKS[attack](good).astype(raw)
    assert agree(Array(kind, good), Array(kind, good), _rule(rule)).all()
    found = compare("out", Array(kind, good), Array(kind, bad), _rule(rule), "the golden")
    assert found is not None and found.indices.tolist() == np.flatnonzero(good != bad).tolist()


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_the_bound_in_ulps_is_exact_at_every_lane(steps):
    good = np.float32([1.0, -1.0, 3e38, 1e-40, 0.0, 65504.0]).view(np.uint32)
    kind = DTYPES["float32"]
    for lane in range(good.size):
        bad = good.copy()
        bad[lane] += np.uint32(steps)
        a, b = Array(kind, good), Array(kind, bad)
        assert compare("o", a, b, Rule("ulp", steps), "the golden") is None
        assert compare("o", a, b, Rule("ulp", steps - 1), "the golden").indices.tolist() == [lane]


def test_infinity_and_nan_agree_with_no_finite_number_however_loose_the_rule():
    kind = DTYPES["float32"]
    good = np.float32([3.4e38, 1.0, 0.0, -3.4e38]).view(np.uint32)
    for value in (np.inf, -np.inf, np.nan):
        bad = np.full(4, value, np.float32).view(np.uint32)
        for rule in (Rule("ulp", 10**9), Rule("rel", 1e9)):
            assert not agree(Array(kind, good), Array(kind, bad), rule).any()
            assert not agree(Array(kind, bad), Array(kind, good), rule).any()


@given(st.integers(0, 2**32 - 1), st.integers(0, 31), st.sampled_from([Rule(), Rule("ulp", 0), Rule("rel", 0.0)]))
def test_every_single_bit_matters(bits, bit, rule):
    kind = DTYPES["float32"]
    good = np.array([bits, 7], np.uint32)
    bad = good.copy()
    bad[0] ^= np.uint32(1 << bit)
    agrees = agree(Array(kind, good), Array(kind, bad), rule)
    zeros = {bits & 0x7FFFFFFF, int(bad[0]) & 0x7FFFFFFF} == {0}
    assert agrees.tolist() == [zeros and rule.mode != "bits", True]


def test_a_mask_hides_nothing_that_counts():
    kind = DTYPES["int32"]
    good, bad = (Array(kind, np.array(values, np.uint32)) for values in ([1, 2, 3, 4], [9, 2, 9, 4]))
    mask = np.array([False, True, True, True])
    found = compare("o", good, bad, Rule(), "the golden", mask)
    assert found.indices.tolist() == [2]
    assert found.message == "`o` differs from the golden in 1 of 3 elements that count (bits)"


def said(values: np.ndarray) -> np.ndarray:
    """As float64, as numpy reads them; a signalling NaN becomes a quiet one without a word."""
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)


def allclose(expected: np.ndarray, got: np.ndarray, relative: float, absolute: float) -> bool:
    """numpy.testing's word on one element."""
    try:
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(said(got), said(expected), rtol=relative, atol=absolute, equal_nan=True)
    except AssertionError:
        return False
    return True


@given(pairs(), st.sampled_from([0, 1e-7, 1e-3, 0.5, 2]), st.sampled_from([0, 1e-30, 1e-6, 1.0, 1e300]))
def test_close_is_numpys(pair, relative, absolute):
    """Of any bits: subnormals, both zeros, infinities, NaNs of every payload."""
    name, a, b = pair
    x, y = (values.view(FLOATS[name]) for values in (a, b))
    arrays = Array(DTYPES[name], a), Array(DTYPES[name], b)
    wanted = [allclose(x[i : i + 1], y[i : i + 1], relative, absolute) for i in range(x.size)]
    assert agree(*arrays, Rule("close", relative, absolute=absolute)).tolist() == wanted
    wanted = [allclose(x[i : i + 1], y[i : i + 1], 0, absolute) for i in range(x.size)]
    assert agree(*arrays, Rule("abs", absolute=absolute)).tolist() == wanted


@pytest.mark.parametrize("got, fine", [
    (np.inf, [False, True, False]), (-np.inf, [False, False, False]), (np.nan, [False, False, True]),
    (1e9, [False, False, False]), (1.5, [True, False, False]),
])  # fmt: skip
def test_infinity_and_nan_are_near_nothing_else(got, fine):
    expected, values = np.float32([1, np.inf, np.nan]), np.full(3, got, np.float32)
    assert agree(array(expected), array(values), Rule("close", 0.1, absolute=1.0)).tolist() == fine
    assert agree(array(expected), array(values), Rule("abs", absolute=1.0)).tolist() == fine


@pytest.mark.parametrize("kind", ["int8", "uint8", "int32", "uint64", "int64"])
def test_integers_have_an_absolute_bound(kind):
    """Exactly, also at the ends of their range."""
    about = np.iinfo(kind)
    ends = [about.min, about.min + 1, about.min + 2, about.max - 2, about.max - 1, about.max]
    a, b = (np.array(one, kind) for one in zip(*[(x, y) for x in ends for y in ends], strict=True))
    for bound in (0, 1, 2):
        wanted = [abs(int(x) - int(y)) <= bound for x, y in zip(a, b, strict=True)]
        assert agree(array(a), array(b), Rule("abs", absolute=bound)).tolist() == wanted
    difference = compare("o", array(a), array(b), Rule("rel", 0.5), "the golden")
    assert difference and difference.message == f'`o` is {kind}, which the rule rel:0.5 cannot compare: use "bits"'
    assert compare("o", array(a), array(a), Rule("close", 0.5, absolute=1), "the golden") is None
