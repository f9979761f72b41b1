"""How an output differs from another answer, so that a smaller program can be asked whether it differs alike.

A candidate that only removes what computes an output is wrong too, but otherwise: it gives another value while what
is expected stays. So either both answers equal the answers of the program that it was made from, bit for bit, or both
differ from them (other data, smaller extents): then the wrong elements must be wrong in the same way.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from harness.comparison.compare import Difference
    from harness.run.result import Array

MOST_APART = 2.0  # times as many wrong elements, of all, as before


@dataclass(frozen=True)
class Wrong:
    """One output that differs. `way`: how its wrong elements are wrong; `share`: how many of all, from 0 to 1."""

    got: str  # the hash of what it is
    other: str  # the hash of what it should be
    share: float
    way: str

    def __str__(self) -> str:
        return f"{self.share:.1%} of its elements: {self.way}"

    def unlike(self, before: Wrong) -> str:
        """Why this is not the difference of `before`; '' where it is."""
        if (self.got, self.other) == (before.got, before.other):
            return ""
        if self.got == before.got or self.other == before.other:
            return "one of two answers changed alone"
        if self.way != before.way:
            return "wrong in another way"
        fewest, most = sorted((self.share, before.share))
        if (before.share < 1) != (self.share < 1) or most > MOST_APART * fewest:
            return "wrong in other places"
        return ""


def of(difference: Difference) -> Wrong:
    """Describe a difference."""
    got, other = difference.got, difference.expected
    if got is None or other is None:
        return Wrong(_hash(got), _hash(other), 1.0, "absent")
    if difference.indices is None:
        return Wrong(_hash(got), _hash(other), 1.0, f"{got.dtype.name} with {len(got.shape)} dimensions")
    size = max(got.raw.size, 1)
    return Wrong(_hash(got), _hash(other), difference.indices.size / size, _way(got, other, difference.indices))


def _hash(array: Array | None) -> str:
    if array is None:
        return ""
    about = f"{array.dtype.name} {array.shape} ".encode()
    return hashlib.sha256(about + np.ascontiguousarray(array.raw).tobytes()).hexdigest()


def _way(got: Array, other: Array, indices: np.ndarray) -> str:
    """The kind of the wrong elements: zero, not a number, values that belong elsewhere, a multiple, an offset."""
    with np.errstate(all="ignore"):
        wrong = got.values().reshape(-1)[indices].astype(np.float64)
        right = other.values().reshape(-1)[indices].astype(np.float64)
        if not np.isfinite(wrong).all():
            return "not finite"
        if not wrong.any():
            return "zero"
        if indices.size > 1 and np.isin(wrong, other.values().reshape(-1).astype(np.float64)).all():
            return "values of other elements"
        if indices.size > 1 and _is_constant(wrong - right):
            return "an offset"
        if indices.size > 1 and right.all() and _is_constant(wrong / right):
            return "a multiple"
    return "other values"


def _is_constant(values: np.ndarray) -> bool:
    return bool(np.isfinite(values).all() and np.ptp(values) <= 1e-6 * max(abs(float(values[0])), 1e-30))
