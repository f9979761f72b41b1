"""The instructions of this family: see ir/rows.py. Section numbers are those of the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.barrier import emit as barrier
from dsl.emulator.ir.rows import Rows

ROWS = Rows()
_row = ROWS.add

for _opcode, _aligned in (("barrier", "?aligned"), ("bar", "")):
    for _form, _operands in (
        ("^sync", "u32 u32?"),
        ("^arrive", "u32 u32"),
        (f"^red popc {_aligned} u32", "=u32 u32 * *?"),
        (f"^red and/or {_aligned} pred", "=pred u32 * *?"),
    ):
        _text = f"^?cta@:7.8 {_form}" if "red" in _form else f"^?cta@:7.8 {_form} {_aligned}"
        _row(_opcode, "9.7.13.1", _text, barrier.barrier, meets=True, operands=_operands)
_row("bar", "9.7.13.2", "^warp ^sync", barrier.barrier, meets=True, operands="u32")

OPERANDS = {}
