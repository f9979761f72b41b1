"""Structures and numbers that the C++ and the Python of the emulator share, besides the context.

dsl/native_library.py makes a C++ header of it: a class of numbers becomes a namespace of constants.
"""

from __future__ import annotations

import ctypes

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64


class access:
    """The kind of an access, as bits: see check/access.py and check/race.cc."""

    WRITE, STRONG, CTA, ASYNC = 1, 2, 4, 8  # CTA: only for threads of its block; ASYNC: at some time until its wait
    # no bits of what is kept:
    SILENT = 16  # a plain write of what is there already
    OBJECT = 32  # an mbarrier begins or ends there
    ASKED_SHIFT = 8  # above it the observers by which a plain access runs (dependence/observed.py)
    PENDING = 2**32 - 1  # the label of a copy that was not waited for: nobody has seen its end


class other_kind:
    """Marks of `other_kind`, above the bits of a kind."""

    OF_WGMMA, UNPROXIED, OF_MAP = 1 << 8, 1 << 9, 1 << 10


class orders:
    """`order_kinds`: what orders threads besides barriers of whole blocks, as bits; see check/access.py."""

    THREADS, BLOCKS, MEMORY, MATRICES, BULK, MEETS, OBSERVED = 1, 2, 4, 8, 16, 32, 64
    ANY = 127 & ~MEETS


class site_line:
    """A bit above the number of the author's line in `site_lines`."""

    STEPS = 1 << 31  # a volatile access of shared memory


class undefined:
    """The mark of an undefined value: the number of the load + 1 (SITE_SHIFT), below it its address. 0: all is well."""

    SITE_SHIFT, ADDRESS_MASK, MOST_SITES = 48, (1 << 48) - 1, (1 << 15) - 2
    SHUFFLED = 1 << 47  # of what a shuffle gave: a lane is in the place of the address


class CellEntry(ctypes.Structure):
    """Accesses of a warp's lanes that a cell keeps."""

    _fields_ = [("place_kind_site", _u64), ("label", _u32), ("lanes", _u32)]


class Cell(ctypes.Structure):
    """What is kept of the accesses of a few bytes."""

    _fields_ = [("count", _u32), ("beyond", _u64), ("first", CellEntry * 2)]  # `beyond` has the entries after the first


class Shadow(ctypes.Structure):
    """Of an interval of addresses: its cells, and a byte for each of its bytes, 1 once it is written; or 0."""

    _fields_ = [("cells", _u64), ("valid", _u64)]


class TrailRow(ctypes.Structure):
    """See check/trail.py."""

    _fields_ = [("site", _u32), ("rounds", _u32), ("label", _u32), ("value", _u64)]


class Trail(ctypes.Structure):
    """A thread's: how many rows there were, and the rounds until now; a ring of the last rows."""

    _fields_ = [("count", _u32), ("rounds", _u32), ("unused", _u64 * 2), ("rows", TrailRow * 256)]


class MatrixReads(ctypes.Structure):
    """Of 16 bytes of shared memory: the number of the last group of wgmma that read them, a warpgroup each."""

    _fields_ = [("group", _u32 * 8)]


class relaunch:
    """See relaunch.cc."""

    READY, BUSY, CLOSED = range(3)  # `state`: for whoever takes it, somebody's, without a slot
    ELSEWHERE = -1  # the answer where it is not made here; 0: it was made; else the number of one that ended badly


class Repeat(ctypes.Structure):
    """A launch that is ready to be made again. Its address is the handle by which it is called."""

    _fields_ = [
        ("call", _u64),  # emu_relaunch
        ("state", _u32),
        ("left", _u32),  # launches until Python looks again
        ("times", _u64),  # launches made here since Python looked
        ("number", _u32),
        ("shape", _u32 * 7),  # grid, block, dynamic shared memory in bytes: as a launch's configuration begins
        ("signature_at", _u64),  # of the memory now, and as it was when the slot was prepared
        ("signature", ctypes.c_int64),
        ("watched_at", _u64),  # whether launches are checked or have a seed
        ("slot", _u64),
        ("slot_head", _u64),  # what the slot begins with, and the launch's Grid
        ("grid", _u64),
        ("grid_head", _u64),
        ("code", _u64),
        ("params", _u64),
        ("rows", _u64),  # of the parameters: offset, bytes (u32 each)
        ("row_count", _u64),
    ]


# ** what threads do together, and the copies of a block


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


class barrier:
    """See barriers.cc."""

    PASSES, WAITS = 1, 2  # what a wait at the barrier of the cluster answers; 0: a fault
    NO_VOTE = 2  # the vote of a barrier that reduces nothing


class schedule:
    """See schedule.cc."""

    LEAST_IDLE = 1 << 14  # rounds of polls, the least after which they are looked at


class DecisionList(ctypes.Structure):
    """Which of a seed's decisions count (execute/decisions.py); a byte each follows."""

    _fields_ = [("taken", _u64), ("limit", _u64)]


class left:
    """What emu_leave answers (thread_exit.cc): nobody is left in the block; a box of threads; others."""

    NOBODY, BOX, RAGGED = range(3)


class MatrixArea(ctypes.Structure):
    """A lane's exchange area for mma, ldmatrix and their like (mma.cc): m16n8k16 of f64 has 32 words in."""

    _fields_ = [("function", _u64), ("words", _u32 * 38)]


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
    """What `form` of a WgmmaArea says above n / 8: the kinds of A, B and D, then flags."""

    F16, BF16, TF32, E4M3, E5M2, S8, U8, B1 = range(8)
    D_F32, D_F16, D_S32 = range(3)
    A_SHIFT, B_SHIFT, D_SHIFT = 8, 12, 16
    IN_REGISTERS, TRANSPOSED_A, TRANSPOSED_B, NEGATED_A, NEGATED_B, SATURATES = (1 << bit for bit in range(20, 26))


class ampere:
    """The tensor cores of an architecture. See tensor_core.py."""

    FRACTION_BITS, SPLITS, FP8_AS_F16 = 24, 1, 0


class ada:
    """As `ampere`."""

    FRACTION_BITS, SPLITS, FP8_AS_F16 = 24, 1, 0


class hopper:
    """As `ampere`."""

    FRACTION_BITS, SPLITS, FP8_AS_F16 = 25, 0, 1


class mbarrier:
    """What is noted of an mbarrier, as bits. COPIES: a copy begins that will signal it. LOOKS: nothing, but there must
    be an mbarrier."""

    LOOKS = 0
    INITS, ARRIVES, EXPECTS, WAITS, COPIES, INVALIDATES = 1, 2, 4, 8, 16, 32
    OWN_BIT = 8  # of the high word of a fault's detail: see mbarrier_log.Life


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


class CopyQueue(ctypes.Structure):
    """A thread's cp.async copies (cp_async_queue.cc), from `head` on."""

    _fields_ = [("copies", _u64), ("count", _u32), ("room", _u32), ("head", _u32), ("committed", _u32)]


class BulkQueue(ctypes.Structure):
    """A block's bulk copies (bulk_copies.cc), and how many groups each thread has closed."""

    _fields_ = [("bulk_copies", _u64), ("count", _u32), ("room", _u32), ("committed", _u32 * 1024)]


class bulk:
    """What an entry of a BulkQueue is: a copy of bytes or of a box, into shared memory (even numbers) or out of it."""

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


class tensor_map:
    """The form of a tensor map: see tensor_map.py."""

    BYTES, ALIGNMENT_BYTES, DIMENSIONS = 128, 64, 5
    PIXELS = 1 << 8  # added to a rank: an instruction in im2col mode
    TILED, IM2COL = 2, 3
    ALWAYS = 1 << 18  # flags of every map seen
    UNKNOWN = 0b11 << 11 | 0b11 << 19  # flags whose meaning is not emulated
    FLAGS_AT, STRIDES_AT, OWN_AT, EXTENTS_AT, STEPS_AT, BOX_AT = 8, 12, 28, 32, 52, 55
    FILL_SHIFT, INTERLEAVE_SHIFT = 16, 17  # in the word at OWN_AT, above the strides' high bits
    CORNERS_AT, PIXELS_AT = 56, 60  # of an im2col map
    LAST_TYPE, LAST_SWIZZLE = 10, 3
    # of an element, by type
    LOG2_BYTES = sum(log2 << 2 * i for i, log2 in enumerate((0, 1, 2, 2, 3, 3, 1, 2, 2, 3, 1)))


class map_field:
    """The fields that tensormap.replace changes."""

    GLOBAL_ADDRESS, RANK, BOX_DIM, GLOBAL_DIM, GLOBAL_STRIDE, ELEMENT_STRIDE, ELEMTYPE = range(7)
    INTERLEAVE_LAYOUT, SWIZZLE_MODE, FILL_MODE = range(7, 10)
