"""Numbers and structures about tensor cores that C++ and Python share: see dsl/native_library.py."""

from __future__ import annotations


class operand_kind:
    """Types of elements, by number. E2M3 and E3M2 are in the low bits of a byte, E2M1 in its middle; E2M1X2 is two."""

    F16, BF16, TF32, E4M3, E5M2, S8, U8, B1, E2M3, E3M2, E2M1, E2M1X2, F64, F32, S32, S4, U4 = range(17)


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
