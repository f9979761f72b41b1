"""Elementary functions of kernels against mpmath, to 140 bits: 3 ulp of a double, one ulp of a float."""

import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from dsl.cutlass import Constexpr, cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session

COUNT = 1024


@pytest.fixture(autouse=True)
def emulator():
    yield session.start("emulator")
    session.stop()


@cute.kernel
def kernel(function: Constexpr, a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    i = cute.arch.block_idx()[0] * 128 + cute.arch.thread_idx()[0]
    out[i] = function(a[i], b[i])


@cute.jit
def host(function: Constexpr, a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
    kernel(function, a, b, out).launch(grid=out.shape[0] // 128, block=128)


def computed(function, a: np.ndarray, b: np.ndarray | None = None) -> np.ndarray:
    out = np.zeros_like(a)
    host(function if b is not None else lambda x, _: function(x), *map(from_dlpack, (a, a if b is None else b, out)))
    return out


def ulps(got: float, exact: mpf, dtype: type) -> float:
    """How far `got` is from `exact` in units of the last place of the type."""
    precision, least = (53, -1074) if dtype is np.float64 else (24, -149)
    unit = mpf(2) ** max(mpmath.frexp(exact)[1] - precision, least)
    return float(abs(mpf(got) - exact) / unit)


def worst(name: str, reference, x: np.ndarray) -> float:
    with mpmath.workprec(140):
        results = computed(getattr(cute.math, name), x).tolist()
        pairs = [(got, reference(mpf(value))) for value, got in zip(x.tolist(), results)]
        return max(ulps(got, exact, x.dtype.type) for got, exact in pairs if exact)


def spread(low: float, high: float, dtype: type, signed: bool) -> np.ndarray:
    """Numbers whose logarithms are evenly spread."""
    rng = np.random.default_rng(3)
    sizes = np.exp(rng.uniform(np.log(low), np.log(high), COUNT))
    return (sizes * rng.choice([-1, 1], COUNT) if signed else sizes).astype(dtype)


def evenly(low: float, high: float, dtype: type) -> np.ndarray:
    return np.random.default_rng(4).uniform(low, high, COUNT).astype(dtype)


REFERENCES = {
    "exp2": lambda x: mpf(2) ** x,
    "log2": lambda x: mpmath.log(x, 2),
    "exp": mpmath.exp,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
}
# name: the range for doubles and for floats; above it the function overflows or is constant
EVEN = {
    "exp": ((-745, 709), (-103, 88)),
    "exp2": ((-1074, 1023), None),
    "expm1": ((-40, 709), (-20, 88)),
    "log": ((0.5, 2), (0.5, 2)),
    "log2": ((0.5, 2), (0.5, 2)),
    "log10": ((0.5, 2), (0.5, 2)),
    "log1p": ((-0.999, 1), (-0.999, 1)),
    "sin": ((-100, 100), (-100, 100)),
    "cos": ((-100, 100), (-100, 100)),
    "tan": ((-100, 100), (-100, 100)),
    "asin": ((-1, 1), (-1, 1)),
    "acos": ((-1, 1), (-1, 1)),
    "acosh": ((1, 3), (1, 3)),
    "atanh": ((-0.999, 0.999), (-0.999, 0.999)),
    "erfc": ((-6, 26.5), (-6, 10)),
}
SPREAD = {
    "expm1": ((1e-12, 1), (1e-12, 1)),
    "sin": ((1e5, 1e300), (1e5, 3e38)),
    "cos": ((1e5, 1e300), (1e5, 3e38)),
    "tan": ((1e5, 1e300), (1e5, 3e38)),
    "atan": ((1e-8, 1e12), (1e-8, 1e12)),
    "sinh": ((1e-8, 700), (1e-8, 88)),
    "cosh": ((1e-8, 700), (1e-8, 88)),
    "tanh": ((1e-8, 30), (1e-8, 30)),
    "asinh": ((1e-10, 1e300), (1e-10, 3e38)),
    "cbrt": ((1e-300, 1e300), (1e-38, 3e38)),
    "erf": ((1e-10, 7), (1e-10, 7)),
    "log": ((1e-308, 1e308), (1e-38, 3e38)),
    "log2": ((1e-308, 1e308), (1e-38, 3e38)),
    "log10": ((1e-308, 1e308), (1e-38, 3e38)),
    "log1p": ((1e-15, 1e300), (1e-15, 3e38)),
}
CASES = [
    (name, numbers, table[name][place], dtype)
    for place, dtype in ((0, np.float64), (1, np.float32))
    for numbers, table in ((evenly, EVEN), (spread, SPREAD))
    for name in table
    if table[name][place]
]


@pytest.mark.slow
@pytest.mark.parametrize("name, numbers, bounds, dtype", CASES)
def test_is_within_its_bound(name, numbers, bounds, dtype):
    signed = () if numbers is evenly else (not name.startswith("log"),)
    reference = REFERENCES.get(name) or getattr(mpmath, name)
    assert worst(name, reference, numbers(*bounds, dtype, *signed)) < (3.0 if dtype is np.float64 else 1.0)


def test_pow_is_within_its_bound():
    rng = np.random.default_rng(6)
    x = np.exp(rng.uniform(-5, 5, COUNT))
    y = rng.uniform(-130, 130, COUNT)
    got = computed(cute.math.pow, x, y)
    with mpmath.workprec(140):
        assert max(ulps(g, mpf(a) ** mpf(b), np.float64) for a, b, g in zip(x.tolist(), y.tolist(), got.tolist())) < 3
    small, powers = x.astype(np.float32), (y / 8).astype(np.float32)
    got = computed(cute.math.pow, small, powers)
    with mpmath.workprec(140):
        assert (
            max(ulps(g, mpf(a) ** mpf(b), np.float32) for a, b, g in zip(small.tolist(), powers.tolist(), got.tolist()))
            < 1
        )


SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan]
)


@pytest.mark.parametrize("name, reference", [("pow", np.power), ("atan2", np.arctan2), ("rem", np.fmod)])
def test_special_operands_are_ieee_754s(name, reference):
    x, y = (part.ravel() for part in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(all="ignore"):
        expected = reference(x, y)
    got = computed(getattr(cute.math, name), x.copy(), y.copy())
    np.testing.assert_allclose(got, expected, rtol=1e-15)
    np.testing.assert_array_equal(np.signbit(got)[~np.isnan(expected)], np.signbit(expected)[~np.isnan(expected)])


UNARY = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
}


@pytest.mark.parametrize("name", UNARY)
def test_special_operands_of_one_argument(name):
    x = np.resize(SPECIAL, 128)
    with np.errstate(all="ignore"):
        expected = UNARY[name](x)
    got = computed(getattr(cute.math, name), x)
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-300)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(got)[zero], np.signbit(expected)[zero])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_remainder_is_exact(dtype):
    rng = np.random.default_rng(8)
    raw = rng.integers(0, 2**63, (2, COUNT), dtype=np.uint64)
    x, y = raw.view(np.float64) if dtype is np.float64 else (raw >> np.uint64(32)).astype(np.uint32).view(np.float32)
    x, y = (np.where(np.isfinite(part) & (part != 0), part, 1).astype(dtype) for part in (x, y))
    np.testing.assert_array_equal(computed(lambda a, b: a % b, x, y), np.fmod(x, y))
