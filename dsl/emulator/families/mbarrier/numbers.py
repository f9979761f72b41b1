"""Numbers and structures about mbarriers that C++ and Python share: see dsl/native_library.py."""

from __future__ import annotations

import ctypes

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64


class mbarrier:
    """The notes about an mbarrier, as bits. COPIES: a copy begins that will signal it. GIVES: an arrival whose state is
    read follows. LOOKS: nothing, but there must be an mbarrier."""

    LOOKS = 0
    INITS, ARRIVES, EXPECTS, WAITS, COPIES, INVALIDATES, GIVES = 1, 2, 4, 8, 16, 32, 64
    OWN = INITS | WAITS | INVALIDATES | GIVES  # of these, at no mbarrier of another block
    OWN_BIT = 8  # of the high word of a fault's detail: see mbarrier_log.Life


class seen:
    """How a thread arrives or looks, for check.py, as bits: the phase ended, relaxed, the scope, above it the site,
    above it the bytes that it expects."""

    ENDED, RELAXED, SCOPE_SHIFT, SITE_SHIFT, BYTES_SHIFT = 1, 2, 2, 8, 40


class MbarrierEntry(ctypes.Structure):
    """The life of an mbarrier: see mbarrier_log.cc. Masks are of warps, and of ranks of other blocks of the cluster;
    sites are + 1."""

    _fields_ = [
        ("tag", _u64),
        ("waiters", _u32),
        ("wait_site", _u32),
        ("arrivers", _u32),
        ("arrive_site", _u32),
        ("now", _u32),
        ("peers", _u32),
        ("peers_now", _u32),
        ("parity", _u32),
        ("expect_site", _u32),
        ("expected", _u32),
        ("copy_site", _u32),
        ("ended", _u32),
        ("passed_new", _u32),
        ("life_site", _u32),  # of the mbarrier.init, or of the mbarrier.inval after it
        ("life_warp", _u32),
        ("life_lanes", _u32),  # of that warp
    ]
