"""Operations of a warp whose result the ISA leaves open."""

from __future__ import annotations

from dsl.emulator.dependence.sources import ABSENT_LANE, MACHINE

LEEWAY = {
    "shfl": lambda instr, core, is_read: ABSENT_LANE,
    "activemask": lambda instr, core, is_read: MACHINE,
    "elect": lambda instr, core, is_read: MACHINE,
}
