"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

import functools

from dsl.emulator.families.conversion import emit as convert, stochastic
from dsl.emulator.ir.rows import BITS, HALF, INT, LOGIC, ROUND, WORDS, Rows
from dsl.emulator.ptx.traits import COMPUTES, IDLE, MOVES, REPEATS, WIDER

ROWS = Rows()
_row = functools.partial(ROWS.add, traits=COMPUTES | IDLE | REPEATS)

COMPARE = "eq/ne/lt/le/gt/ge"
COMPARE_FLOAT = f"{COMPARE}/equ/neu/ltu/leu/gtu/geu/num/nan"
_INTEGERS = (
    f"eq/ne ?{LOGIC} {{to}} >{BITS}/{INT}",
    f"lt/le/gt/ge ?{LOGIC} {{to}} >{INT}",
    f"lo/ls/hi/hs ?{LOGIC} {{to}} >u16/u32/u64",
)
_BF16 = "bf16@90"
_FLOATS = f"{COMPARE_FLOAT} ?{LOGIC}"
_row("set", "9.7.6.1", [each.format(to=f"u32/s32/f32/f16/{_BF16}") for each in _INTEGERS], convert.set_value)
_row(
    "set",
    "9.7.6.1",
    (
        f"{_FLOATS} ?ftz u32/s32/f32/f16/{_BF16} >f32 | {_FLOATS} u32/s32/f32/f16/{_BF16} >f64",
        f"{_FLOATS} ?ftz u32/s32/u16/s16/f16/{_BF16} >f16 | {_FLOATS} u32/s32/u16/s16/bf16 >bf16 @90",
        f"{_FLOATS} ?ftz u32/s32/f16x2 >f16x2 | {_FLOATS} u32/s32/bf16x2 >bf16x2 @90",
    ),
    convert.set_value,
)
_row("setp", "9.7.6.2", [each.format(to="") for each in _INTEGERS], convert.set_predicate)
_row("setp", "9.7.6.2", f"{_FLOATS} ?ftz f32/{HALF} | {_FLOATS} f64/{_BF16}/bf16x2@90", convert.set_predicate)
_row("mov", "9.7.9.3", f"pred/{BITS}/{INT}/f32/f64/b128@:8.3", convert.move, traits=COMPUTES | IDLE | MOVES | REPEATS)
_WHOLE = f"u8/s8/{INT}"
_BACK = "rni/rzi/rmi/rpi"
_SMALL = "e4m3x2@89/e5m2x2@89/e2m1x2@100a+/e2m3x2@100a+/e3m2x2@100a+"
_row(
    "cvt",
    "9.7.9.21",
    (
        f"{_WHOLE} >{_WHOLE} | sat u8 >s8/{INT} | sat s8 >u8/{INT} | sat u16 >s8/s16/{WORDS} | sat s16 >u16/{WORDS}",
        "sat u32 >s8/s16/s32/u64/s64 | sat s32 >u32/u64/s64 | sat u64 >s8/s16/s32/s64 | sat s64 >u64",
        f"{_BACK} ?sat {_WHOLE} >f16/{_BF16}/f64 | {_BACK} ?ftz ?sat {_WHOLE} >f32",
        f"{ROUND} ?ftz ?sat f32 >{_WHOLE} | {ROUND} ?sat f16/f64 >{_WHOLE} | {ROUND} bf16 >{_WHOLE} @90",
        f"?{_BACK} ?ftz ?sat f32 >f32 | ?{_BACK} ?sat f64 >f64 | ?{_BACK} ?sat f16 >f16 | ?{_BACK} bf16 >bf16 @90",
        "?ftz ?sat f64 >f32 | ?ftz ?sat f32 >f16 | ?sat f64 >f16 | ?ftz@90 f32 >bf16 @80:7.1 | f64 >bf16 @90",
        f"{ROUND} ?ftz ?sat f32 >f64 | {ROUND} ?ftz ?sat f16 >f32 | {ROUND} ?sat f16 >f64",
        f"{ROUND} bf16 >f64/f16 @90 | {ROUND} bf16 >f32 @80",
        "rn/rz ?relu@80 ?satfinite@:8.1 f16/bf16@80/f16x2@80/bf16x2@80 >f32",
        "rna ?satfinite@:8.1 tf32 >f32 @80 | rn/rz ?relu ?satfinite@100 tf32 >f32 @90",
        f"rn satfinite ?relu {_SMALL} >f32 | rn satfinite ?relu e4m3x2/e5m2x2 >f16x2 @89 | rn ?relu f16x2 >{_SMALL}",
        "rn satfinite ?relu e2m1x2/e2m3x2/e3m2x2 >f16x2 @100a+:9.1",
        "rn satfinite ?relu e2m1x2/e2m3x2/e3m2x2/e4m3x2/e5m2x2 >bf16x2 @100a+:9.1",
        "rz/rp ?satfinite ue8m0x2 >f32/bf16x2 @100a+ | rn bf16x2 >ue8m0x2 @100a+",
    ),
    convert.convert,
    traits=COMPUTES | IDLE | REPEATS | WIDER,
)

_row(
    "cvt",
    "9.7.9.21",
    "rs ?relu ?satfinite f16x2/bf16x2 >f32 @100a,103a:8.7",
    stochastic.convert_two,
    operands="=1 2 2 b32!",
)
_row(
    "cvt",
    "9.7.9.21",
    "rs ?relu satfinite e4m3x4/e5m2x4/e2m3x4/e3m2x4/e2m1x4 >f32 @100a,103a:8.7",
    stochastic.convert_four,
    operands="=1 {4}2 b32!",
)
_row("cvt", "9.7.9.22", "^pack sat u16/s16 >s32 @72", convert.pack, operands="=u32 s32 s32")
_row(
    "cvt",
    "9.7.9.22",
    "^pack sat u8/s8/u4@75/s4@75/u2@75/s2@75 >s32 >b32 @72",
    convert.pack,
    operands="=u32 s32 s32 b32",
)

OPERANDS = {"* *": "mov", "=~1 ~%2 ~2?": "cvt", "=1 2 2 pred?": "set", "=pred_ 1 1 pred?": "setp"}
