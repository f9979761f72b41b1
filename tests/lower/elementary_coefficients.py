"""The polynomials of dsl/lower/elementary: what each stands for, how far it is off, and how such are found.

    python tests/lower/elementary_coefficients.py          fits each again, prints it and both errors as powers of two

`errors` are relative to the function's result (by their `weight`). A fit is minimax by Lawson's weights, with its
coefficients rounded to floats one after another, the lowest power first, and the others fitted again.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mpmath
import numpy as np
from mpmath import mpf

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT)] * (str(ROOT) not in sys.path)


@dataclass
class Curve:
    """`table` of a module approximates `exact` from `low` to `high`; an error times `weight` is one of the result."""

    table: str
    exact: Callable
    weight: Callable
    low: float
    high: float

    def coefficients(self) -> list[float]:
        """Those in the source, the lowest power first."""
        module, name = self.table.split(".")
        return list(reversed(getattr(importlib.import_module(f"dsl.lower.elementary.{module}"), name)))


def odd(function: Callable) -> Callable:
    """(f(x) / x - 1) / x**2 as a function of x**2."""

    def exact(z):
        x = mpmath.sqrt(z)
        return (function(x) / x - 1) / z

    return exact


def logarithm(base: Callable) -> Callable:
    return lambda f: (mpmath.log(1 + f) - f) / f**2 / base()


def _erf(z):
    x = mpmath.sqrt(z)
    return (mpmath.erf(x) / x - 2 / mpmath.sqrt(mpmath.pi)) / z


def _erfc(t):
    a = (2 + t / 2) / (1 - t)
    return (1 + 2 * a) * mpmath.exp(a * a) * mpmath.erfc(a)


def _acosh(t):
    return (mpmath.acosh(1 + t) / mpmath.sqrt(2 * t) - 1) / t


def _exp_rest(r):
    return (mpmath.exp(r) - 1 - r) / r**2


HALF_LN2, ROOTS, QUARTER = 0.3467, (-0.2929, 0.41422), 0.7857
CURVES = [
    Curve("exponential.EXP", _exp_rest, lambda r: r * r / mpmath.exp(r), -HALF_LN2, HALF_LN2),
    Curve("exponential.EXPM1", _exp_rest, abs, -HALF_LN2, HALF_LN2),
    Curve("exponential._COSH", lambda z: (mpmath.cosh(mpmath.sqrt(z)) - 1) / z, abs, 0, HALF_LN2**2),
    Curve("exponential._SINH", odd(mpmath.sinh), abs, 0, HALF_LN2**2),
    Curve("exponential._SINH_NEAR", odd(mpmath.sinh), abs, 0, 1),
    Curve("exponential._TANH", odd(mpmath.tanh), abs, 0, 0.65**2),
    Curve("logarithm._LOG", logarithm(lambda: 1), abs, -0.25, 0.5),
    Curve("logarithm._LOG_ROOT", logarithm(lambda: 1), abs, *ROOTS),
    Curve("logarithm._LOG2", logarithm(lambda: mpmath.log(2)), lambda f: abs(f) * mpmath.log(2), *ROOTS),
    Curve("logarithm._LOG10", logarithm(lambda: mpmath.log(10)), lambda f: abs(f) * mpmath.log(10), *ROOTS),
    Curve("logarithm._ASINH", odd(mpmath.asinh), abs, 0, 0.25),
    Curve("logarithm._ATANH", odd(mpmath.atanh), abs, 0, 0.25),
    Curve("logarithm._ACOSH", _acosh, abs, 0, 0.5),
    Curve("trigonometric._SIN", odd(mpmath.sin), abs, 0, QUARTER**2),
    Curve(
        "trigonometric._COS",
        lambda z: (mpmath.cos(mpmath.sqrt(z)) - 1) / z,
        lambda z: z / mpmath.cos(mpmath.sqrt(z)),
        0,
        QUARTER**2,
    ),
    Curve("trigonometric._TAN", odd(mpmath.tan), abs, 0, QUARTER**2),
    Curve("trigonometric._ASIN", odd(mpmath.asin), abs, 0, 0.25),
    Curve("trigonometric._ATAN", odd(mpmath.atan), abs, 0, 1),
    Curve("error_function._ERF", _erf, abs, 0, 0.725),
    Curve("error_function._ERF_NEAR", _erf, abs, 0, 0.4255),
    Curve("error_function._DECAY", lambda a: -mpmath.log(mpmath.erfc(a)), mpmath.erfc, 0.845, 4),
    Curve("error_function._ERFC", _erfc, lambda t: 1 / _erfc(t), (0.64 - 2) / 1.14, 8.1 / 10.6),
    Curve(
        "power._ATANH",
        lambda z: ((mpmath.atanh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z - mpf(1) / 3) / z,
        lambda z: 3 * z * z,
        0,
        0.0402,
    ),
    Curve("power._EXP2", lambda r: (2**r - 1) / r, lambda r: abs(r) / 2**r, -0.502, 0.502),
]


def sampled(curve: Curve, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arguments (at Chebyshev's nodes), exact values and weights."""
    nodes = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    x = (curve.low + curve.high) / 2 + (curve.high - curve.low) / 2 * nodes
    x = np.where(abs(x) < 1e-6, 1e-6, x)
    with mpmath.workprec(140):
        exact = np.array([float(curve.exact(mpf(value))) for value in x])
        weight = np.array([float(curve.weight(mpf(value))) for value in x])
    return x, exact, weight


def error(curve: Curve, coefficients: list[float], count: int = 200) -> float:
    """The greatest error of a polynomial, relative to the function's result."""
    x, exact, weight = sampled(curve, count)
    rounded = np.array(coefficients, np.float32).astype(np.float64)
    return float(np.max(np.abs(np.polynomial.polynomial.polyval(x, rounded) - exact) * weight))


def fit(curve: Curve, count: int = 400, rounds: int = 200) -> list[float]:
    """Coefficients for a curve, as many as it has."""
    x, exact, weight = sampled(curve, count)
    size = max(abs(curve.low), abs(curve.high))
    columns = np.stack([(x / size) ** power * weight for power in range(len(curve.coefficients()))], 1)
    left, found = exact * weight, []
    while columns.shape[1]:
        lawson, best = np.ones(count), (np.inf, np.zeros(0))
        for _ in range(rounds):
            root = np.sqrt(lawson)
            solved = np.linalg.lstsq(columns * root[:, None], left * root, rcond=None)[0]
            errors = np.abs(left - columns @ solved)
            best = min(best, (float(errors.max()), solved), key=lambda pair: pair[0])
            lawson *= errors / errors.max() + 1e-3
            lawson /= lawson.mean()
        scale = size ** len(found)
        found.append(float(np.float32(best[1][0] / scale)))
        left, columns = left - columns[:, 0] * (found[-1] * scale), columns[:, 1:]
    return found


def main() -> None:
    for curve in CURVES:
        anew = fit(curve)
        errors = [np.log2(error(curve, coefficients)) for coefficients in (curve.coefficients(), anew)]
        print(
            f"{curve.table}: 2**{errors[0]:.1f} in the source, 2**{errors[1]:.1f} for "
            f"({', '.join(f'{number:.9g}' for number in reversed(anew))})",
            flush=True,
        )


if __name__ == "__main__":
    main()
