"""Reciprocals from integer subtraction and Newton's steps: a division of a GPU takes a branch and a subroutine."""

from __future__ import annotations

from dsl.lower.elementary.expression import Value, fma

_START = 0x7EF311C7  # minus the bits of d, these are about the bits of 1 / d: within an eighth


def reciprocal_start(d: Value, halves: int = 0) -> Value:
    """1 / (d * 2**halves) within an eighth, for normal positive d below 2**125."""
    return (_START - (halves << 23) - d.bits()).as_float()


def reciprocal_near(d: Value) -> Value:
    """1 / d within 2**-18, for normal positive d below 2**125."""
    start = reciprocal_start(d)
    error = fma(-d, start, 1.0)
    near = fma(start, fma(error, error, error), start)
    return fma(near, fma(-d, near, 1.0), near)


def reciprocal(d: Value) -> Value:
    """1 / d within an ulp, for normal positive d below 2**125."""
    near = reciprocal_near(d)
    return fma(near, fma(-d, near, 1.0), near)


def root_rest(root: Value, square: Value) -> Value:
    """The number to add to `root`, the rounded square root of `square`: within an eighth."""
    return fma(-root, root, square) * reciprocal_start(root, 1)
