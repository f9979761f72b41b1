"""Numbers and structures about barriers that C++ and Python share: see dsl/native_library.py."""

from __future__ import annotations


class barrier:
    """See barriers.cc."""

    PASSES, WAITS = 1, 2  # what a wait at the barrier of the cluster answers; 0: a fault
    NO_VOTE = 2  # the vote of a barrier that reduces nothing
