"""The contents of the log of mbarriers (mbarrier_log.cc): the mbarriers of a block, and the cause of a fault."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np

from dsl.emulator.families.mbarrier import numbers
from dsl.emulator.families.mbarrier.numbers import MbarrierEntry

_FIELDS = [field[0] for field in MbarrierEntry._fields_[1:]]


@dataclass(frozen=True)
class Life:
    """The mbarrier.init or .inval that the detail of a fault is about: its site (-1: there was none), its warp, and
    whether it is of the thread of the fault."""

    site: int
    warp: int
    is_own: bool

    @classmethod
    def of(cls, detail: int) -> Life:
        own, warp = divmod(detail >> 32, 1 << numbers.mbarrier.OWN_BIT)
        return cls((detail & 0xFFFFFFFF) - 1, warp, bool(own))


def entries(ctx) -> dict[int, dict[str, int]]:
    """The mbarriers of the block in a slot, by their offset in shared memory: what is noted of each."""
    if not ctx.mbarrier_log:
        return {}
    count, width = ctx.smem_bytes // 8, ctypes.sizeof(MbarrierEntry) // 4
    words = np.ctypeslib.as_array((ctypes.c_uint32 * (width * count)).from_address(ctx.mbarrier_log))
    rows = words.reshape(count, width)
    mine = np.flatnonzero((rows[:, 0] == ctx.block & 0xFFFFFFFF) & (rows[:, 1] == ctx.mbarrier_serial))
    return {8 * int(i): dict(zip(_FIELDS, map(int, rows[i, 2:]))) for i in mine}
