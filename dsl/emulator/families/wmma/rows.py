"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.wmma import emit as wmma
from dsl.emulator.ir.rows import CTA, Rows
from dsl.emulator.ptx.traits import ANYWHERE, TILE_LOAD, TILE_STORE

ROWS = Rows()
_row = ROWS.add

_WIDE = "m16n16k16/m8n32k16/m32n8k16"
_ANY = "row/col"
_WHERE = f"?global/{CTA}"
_ACCUMULATORS = (
    f"{_ANY} {_WIDE} {_WHERE} f16/f32/s32@72",
    f"{_ANY} m16n16k8 {_WHERE} f32 @80",
    f"{_ANY} m8n8k4 {_WHERE} f64 @80",
    f"{_ANY} m8n8k32/m8n8k128 {_WHERE} s32 @75",
)
_FACTORS = (
    f"{_ANY} {_WIDE} {_WHERE} f16/s8@72/u8@72/bf16@80",
    f"{_ANY} m16n16k8 {_WHERE} tf32 @80",
    f"{_ANY} m8n8k4 {_WHERE} f64 @80",
)


def _small(layout: str) -> tuple[str, str]:
    return f"{layout} m8n8k32 {_WHERE} s4/u4 @75", f"{layout} m8n8k128 {_WHERE} b1 @75"


_LOADS = {"a": (*_FACTORS, *_small("row")), "b": (*_FACTORS, *_small("col")), "c": _ACCUMULATORS}
for _matrix, _forms in _LOADS.items():
    _row(
        "wmma",
        "9.7.14.4.3",
        [f"^load ^{_matrix} sync aligned {each}" for each in _forms],
        wmma.load,
        operands="* [] u32?",
        traits=TILE_LOAD | ANYWHERE,
    )
_row(
    "wmma",
    "9.7.14.4.4",
    [f"^store ^d sync aligned {each}" for each in _ACCUMULATORS],
    wmma.store,
    operands="[] * u32?",
    traits=TILE_STORE | ANYWHERE,
)
_row(
    "wmma",
    "9.7.14.4.5",
    (
        f"^mma sync aligned {_ANY} >{_ANY} {_WIDE} f16/f32 >f16/f32",
        f"^mma sync aligned {_ANY} >{_ANY} {_WIDE} s32 >s8 >s8 >s32 ?satfinite @72",
        f"^mma sync aligned {_ANY} >{_ANY} {_WIDE} s32 >u8 >u8 >s32 ?satfinite @72",
        f"^mma sync aligned {_ANY} >{_ANY} {_WIDE} f32 >bf16 >bf16 >f32 @80",
        f"^mma sync aligned {_ANY} >{_ANY} m16n16k8 f32 >tf32 >tf32 >f32 @80",
        f"^mma sync aligned {_ANY} >{_ANY} m8n8k4 ?rn f64 >f64 >f64 >f64 @80",
        "^mma sync aligned row >col m8n8k32 s32 >s4 >s4 >s32 ?satfinite @75",
        "^mma sync aligned row >col m8n8k32 s32 >u4 >u4 >s32 ?satfinite @75",
        "^mma xor/and@80:7.1 >popc sync aligned row >col m8n8k128 s32 >b1 >b1 >s32 @75",
    ),
    wmma.multiply,
    meets=True,
    operands="* * * *",
)

OPERANDS = {}
