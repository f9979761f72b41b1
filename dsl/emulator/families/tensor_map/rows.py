"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.tensor_map import emit as tensormap
from dsl.emulator.ir.rows import SCOPE, Rows
from dsl.emulator.ptx.traits import BULK

ROWS = Rows()
_row = ROWS.add

_MAP = "global/shared/shared::cta b1024"
_FIELDS = (
    "rank/box_dim/global_dim/element_stride/elemtype/interleave_layout/swizzle_mode/swizzle_atomicity@100a+/fill_mode"
)
_row(
    "tensormap",
    "9.7.9.28",
    f"@90a+:8.3 replace tile global_address/global_stride ?{_MAP} b64 | @90a+:8.3 replace tile {_FIELDS} ?{_MAP} b32",
    tensormap.replace,
    meets=True,
    traits=BULK,
)
_row(
    "tensormap",
    "9.7.13.16",
    f"cp_fenceproxy global shared/shared::cta tensormap::generic release {SCOPE} sync aligned @90:8.3",
    tensormap.copy,
    meets=True,
    traits=BULK,
)

OPERANDS = {}
