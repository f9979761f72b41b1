"""Numbers and structures about tensor cores that C++ and Python share: see dsl/native_library.py."""

from __future__ import annotations


class ampere:
    """The tensor cores of an architecture. See tensor_core.py."""

    FRACTION_BITS, SPLITS, FP8_FRACTION_BITS = 24, 1, 13


class ada:
    """As `ampere`."""

    FRACTION_BITS, SPLITS, FP8_FRACTION_BITS = 24, 1, 13


class hopper:
    """As `ampere`."""

    FRACTION_BITS, SPLITS, FP8_FRACTION_BITS = 25, 0, 0


class blackwell:
    """As `ampere`; compute capability 10."""

    FRACTION_BITS, SPLITS, FP8_FRACTION_BITS = 25, 0, 0


class blackwell_geforce:
    """As `ampere`; compute capability 12."""

    FRACTION_BITS, SPLITS, FP8_FRACTION_BITS = 25, 0, 25
