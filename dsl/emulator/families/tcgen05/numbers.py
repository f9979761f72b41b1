"""Numbers and structures about tcgen05 that C++ and Python share: see dsl/native_library.py."""

from __future__ import annotations

import ctypes

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64


class tensor_memory:
    """128 lanes of 512 columns of 32 bits; columns are allocated by 32. An address: the lane from bit 16 on, the
    column below."""

    LANES, COLUMNS, UNIT, UNITS = 128, 512, 32, 16
    GROUP = 16  # lanes that checkers look at together
    LANE_SHIFT = 16


class TensorState(ctypes.Structure):
    """A block's tensor memory and the work that its tensor core has to do (tensor_memory.h)."""

    _fields_ = [
        ("tensor_cells", _u64),  # [lane][column]
        ("tensor_ops", _u64),  # in the order in which they were issued
        ("count", _u32),
        ("room", _u32),
        # of each 32 columns: the first column of their allocation + 1, and the site + 1 of the alloc; 0: free
        ("owners", _u32 * tensor_memory.UNITS),
        ("alloc_sites", _u32 * tensor_memory.UNITS),
        ("dealloc_sites", _u32 * tensor_memory.UNITS),  # of the dealloc before
        # for checkers, 0 where nothing is checked: cells of tensor memory (a cell for 16 lanes of a column), and the
        # number of the last operation that touched each, or each 16 bytes of shared memory
        ("tensor_accesses", _u64),
        ("tensor_last", _u64),
        ("matrix_last", _u64),
        ("tensor_written", _u64),  # a byte for each of the cells, 1 once something is written there
        ("tensor_loads", _u64),  # loads and stores that were not waited for
        ("load_count", _u32),
        ("load_room", _u32),
        ("issued", _u32),  # how many operations there were
        ("done", _u32),  # how many of `tensor_ops` are done, and are kept for checkers
        ("group", _u32),  # of the alloc before: the PAIR of tcgen05 or 0
        ("most_columns", _u32),  # of the alloc before; 0: there was none
        ("relinquish_site", _u32),  # + 1; 0: the block may still allocate
    ]


class TensorOp(ctypes.Structure):
    """A mma, cp, shift or commit, as its thread issued it."""

    _fields_ = [
        ("a", _u64),  # a matrix descriptor, or an address in tensor memory
        ("b", _u64),  # a matrix descriptor
        ("barrier", _u64),  # of a commit, in shared::cluster
        ("zero_columns", _u64),  # of a mma.ws: the descriptor of its mask
        ("form", _u32),
        ("number", _u32),  # counted from 1 in its block
        ("thread", _u32),
        ("site", _u32),
        ("d", _u32),  # an address in tensor memory
        ("idesc", _u32),
        ("accumulates", _u32),
        ("scale_d", _u32),  # D is divided by 2 ** scale_d first
        ("scale_a", _u32),  # addresses in tensor memory
        ("scale_b", _u32),
        ("metadata", _u32),  # an address in tensor memory, of a sparse A
        ("mask", _u32),  # of the blocks that a commit signals, with MULTICAST
        ("kept_lanes", _u32 * 8),  # a bit each: D stays as it is there
    ]


class tcgen05:
    """The parts of `form` of a TensorOp: what it does; the kind of a mma; flags; the shape of a cp."""

    MMA, CP, COMMIT, SHIFT = range(4)
    KIND_SHIFT = 4
    F16, TF32, F8F6F4, I8, MXF8F6F4, MXF4, MXF4NVF4 = range(7)
    PAIR, A_IN_TENSOR_MEMORY, STATIONARY = 1 << 8, 1 << 9, 1 << 10  # the last: of a mma.ws
    BLOCK_16 = 1 << 11  # of a scaled kind: a scale for 16 elements, not for 32
    SPARSE, TAKES_96 = 1 << 12, 1 << 13  # A of a mma; a mma of sm_103a, where K may be 96
    SHIFTS_A = 1 << 14  # of a mma, once it has read A
    SHAPE_SHIFT = 12
    CP_128X256B, CP_4X256B, CP_128X128B, CP_64X128B_02_13, CP_64X128B_01_23, CP_32X128B = range(6)
    FROM_B4, FROM_B6 = 1 << 16, 1 << 17  # a cp that widens elements of 4 or 6 bits to 8


class TensorLoad(ctypes.Structure):
    """A lane's part of a ld or st that was not waited for: columns from `column` on, of the 16 lanes of a group."""

    _fields_ = [
        ("thread", _u32), ("site", _u32), ("line", _u32), ("stores", _u32), ("group", _u32), ("column", _u32),
        ("count", _u32),
    ]  # fmt: skip


class TensorArea(ctypes.Structure):
    """A lane's exchange area for alloc, dealloc, ld and st (tensor_memory.cc)."""

    _fields_ = [
        ("function", _u64),
        ("form", _u32),
        ("address", _u32),
        ("columns", _u32),  # of alloc and dealloc; of 16x32bx2 the columns from its first half to its second
        ("line", _u32),  # of the PTX: checkers know a load by it
        ("words", _u32 * 128),
    ]


class tensor_access:
    """The parts of `form` of a TensorArea: the shape, flags, above them how many registers a lane has."""

    S_32X32B, S_16X64B, S_16X128B, S_16X256B, S_16X32BX2 = range(5)
    PACKS = 1 << 3  # .pack::16b or .unpack::16b
    COUNT_SHIFT = 4


class tensor_fault:
    """Why an instruction is illegal: `detail` of the fault record."""

    (
        DIFFERS, BAD_COLUMNS, MORE_COLUMNS, NO_COLUMNS, RELINQUISHED, NOT_ALLOCATED, NOT_ITS_ALLOCATION,
        OTHER_QUARTER, HALF_QUARTER, STILL_USED, NO_PEER, BAD_INSTRUCTION, BAD_MATRIX, MATRIX_OUTSIDE,
        LANE_OF_D, NOT_FREED, NEVER_WRITTEN, OTHER_GROUP, ZERO_COLUMNS,
        SPARSE_ROWS, PLACE_OF_METADATA, BAD_METADATA, LANE_OF_SHIFT, ROWS_OF_SHIFT,
    ) = range(70, 94)  # fmt: skip
