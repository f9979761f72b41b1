"""Numbers and structures about launches that C++ and Python share: see dsl/native_library.py."""

from __future__ import annotations

import ctypes

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64


class calls:
    """Functions that device code calls on the host: `which` of PRINT_SIGNATURE in execute/slots.py."""

    PRINT, ASSERT, MALLOC, FREE = range(4)


class relaunch:
    """See relaunch.cc."""

    READY, BUSY, CLOSED = range(3)  # `state`: free to take, taken, without a slot
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


class schedule:
    """See schedule.cc."""

    LEAST_IDLE = 1 << 14  # rounds of polls, the least after which they are looked at


class meeting:
    """The low byte of the key by which lanes of a warp meet (warp_collectives.cc); the rest tells apart what may not
    meet (types, modes)."""

    WARP_SYNC, SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX, VOTE = range(6)
    MATCH_ANY, MATCH_ALL, REDUX, ELECT, COLLECTIVE, WARPGROUP = range(6, 12)


class DecisionList(ctypes.Structure):
    """Which decisions count (execute/decisions.py); a byte each follows. `pauses`: they are turns at which a warp
    pauses, and none of a seed."""

    _fields_ = [("taken", _u64), ("limit", _u64), ("pauses", _u64)]


class left:
    """The answers of emu_leave (threads.cc): nobody is left in the block; a box of threads; others."""

    NOBODY, BOX, RAGGED = range(3)


class told:
    """The second argument of emu_order where a thread runs alone (translate/traced.py), and the places (u64) in the
    record that the fourth argument points to."""

    READ, WRITE, FENCE, BARRIER, START, HEAD, ROUND, COPY, COMMIT, WAIT, BULK, MEET, LATE_READ, LATE_WRITE = range(
        64, 78
    )
    ADDRESS, SIZE, VALUE, NEEDS, EXTRA, FIELDS = range(6)
