"""Numbers and structures about tensor cores that C++ and Python share: see dsl/native_library.py."""

from __future__ import annotations


class ampere:
    """The tensor cores of an architecture. See tensor_core.py."""

    FRACTION_BITS, SPLITS, FP8_AS_F16 = 24, 1, 0


class ada:
    """As `ampere`."""

    FRACTION_BITS, SPLITS, FP8_AS_F16 = 24, 1, 0


class hopper:
    """As `ampere`."""

    FRACTION_BITS, SPLITS, FP8_AS_F16 = 25, 0, 1
