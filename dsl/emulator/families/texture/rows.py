"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.texture import emit as texture
from dsl.emulator.ir.rows import Rows

ROWS = Rows()
_row = ROWS.add

_TEXELS = "^v4 u32/s32/f32"
_FLAT = "1d/2d/3d/a1d/a2d"
_READ = (
    f"^{_FLAT} {_TEXELS} >f32/s32",
    f"^cube/acube {_TEXELS} >f32",
    f"^level ^{_FLAT} {_TEXELS} >f32/s32",
    f"^level ^cube/acube {_TEXELS} >f32",
    f"^grad ^{_FLAT} {_TEXELS} >f32",
)
_row("tex", "9.7.11.3", _READ, texture.read, operands="={v}1 * *? *?")
_row("tld4", "9.7.11.4", f"^r/g/b/a ^2d/a2d {_TEXELS} >f32", texture.gather, operands="={v}1 *")
_BYTES = "?v2/v4 b8/b16/b32"
_OUTSIDE = ">trap/clamp/zero"
_WIDE = "?v2 b64"
for _opcode, _section, _emit, _operands in (
    ("suld", "9.7.12.1", texture.load, "=~1 *"),
    ("sust", "9.7.12.2", texture.store, "* ~1"),
):
    _row(_opcode, _section, [f"^b ^{_FLAT} {each} {_OUTSIDE}" for each in (_BYTES, _WIDE)], _emit, operands=_operands)
OPERANDS = {}
