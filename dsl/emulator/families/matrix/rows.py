"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.matrix import emit as matrix, kinds
from dsl.emulator.ir.rows import CTA, Rows, with_start
from dsl.emulator.ptx.traits import TILE_LOAD, TILE_STORE

ROWS = Rows()
_row = ROWS.add

_row(
    "mma",
    "9.7.14.5.14",
    with_start(
        "sync aligned",
        "m8n8k4 row/col row/col f16/f32 >f16 >f16 >f16/f32",
        "m16n8k8@75/m16n8k16@80 row >col f16/f32 >f16 >f16 >f16/f32",
        "m16n8k8/m16n8k16 row >col f32 >bf16 >bf16 >f32 @80",
        "m16n8k4/m16n8k8 row >col f32 >tf32 >tf32 >f32 @80",
        "m16n8k16@:8.7/m16n8k32 row >col f16@:8.7/f32 >e4m3/e5m2 >e4m3/e5m2 >f16@:8.7/f32 @89:8.4",
        "m8n8k4@80/m16n8k4@90/m16n8k8@90/m16n8k16@90 row >col f64 f64 f64 f64",
        "m8n8k16@75/m16n8k16@80/m16n8k32@80 row >col ?satfinite s32 >s8/u8 >s8/u8 >s32",
        "m8n8k32@75/m16n8k32@80/m16n8k64@80 row >col ?satfinite s32 >s4/u4 >s4/u4 >s32",
        "m8n8k128@75:7.0/m16n8k128@80/m16n8k256@80 row >col s32 >b1 >b1 >s32 xor/and@80:7.1 >popc",
    ),
    matrix.mma,
    meets=True,
)
_SMALL = "e4m3/e5m2/e3m2/e2m3/e2m1"
_SPARSE_START = "^sp::ordered_metadata ^sync aligned"
for _section, _start, _bytes, _packed, _of_b, _metadata, _four_bits in (
    ("9.7.14.5.14", "sync aligned", "m16n8k32", "m16n8k64", "{2}b32", "", "@120f:8.7"),
    ("9.7.14.6.3", _SPARSE_START, "m16n8k64", "m16n8k128", "{4}b32", "u32 n=0", "@120a,121a:8.7"),
):
    _f32, _f16 = (f"={_each}_ {{4}}b32 {_of_b} {_each} {_metadata}" for _each in ("{4}f32", "{2}f16x2"))
    _scaled = f"{_f32} {{v}}b32 {{2}}u16 {{v}}b32 {{2}}u16"
    _of_bytes, _of_four_bits = f"f32 >{_SMALL} >{_SMALL} >f32", f"{_four_bits} f32 >e2m1 >e2m1 >f32"
    for _forms, _operands in (
        (f"{_bytes} row >col kind::f8f6f4 @120f:8.7 {_of_bytes}", _f32),
        (f"{_bytes} row >col kind::f8f6f4 @120f:8.7 f16 >{_SMALL} >{_SMALL} >f16", _f16),
        (f"{_bytes} row >col kind::mxf8f6f4 @120f:8.7 block_scale ?scale_vec::1X {_of_bytes} >ue8m0", _scaled),
        (f"{_packed} row >col kind::mxf4 block_scale ?scale_vec::2X {_of_four_bits} >ue8m0", _scaled),
        (f"{_packed} row >col kind::mxf4nvf4 block_scale scale_vec::2X {_of_four_bits} >ue8m0", _scaled),
        (f"{_packed} row >col kind::mxf4nvf4 block_scale scale_vec::4X {_of_four_bits} >ue4m3", _scaled),
    ):
        _row("mma", _section, f"{_start} {_forms}", kinds.multiply, meets=True, operands=_operands)
_SPARSE = "sp@80:7.1/sp::ordered_metadata@80:8.5 sync aligned"
for _selectors, _forms in (  # a thread of four has the metadata, two have it, or all
    ("0..3", ("m16n8k16 row >col {halves}", "m16n8k8 row >col {tf32}")),
    ("0/1", ("m16n8k32 row >col {halves}", "m16n8k16 row >col {tf32}", "m16n8k32 {eights}", "m16n8k64 {fourths}")),
    ("0", ("m16n8k64 {eights}", "m16n8k128 {fourths}", "m16n8k64 row >col f32 >e4m3/e5m2 >e4m3/e5m2 >f32 @89:8.4")),
):
    _types = {
        "tf32": "f32 >tf32 >tf32 >f32",
        "eights": "row >col ?satfinite s32 >s8/u8 >s8/u8 >s32",
        "fourths": "row >col ?satfinite s32 >s4/u4 >s4/u4 >s32",
    }
    _halves = "f16 >f16 >f16 >f16", "f32 >f16/bf16 >f16/bf16 >f32"
    _row(
        "mma",
        "9.7.14.6.3",
        [f"{_SPARSE} {_each.format(halves=_half, **_types)}" for _each in _forms for _half in _halves],
        matrix.mma,
        meets=True,
        operands=f"={{mn}}1_ {{mh}}2 {{kn}}3 {{mn}}4 u32 n={_selectors}",
    )
_TILES = f"sync aligned m8n8 x1/x2/x4 ?trans ?{CTA} b16"
_row("ldmatrix", "9.7.14.5.15", f"{_TILES} @75", matrix.ldmatrix, meets=True, traits=TILE_LOAD)
_row("stmatrix", "9.7.14.5.16", f"{_TILES} @90", matrix.stmatrix, meets=True, traits=TILE_STORE)
_NARROW = "b8x16 >b6x16_p32/b4x16_p64"
for _number, _registers in (("x1", 2), ("x2", 4)):
    _square = f"sync aligned m16n16 {_number} trans ?{CTA}"
    _row(
        "ldmatrix",
        "9.7.14.5.15",
        f"{_square} b8 @100a+:8.6 | {_square} {_NARROW} @100a+:8.6",
        matrix.ldmatrix_of_bytes,
        meets=True,
        operands=f"={{{_registers}}}b32_ []",
        traits=TILE_LOAD,
    )
_row(
    "ldmatrix",
    "9.7.14.5.15",
    f"sync aligned m8n16 x1/x2/x4 ?{CTA} {_NARROW} @100a+:8.6",
    matrix.ldmatrix_of_bytes,
    meets=True,
    traits=TILE_LOAD,
)
_row(
    "stmatrix",
    "9.7.14.5.16",
    f"sync aligned m16n8 x1/x2/x4 trans ?{CTA} b8 @100a+:8.6",
    matrix.stmatrix,
    meets=True,
    traits=TILE_STORE,
)
_row("movmatrix", "9.7.14.5.17", "sync aligned m8n8 trans b16 @75:7.8", matrix.movmatrix, meets=True)

OPERANDS = {
    "={x}b32_ []": "ldmatrix",
    "[] {x}b32": "stmatrix",
    "=b32 b32": "movmatrix",
    "={mn}1_ {mk}2 {kn}3 {mn}4": "mma",
}
