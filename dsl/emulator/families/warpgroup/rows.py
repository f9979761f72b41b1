"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

from collections.abc import Iterable

from dsl.emulator.families.warpgroup import emit as warpgroup
from dsl.emulator.ir.rows import NONE, Rows, nothing
from dsl.emulator.ptx.traits import PRODUCT

ROWS = Rows()
_row = ROWS.add


def _warpgroup(k: int, types: str, sparse: int, widths: Iterable[int] = range(8, 257, 8)) -> list[str]:
    return [
        f"@90a ^mma_async {more} sync aligned {'/'.join(f'm64n{n}k{depth}' for n in widths)} {types}"
        for more, depth in (("", k), ("^sp@:8.2", sparse))
        if depth
    ]


_WIDE = (8, 24, *range(16, 257, 16))  # of integers
_SCALES = "u64 u32@sp n=0..3@sp pred n=1/-1 n=1/-1"  # the descriptor of B, what a sparse A is, scale-d, signs
_ROWS = (
    (
        (*_warpgroup(16, "f16/f32 >f16 >f16", 32), *_warpgroup(16, "f32 >bf16 >bf16", 32)),
        f"={{mn}}1 {{4}}f16x2 {_SCALES} n=0/1 | ={{mn}}1 u64 {_SCALES} n=0/1 n=0/1",
    ),
    (
        (*_warpgroup(8, "f32 >tf32 >tf32", 16), *_warpgroup(32, "f16/f32 >e4m3/e5m2 >e4m3/e5m2", 64)),
        f"={{mn}}1 {{4}}f16x2 {_SCALES} | ={{mn}}1 u64 {_SCALES}",
    ),
    (
        (
            *_warpgroup(32, "?satfinite s32 >s8 >s8", 64, _WIDE), *_warpgroup(32, "?satfinite s32 >u8 >u8", 64, _WIDE),
            *_warpgroup(32, "?satfinite s32 >s8/u8 >s8/u8 @:8.4", 64, _WIDE),
            *_warpgroup(256, "s32 >b1 >b1 and >popc", 0, _WIDE),
        ),
        "={mn}1 {4}b32 u64 u32@sp n=0..3@sp pred | ={mn}1 u64 u64 u32@sp n=0..3@sp pred",
    ),
)  # fmt: skip
for _forms, _operands in _ROWS:
    _row("wgmma", "9.7.15.5.2", _forms, warpgroup.multiply, meets=True, operands=_operands, traits=PRODUCT)
_row("wgmma", "9.7.15.7", "fence/commit_group sync aligned @90a", nothing, operands=NONE, traits=PRODUCT)
_row("wgmma", "9.7.15.7", "wait_group sync aligned @90a", nothing, operands="n", traits=PRODUCT)

OPERANDS = {}
