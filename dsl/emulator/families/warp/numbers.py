"""Numbers and structures about lanes that meet that C++ and Python share: see dsl/native_library.py."""

from __future__ import annotations


class redux:
    """The second byte of the key of a REDUX. Of f32, SMIN or SMAX with FLOAT, and with ABS or NAN."""

    ADD, AND, OR, XOR, SMIN, SMAX, UMIN, UMAX = range(8)
    FLOAT, ABS, NAN = 8, 16, 32


class shuffled:
    """The value that a shuffle leaves in `c` of a lane: in the low byte the lane that it read; whether its predicate is
    true; whether the lane that it asked for takes no part; above, that lane."""

    INSIDE_BIT, ABSENT_BIT, ASKED_SHIFT = 8, 9, 16
