"""Numbers and structures about mma, ldmatrix and their like that C++ and Python share: see dsl/native_library.py."""

from __future__ import annotations

import ctypes

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64


class MatrixArea(ctypes.Structure):
    """A lane's exchange area for mma, ldmatrix and their like (mma.cc): m16n8k16 of f64 has 32 words in."""

    _fields_ = [("function", _u64), ("words", _u32 * 38)]
