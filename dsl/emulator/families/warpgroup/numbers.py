"""Numbers and structures about wgmma that C++ and Python share: see dsl/native_library.py."""

from __future__ import annotations

import ctypes

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64


class MatrixReads(ctypes.Structure):
    """Of 16 bytes of shared memory: the number of the last group of wgmma that read them, a warpgroup each."""

    _fields_ = [("group", _u32 * 8)]


class WgmmaArea(ctypes.Structure):
    """A thread's exchange area for wgmma (wgmma.cc)."""

    _fields_ = [
        ("function", _u64),
        ("form", _u32),
        ("scale_d", _u32),
        ("a_desc", _u64),
        ("b_desc", _u64),
        ("a", _u32 * 4),
        ("group", _u32),  # for checkers
        ("d", _u32 * 128),  # in and out
    ]


class wgmma:
    """The parts of `form` of a WgmmaArea above n / 8: the kinds of A and B (operand_kind) and D, then flags."""

    D_F32, D_F16, D_S32 = range(3)
    A_SHIFT, B_SHIFT, D_SHIFT = 8, 12, 16
    IN_REGISTERS, TRANSPOSED_A, TRANSPOSED_B, NEGATED_A, NEGATED_B, SATURATES = (1 << bit for bit in range(20, 26))
