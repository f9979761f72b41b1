"""Numbers and structures about bulk copies that C++ and Python share: see dsl/native_library.py."""

from __future__ import annotations

import ctypes

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64


class BulkQueue(ctypes.Structure):
    """A block's bulk copies (bulk_copies.cc), and how many groups each thread has closed."""

    _fields_ = [("bulk_copies", _u64), ("count", _u32), ("room", _u32), ("committed", _u32 * 1024)]


class bulk:
    """Kinds of entries of a BulkQueue: a copy of bytes or of a box, into shared memory (even numbers) or out of it."""

    BYTES_IN, BYTES_OUT, BOX_IN, BOX_OUT = range(4)
    REDUCTION_SHIFT = 8  # above it is the code of a reduction; 0: a copy


class async_store:
    """Other entries of a BulkQueue: a store in another block's shared memory, or a reduction there."""

    STORE, ADD_32, MIN_U32, MAX_U32, MIN_S32, MAX_S32, AND_32, OR_32, XOR_32, INC_32, DEC_32, ADD_64 = range(32, 56, 2)


class element:
    """Types of elements, as a tensor map's flags have them."""

    U32, S32, U64, S64, F16, F32, F32_FTZ, F64, BF16 = range(2, 11)


class reduction:
    """Reductions of bulk copies (bulk_reductions.cc). Their code is one number: the operation from OPERATION_SHIFT on,
    the type of its elements below."""

    ADD, MIN, MAX, INC, DEC, AND, OR, XOR = range(1, 9)
    OPERATION_SHIFT = 4


class reduced_types:
    """The types that each of these reductions has, a bit each."""

    INC = DEC = 1 << element.U32
    AND = OR = XOR = 1 << element.U32 | 1 << element.S32 | 1 << element.U64 | 1 << element.S64
    MIN = MAX = AND | 1 << element.F16 | 1 << element.BF16
    ADD = MAX | 1 << element.F32 | 1 << element.F32_FTZ | 1 << element.F64
