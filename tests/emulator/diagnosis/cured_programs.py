"""Broken kernels, each with its cure as an edit: a line that begins with `-` is in the broken one alone, one that
begins with `+` in the cured one alone. Lines count from 1 in the broken one, which is `kernel.py`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dsl.emulator.faults import Fault
from tests.emulator.conftest import Machine

HEAD = """.version 8.1
.target sm_90a
.address_size 64
.file 1 "kernel.py"
.visible .entry k(.param .u64 x)
{
  .reg .b32 %r<20>, %t, %b, %n, %lane, %w, %s, %mine, %next, %i, %d; .reg .b64 %g, %gt, %gn, %d<9>;
  .reg .pred %p, %q, %first, %warp0, %lead, %low;
  .shared .align 128 .b8 smem[16384]; .shared .align 8 .b64 full, empty, other;
  ld.param.u64 %g, [x]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;
  and.b32 %lane, %t, 31; shr.u32 %w, %t, 5; mov.u32 %s, smem; mad.lo.u32 %mine, %t, 4, %s;
  add.u32 %r0, %t, 1; rem.u32 %r0, %r0, %n; mad.lo.u32 %next, %r0, 4, %s;
  mul.wide.u32 %d0, %t, 4; add.u64 %gt, %g, %d0; mul.wide.u32 %d0, %r0, 4; add.u64 %gn, %g, %d0;
  setp.eq.u32 %first, %t, 0; setp.eq.u32 %warp0, %w, 0; setp.eq.u32 %lead, %lane, 0; setp.lt.u32 %low, %t, 16;
"""
TAIL = "E: ret;\n}\n"


class Program(NamedTuple):
    """`fix`: the whole text; `edit`: the lines with their marks."""

    name: str
    kind: str
    fix: str
    edit: str
    block: int = 64
    grid: int = 1
    cluster: int = 1

    def lines(self, cured: bool) -> list[str]:
        """The body of one of both kernels."""
        left = "-" if cured else "+"
        rows = [row.strip() for row in self.edit.strip().splitlines()]
        return [row.lstrip("-+ ") for row in rows if row[:1] != left]

    def ptx(self, cured: bool) -> str:
        body = "".join(f".loc 1 {number} 1\n{row}\n" for number, row in enumerate(self.lines(cured), 1))
        return HEAD + body + TAIL

    def fault(self, cured: bool = False, seed: int = 0) -> Fault | None:
        """The fault that the checkers find in one of both kernels, or None."""
        x = np.zeros(4096, np.int32)
        try:
            Machine().run(self.ptx(cured), grid=self.grid, block=self.block, cluster=(self.cluster, 1, 1), seed=seed,
                          checks=("race", "undefined"), x=x)  # fmt: skip
        except Fault as fault:
            return fault
        return None


def fix_of(fault: Fault) -> str:
    return str(fault).partition("\nfix: ")[2]
