"""The block of memory that generated code, the native scheduler and Python share during one launch."""

from __future__ import annotations

import ctypes

MAX_THREADS = 1024
MAX_WARPS = 32
BARRIERS = 16

# `status` of a launch: 0 while all is well.
INTERRUPTED, OUT_OF_BOUNDS, MISALIGNED, TRAP, DEADLOCK, ILLEGAL, CALLBACK = range(1, 8)
KIND_NAMES = {
    OUT_OF_BOUNDS: "out_of_bounds",
    MISALIGNED: "misaligned",
    TRAP: "trap",
    DEADLOCK: "deadlock",
    ILLEGAL: "illegal",
    CALLBACK: "trap",
}

# Why an instruction is illegal: `detail` of the fault record.
NOT_IN_MASK, BAD_BARRIER, BARRIER_COUNTS, BAD_SOURCE_SIZE, COUNT_NOT_WARPS, BAD_INDEX = range(1, 7)

# What an address interval is, as bits: an access names the kinds it may touch.
GLOBAL, SHARED, LOCAL, CONST, PARAM = 1, 2, 4, 8, 16
GENERIC = GLOBAL | SHARED | LOCAL | CONST | PARAM

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64


class Context(ctypes.Structure):
    """Addresses are host addresses; sizes are bytes; masks hold one bit a lane."""

    _fields_ = [
        ("stop", _u32),
        ("status", _u32),
        # the fault record
        ("site", _u32),
        ("thread", _u32),
        ("block", _u64),
        ("address", _u64),
        ("access_bytes", _u64),
        ("detail", _u64),
        # the launch
        ("grid", _u32 * 3),
        ("block_dim", _u32 * 3),
        ("block_index", _u32 * 3),
        ("cluster", _u32 * 3),
        ("threads", _u32),
        ("warps", _u32),
        ("smem_static", _u32),
        ("smem_dynamic", _u32),
        ("params", _u64),
        ("smem", _u64),
        ("smem_bytes", _u64),
        ("local", _u64),
        ("local_bytes", _u64),  # a thread
        ("variables", _u64),
        # address intervals, sorted: lo, hi, kind (u64 each)
        ("intervals", _u64),
        ("interval_count", _u64),
        ("sites", _u64),  # per memory instruction: lo, limit (u64 each)
        ("print", _u64),  # callback(format, arguments, thread)
        # coroutine frames
        ("frames", _u64),
        ("frame_bytes", _u64),
        # cp.async queues, one a thread: see emit/cp_async.py
        ("queues", _u64),
        # the scheduler: one bit a lane
        ("live", _u32 * MAX_WARPS),
        ("exited", _u32 * MAX_WARPS),
        ("ready", _u32 * MAX_WARPS),
        ("in_warp", _u32 * MAX_WARPS),
        ("in_active", _u32 * MAX_WARPS),
        ("in_barrier", _u32 * MAX_WARPS),
        ("arrived", _u32 * (BARRIERS * MAX_WARPS)),
        ("arrived_extra", _u32 * BARRIERS),
        ("barrier_count", _u32 * BARRIERS),
        ("barriers_used", _u32),
        # one a thread
        ("wait_site", _u32 * MAX_THREADS),
        ("key", _u32 * MAX_THREADS),
        ("mask", _u32 * MAX_THREADS),
        ("b", _u32 * MAX_THREADS),
        ("c", _u32 * MAX_THREADS),
        ("out", _u32 * MAX_THREADS),
        ("out_pred", _u32 * MAX_THREADS),
        ("a", _u64 * MAX_THREADS),
        ("handle", _u64 * MAX_THREADS),
    ]


def offset(name: str) -> int:
    """Byte offset of a field."""
    return getattr(Context, name).offset
