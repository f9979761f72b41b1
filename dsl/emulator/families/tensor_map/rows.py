"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.tensor_map import emit as tensormap
from dsl.emulator.ir.rows import SCOPE, Rows
from dsl.emulator.ptx.traits import BULK

ROWS = Rows()
_row = ROWS.add

_MAP = "global/shared/shared::cta b1024"
for _fields, _operands in (
    ("global_address {} b64", "[] 1"),
    ("global_stride {} b64", "[] n=0..4 1"),
    ("rank {} b32", "[] 1"),
    ("box_dim/global_dim/element_stride {} b32", "[] n=0..4 1"),
    ("elemtype {} b32", "[] n=0..12"),
    ("interleave_layout {} b32", "[] n=0..2"),
    ("swizzle_mode {} b32", "[] n=0..3"),
    ("swizzle_atomicity@100a+ {} b32", "[] n=0..3"),
    ("fill_mode {} b32", "[] n=0/1"),
):
    _row(
        "tensormap",
        "9.7.9.28",
        f"@90a+:8.3 replace tile {_fields.format(f'?{_MAP}')}",
        tensormap.replace,
        meets=True,
        operands=_operands,
        traits=BULK,
    )
_row(
    "tensormap",
    "9.7.13.16",
    f"cp_fenceproxy global shared/shared::cta tensormap::generic release {SCOPE} sync aligned @90:8.3",
    tensormap.copy,
    meets=True,
    operands="[] [] n=128",
    traits=BULK,
)

OPERANDS = {}
