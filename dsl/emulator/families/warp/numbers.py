"""Numbers and structures about lanes that meet that C++ and Python share: see dsl/native_library.py."""

from __future__ import annotations


class meeting:
    """The low byte of the key by which lanes of a warp meet (warp_collectives.cc); the rest tells apart what may not
    meet (types, modes)."""

    WARP_SYNC, SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX, VOTE = range(6)
    MATCH_ANY, MATCH_ALL, REDUX, ELECT, COLLECTIVE, WARPGROUP = range(6, 12)


class redux:
    """The second byte of the key of a REDUX."""

    ADD, AND, OR, XOR, SMIN, SMAX, UMIN, UMAX = range(8)


class shuffled:
    """What a shuffle leaves in `c` of a lane: in the low byte the lane that it read; whether its predicate is true;
    whether the lane that it asked for takes no part; above, that lane."""

    INSIDE_BIT, ABSENT_BIT, ASKED_SHIFT = 8, 9, 16
