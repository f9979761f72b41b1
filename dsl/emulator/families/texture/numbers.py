"""Numbers and structures about textures that C++ and Python share: see dsl/native_library.py."""

from __future__ import annotations

import ctypes

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64


class Texture(ctypes.Structure):
    """A texture or surface object; its handle is its address. dsl/driver/textures.h has the same.

    `data`: of an array or of linear memory. `depth`: planes, layers or faces. `format` and `address_modes` have the
    numbers of CUarray_format and CUaddress_mode. `is_linear`: tex1Dfetch reads it.
    """

    _fields_ = [
        ("magic", _u64),
        ("data", _u64),
        ("row_bytes", _u64),
        ("plane_bytes", _u64),
        ("width", _u32),
        ("height", _u32),
        ("depth", _u32),
        ("format", _u32),
        ("channels", _u32),
        ("address_modes", _u32 * 3),
        ("filters_linearly", _u32),
        ("is_normalized", _u32),
        ("reads_integers", _u32),
        ("is_linear", _u32),
        ("border", _u32 * 4),
    ]


class texture:
    """How an instruction accesses a texture: bits of what C++ gets."""

    MAGIC = 0x6572757478657401
    DIMENSIONS = 0b11  # 1 to 3
    LAYERS, CUBE, INTEGERS, GATHER = 1 << 2, 1 << 3, 1 << 4, 1 << 5
    COMPONENT_SHIFT = 6
    TRAPS, CLAMPS, ZEROS = range(3)  # what a surface does outside of it
    STORES, OUTSIDE_SHIFT, LOG2_BYTES_SHIFT = 1 << 5, 8, 10
