"""The coefficients are as their comments describe, to the precision that the functions of doubles need."""

import mpmath
import pytest

from dsl.core.number import double_coefficients as of

mpmath.mp.prec = 200
# name: (the function of x**2 that the polynomial is, the greatest x, relative error)
POLYNOMIALS = {
    "ASIN": (lambda x: (mpmath.asin(x) / x - 1) / x**2, 0.5, 2e-14),
    "ATAN": (lambda x: (mpmath.atan(x) / x - 1) / x**2, mpmath.tan(mpmath.pi / 8), 2e-14),
    "ERF": (lambda x: mpmath.erf(x) / x, 1.0, 2e-16),
}


def horner(x, coefficients):
    value = mpmath.mpf(0)
    for coefficient in coefficients:
        value = value * x + coefficient
    return value


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_a_polynomial_is_its_function(name):
    function, greatest, error = POLYNOMIALS[name]
    for step in range(1, 65):
        x = mpmath.mpf(greatest) * step / 64
        assert abs(horner(x**2, getattr(of, name)) / function(x) - 1) < error


def test_erfc_is_scaled_by_its_exponential():
    for step in range(65):
        x = mpmath.mpf(step) / 2
        scaled = mpmath.exp(x**2) * mpmath.erfc(x) * (1 + 2 * x)
        assert abs(horner((x - 4) / (x + 4), of.ERFC) / scaled - 1) < 1e-15


def test_constants_in_parts():
    assert abs(of.LN2_HIGH + mpmath.mpf(of.LN2_LOW) - mpmath.log(2)) < 1e-26
    assert abs(of.LOG10_2_HIGH + mpmath.mpf(of.LOG10_2_LOW) - mpmath.log10(2)) < 2e-21  # times at most 1075
    assert abs(of.HALF_PI + mpmath.mpf(of.HALF_PI_LOW) - mpmath.pi / 2) < 1e-32
    assert abs(sum(map(mpmath.mpf, of.HALF_PI_PARTS)) - mpmath.pi / 2) < 1e-31


def test_the_words_are_64_zeros_and_the_bits_of_two_over_pi():
    bits = 64 * (len(of.TWO_OVER_PI) - 1)
    with mpmath.workprec(bits + 64):
        assert sum(word << 64 * place for place, word in enumerate(reversed(of.TWO_OVER_PI))) == int(
            mpmath.floor(2 / mpmath.pi * mpmath.mpf(2) ** bits)
        )
