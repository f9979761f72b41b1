"""Whether two arrays agree under a rule, and where they do not.

bits     every element has the same bits: -0.0 is not 0.0, and a NaN is itself only with its payload.
ulp:N    equal bits, or both finite and at most N representable values apart (-0.0 and 0.0 are 0 apart).
rel:R    equal bits, or both finite and |got - expected| <= R * |expected|.
abs:A    as close:0,A.
close:R,A  as numpy.testing.assert_allclose: both finite and |got - expected| <= A + R * |expected|, in float64; or the
         same infinity; or both NaN, whatever their payload. Integers too, exactly.
set      its values are one of those that are allowed; observed.py judges this and the next.
pred:F   the function F of the repro decides.
undef    not compared.

A mask selects the elements that count; all other elements never differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from harness.claim.rule import Rule
from harness.comparison import printed
from harness.run.result import Array, Dtype

_CLOSE = ("abs", "close")


@dataclass(frozen=True)
class Difference:
    """How one output differs. `indices` are flat, ascending; empty where dtype or shape differ already."""

    output: str
    against: str
    message: str
    expected: Array | None = None
    got: Array | None = None
    indices: np.ndarray | None = None


def differences(
    expected: dict[str, Array],
    got: dict[str, Array],
    rules: dict[str, Rule],
    against: str,
    partial: bool = False,
    masks: Mapping[str, np.ndarray] | None = None,
) -> list[Difference]:
    """Every output that disagrees. `partial` lets `expected` leave outputs out; `masks`: output -> boolean array."""
    differing = []
    for name in expected.keys() - got.keys():
        differing.append(Difference(name, against, f"{against} has the output `{name}`, which run() did not return"))
    for name in got.keys() - expected.keys() if not partial else ():
        differing.append(Difference(name, against, f"run() returned `{name}`, which {against} has not"))
    for name in got:
        if name in expected:
            mask = (masks or {}).get(name)
            difference = compare(name, expected[name], got[name], rules.get(name, Rule()), against, mask)
            if difference:
                differing.append(difference)
    return sorted(differing, key=lambda d: d.output)


def compare(
    name: str, expected: Array, got: Array, rule: Rule, against: str, mask: np.ndarray | None = None
) -> Difference | None:
    """The difference between two arrays under `rule` where `mask` is true, or None."""
    if rule.is_free:
        return None
    if expected.dtype != got.dtype:
        message = f"`{name}` is {got.dtype.name}; {against} has {expected.dtype.name}"
        return Difference(name, against, message, expected, got)
    if got.dtype == printed.TEXT:
        message = printed.difference(name, expected, got, rule, against)
        return Difference(name, against, message, expected, got) if message else None
    if expected.shape != got.shape:
        return Difference(
            name, against, f"`{name}` has the shape {got.shape}; {against} has {expected.shape}", expected, got
        )
    if not _can_compare(rule, got.dtype):
        message = f'`{name}` is {got.dtype.name}, which the rule {rule} cannot compare: use "bits"'
        return Difference(name, against, message, expected, got)
    wrong = ~agree(expected, got, rule)
    counted = got.raw.size
    if mask is not None:
        wrong, counted = wrong & mask, int(np.count_nonzero(mask))
    indices = np.flatnonzero(wrong)
    if not indices.size:
        return None
    count = f"{indices.size} of {counted} elements" + (" that count" if mask is not None else "")
    return Difference(name, against, f"`{name}` differs from {against} in {count} ({rule})", expected, got, indices)


def _can_compare(rule: Rule, dtype: Dtype) -> bool:
    """Whether the rule applies to elements of this type."""
    return rule.mode == "bits" or dtype.kind in (("float", "int", "uint") if rule.mode in _CLOSE else ("float",))


def agree(expected: Array, got: Array, rule: Rule) -> np.ndarray:
    """For each element, whether it agrees. Both arrays have one dtype and one shape."""
    same = expected.raw == got.raw
    if rule.mode == "bits" or not _can_compare(rule, got.dtype):
        return same
    if got.dtype.kind != "float":
        a, b = (x.values().astype(np.longdouble) for x in (expected, got))  # 64 bits fit its fraction
        return np.abs(b - a) <= rule.absolute + rule.bound * np.abs(a)
    finite = is_finite(expected) & is_finite(got)
    if rule.mode == "ulp":
        return same | (finite & (ulps_apart(expected, got) <= np.uint64(rule.bound)))
    a, b = (np.where(finite, x.values(), 0).astype(np.float64) for x in (expected, got))
    with np.errstate(over="ignore"):
        near = same | (finite & (np.abs(b - a) <= rule.absolute + rule.bound * np.abs(a)))
    return near | (is_nan(expected) & is_nan(got)) if rule.mode in _CLOSE else near


def is_nan(array: Array) -> np.ndarray:
    """A mask of the NaN elements of a float array."""
    dtype = array.dtype
    if not dtype.infinite:
        return ~is_finite(array)
    return _magnitude(array) > np.uint64(((1 << dtype.exponent) - 1) << dtype.mantissa)


def is_finite(array: Array) -> np.ndarray:
    """For each element of a float array, whether it is a finite number."""
    dtype = array.dtype
    if not dtype.infinite:
        return _magnitude(array) != np.uint64((1 << (dtype.bits - 1)) - 1)
    return _magnitude(array) < np.uint64(((1 << dtype.exponent) - 1) << dtype.mantissa)


def ulps_apart(expected: Array, got: Array) -> np.ndarray:
    """The distance between the elements in representable values, as uint64; meaningless if one is not finite."""
    a, b = _magnitude(expected), _magnitude(got)
    same_sign = _negative(expected) == _negative(got)
    return np.where(same_sign, np.maximum(a, b) - np.minimum(a, b), a + b)


def _magnitude(array: Array) -> np.ndarray:
    """The bits without the sign: a monotone count of the values from zero."""
    return array.raw.astype(np.uint64) & np.uint64(_sign_bit(array.dtype) - 1)


def _negative(array: Array) -> np.ndarray:
    return array.raw >= array.raw.dtype.type(_sign_bit(array.dtype))


def _sign_bit(dtype: Dtype) -> int:
    return 1 << (dtype.bits - 1)
