"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.barrier import emit as barrier
from dsl.emulator.ir.rows import Rows
from dsl.emulator.ptx.traits import ALIGNED, BARRIER, IDLE, NO_RESULT, REPEATS

ROWS = Rows()
_row = ROWS.add

_CTA = "^?cta@:7.8"
_WAIT = BARRIER | IDLE | REPEATS
for _opcode, _rest, _more in (("barrier", "?aligned", 0), ("bar", "", ALIGNED)):
    for _form, _operands, _traits in (
        (f"sync {_rest}", "u32 u32?", _WAIT | NO_RESULT),
        (f"^arrive {_rest}", "u32 u32", BARRIER | NO_RESULT | REPEATS),
        (f"^red popc {_rest} u32", "=u32 u32 * *?", _WAIT),
        (f"^red and/or {_rest} pred", "=pred u32 * *?", _WAIT),
    ):
        _text, _all = f"{_CTA} {_form}", _traits | _more
        _row(_opcode, "9.7.13.1", _text, barrier.barrier, meets=True, operands=_operands, traits=_all)
_all = _WAIT | NO_RESULT | ALIGNED
_row("bar", "9.7.13.2", "^warp ^sync", barrier.barrier, meets=True, operands="u32", traits=_all)

OPERANDS = {}
