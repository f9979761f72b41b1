"""Numbers and structures about mma, ldmatrix and their like that C++ and Python share: see dsl/native_library.py."""

from __future__ import annotations

import ctypes

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64


class MatrixArea(ctypes.Structure):
    """A lane's exchange area for mma, ldmatrix and their like (mma.cc): m16n8k16 of f64 has 32 words in. marks.cc has
    the marks of undefined values in and out, and calls `unmarked` for the rest."""

    _fields_ = [("function", _u64), ("words", _u32 * 38), ("unmarked", _u64), ("marks", _u64 * 4)]


class Selector(ctypes.Structure):
    """A lane's word of scales, and which byte of it and which thread of four are taken."""

    _fields_ = [("scales", _u32), ("byte", _u32), ("thread", _u32)]


class KindArea(ctypes.Structure):
    """A lane's exchange area for mma with a kind (kinds.cc)."""

    _fields_ = [
        ("function", _u64),
        ("form", _u32),
        ("a", _u32 * 4),
        ("b", _u32 * 4),
        ("d", _u32 * 4),  # in and out
        ("metadata", _u32),
        ("scale_a", Selector),
        ("scale_b", Selector),
    ]


class mma_kind:
    """The parts of `form` of a KindArea: the kinds of A and B (operand_kind), how many scales a row has, flags."""

    B_SHIFT, SCALES_SHIFT = 8, 20
    HALF, UE4M3, SPARSE = 1 << 16, 1 << 17, 1 << 18
