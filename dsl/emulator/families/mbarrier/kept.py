"""The log of the mbarriers of a block: mbarrier_log.cc."""

from __future__ import annotations

import ctypes
import itertools

from dsl.emulator.families.mbarrier.numbers import MbarrierEntry
from dsl.emulator.machine.memory import Buffer

_serials = itertools.cycle(range(1, 1 << 31))  # of launches, in tags of the log


class Log(Buffer):
    """An entry for each 8 bytes of shared memory."""

    def attach(self, ctx) -> None:
        """Once a slot is prepared."""
        ctx.mbarrier_log = self.of(ctypes.sizeof(MbarrierEntry) * (ctx.smem_bytes // 8 + 1))
        ctx.mbarrier_serial = next(_serials)


KEPT = {"mbarrier": Log}
