"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

import functools

from dsl.emulator.families.video import emit as video
from dsl.emulator.ir.rows import Rows
from dsl.emulator.ptx.traits import COMPUTES, IDLE, PARTS

ROWS = Rows()
_row = functools.partial(ROWS.add, traits=COMPUTES | IDLE | PARTS)

_WORD = "u32/s32"
_TYPES = f"{_WORD} >{_WORD} >{_WORD}"
_SECOND = "?add/min/max"
_COMPARE = "eq/ne/lt/le/gt/ge"

_row("vadd vsub vabsdiff vmin vmax", "9.7.18.1.1", f"{_TYPES} ?sat {_SECOND}", video.scalar)
_row("vshl vshr", "9.7.18.1.2", f"{_WORD} >{_WORD} >u32 ?sat clamp/wrap {_SECOND}", video.scalar)
_row("vmad", "9.7.18.1.3", f"{_TYPES} ?po ?sat ?shr7/shr15", video.multiply_add)
_row("vset", "9.7.18.1.4", f"{_WORD} >{_WORD} {_COMPARE} {_SECOND}", video.scalar)
for _lanes, _section in ((2, 1), (4, 3)):
    _opcodes = " ".join(f"{each}{_lanes}" for each in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"))
    _row(_opcodes, f"9.7.18.2.{_section}", f"{_TYPES} ?sat/add", video.vector)
    _row(f"vset{_lanes}", f"9.7.18.2.{_section + 1}", f"{_WORD} >{_WORD} {_COMPARE} ?add", video.vector)

_THREE = "=u32 u32 u32 u32"
OPERANDS = {
    f"{_THREE}?": "vadd vsub vabsdiff vmin vmax vshl vshr vset",
    _THREE: " ".join(("vmad", *(each for row in ROWS[4:] for each in row.opcodes))),
}
