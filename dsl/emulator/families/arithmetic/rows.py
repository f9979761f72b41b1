"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

import functools

from dsl.emulator.families.arithmetic import bits, float as floating, integer
from dsl.emulator.ir.rows import BF, BITS, HALF, INT, ROUND, WORDS, Rows
from dsl.emulator.ptx.traits import ARITHMETIC, COMPUTES, IDLE, MOVES, REPEATS

ROWS = Rows()
_row = functools.partial(ROWS.add, traits=COMPUTES | IDLE)
_steady = functools.partial(ROWS.add, traits=COMPUTES | IDLE | REPEATS)
_sum = functools.partial(ROWS.add, traits=ARITHMETIC | COMPUTES | IDLE)

PAIRS = "u16x2@90:8.0/s16x2@90:8.0"

_row("add", "9.7.1.1", f"{INT}/{PAIRS} | sat s32 | cc {WORDS}", integer.add_sub("add"))
_row("sub", "9.7.1.2", f"{INT} | sat s32 | cc {WORDS}", integer.add_sub("sub"))
_row("mul", "9.7.1.3", "^lo/hi/wide u16/s16/u32/s32 | ^lo/hi u64/s64", integer.mul)
_row("mad", "9.7.1.4", f"^lo/hi/wide u16/s16/u32/s32 | ^lo/hi u64/s64 | ^hi sat s32 | ^lo/hi cc {WORDS}", integer.mad)
_row("mul24", "9.7.1.5", "^lo/hi u32/s32", integer.mul24)
_row("mad24", "9.7.1.6", "^lo/hi u32/s32 | ^hi sat s32", integer.mul24)
_row("sad", "9.7.1.7", INT, integer.sum_of_differences)
_row("div rem", "9.7.1.8", INT, integer.divide)
_row("abs", "9.7.1.10", "s16/s32/s64", integer.absolute)
_row("neg", "9.7.1.11", "s16/s32/s64", integer.negate)
_steady("min max", "9.7.1.12", f"{INT}/{PAIRS} | relu s16x2/s32 @90:8.0", integer.minmax)
_steady("popc", "9.7.1.14", "b32/b64", bits.count("ctpop"))
_row("clz", "9.7.1.15", "b32/b64", bits.count("ctlz", ", i1 false"))
_row("bfind", "9.7.1.16", f"?shiftamt {WORDS}", bits.find_leading)
_row("fns", "9.7.1.17", "b32", bits.find_nth_set)
_row("brev", "9.7.1.18", "b32/b64", bits.reverse)
_row("bfe", "9.7.1.19", WORDS, bits.extract)
_row("bfi", "9.7.1.20", "b32/b64", bits.insert)
_row("szext", "9.7.1.21", "clamp/wrap u32/s32 @:7.6", bits.extend_field)
_row("bmsk", "9.7.1.22", "clamp/wrap b32 @:7.6", bits.bit_mask)
_row("dp4a", "9.7.1.23", "u32/s32 u32/s32", integer.dot)
_row("dp2a", "9.7.1.24", "^lo/hi u32/s32 u32/s32", integer.dot)
ROWS.add("addc", "9.7.2.2", f"?cc {WORDS}", integer.with_carry("add"))
ROWS.add("subc", "9.7.2.4", f"?cc {WORDS}", integer.with_carry("sub"))
ROWS.add("madc", "9.7.2.6", f"^lo/hi ?cc {WORDS}", integer.madc)
_row("testp", "9.7.3.1", "finite/infinite/number/notanumber/normal/subnormal f32/f64", floating.test_class)
_row("copysign", "9.7.3.2", "f32/f64", floating.copy_sign)
for _opcode, _operation, _section in (("add", "fadd", 3), ("sub", "fsub", 4), ("mul", "fmul", 5)):
    _sum(
        _opcode,
        f"9.7.3.{_section}",
        f"?{ROUND} ?ftz ?sat f32 | ?{ROUND} f64 | ?{ROUND} ?ftz f32x2 @100",
        floating.arithmetic(_operation),
    )
    _sum(_opcode, f"9.7.4.{_section - 2}", f"?rn ?ftz ?sat {HALF} | ?rn {BF} @90", floating.arithmetic(_operation))
_sum("fma", "9.7.3.6", f"{ROUND} ?ftz ?sat f32 | {ROUND} f64 | {ROUND} ?ftz f32x2 @100", floating.arithmetic("fma"))
_sum("mad", "9.7.3.7", f"{ROUND} ?ftz ?sat f32 | {ROUND} f64", floating.arithmetic("fma"))
_sum(
    "fma",
    "9.7.4.4",
    f"rn ?ftz ?sat/relu@80 {HALF} | rn ?relu {BF} | rn oob ?sat/relu {HALF} @90:8.1 | rn oob ?relu {BF} @90:8.1",
    floating.arithmetic("fma"),
)
for _opcode, _operation, _section in (("add", "fadd", 1), ("sub", "fsub", 2), ("fma", "fma", 3)):
    _rounds = ROUND if _opcode == "fma" else f"?{ROUND}"
    _operands = "=1 2 2 1" if _opcode == "fma" else "=1 2 1"
    _sum(
        _opcode,
        f"9.7.5.{_section}",
        f"{_rounds} ?sat f32 >f16/bf16 @100",
        floating.mixed(_operation),
        operands=_operands,
    )
_row("div", "9.7.3.8", f"{ROUND}/approx ?ftz f32 | ^full ?ftz f32 | {ROUND} f64", floating.divide)
_row("abs", "9.7.3.9", f"?ftz f32/{HALF} | f64/{BF}", floating.sign("abs"))
_row("neg", "9.7.3.10", f"?ftz f32/{HALF} | f64/{BF}", floating.sign("neg"))
_steady(
    "min max",
    "9.7.3.11",
    [
        f"f64 | ?NaN {BF} | ?ftz ?NaN {HALF} @80",
        f"?NaN xorsign@86:7.2 abs {BF} | ?ftz ?NaN xorsign@86:7.2 abs f32/{HALF} @80",
    ],
    floating.minmax,
)
_steady("min max", "9.7.3.11", "?ftz f32 | ?ftz NaN f32 @80", floating.minmax, operands="=1 1 1 1?")
_steady("min max", "9.7.3.11", "?ftz ?NaN abs f32 @100:8.8", floating.minmax, operands="=1 1 1 1")
_row("rcp", "9.7.3.13", f"approx/{ROUND} ?ftz f32 | {ROUND} f64 | approx ftz f64", floating.reciprocal)
_row("sqrt", "9.7.3.15", f"approx/{ROUND} ?ftz f32 | {ROUND} f64", floating.arithmetic("sqrt"))
_row("rsqrt", "9.7.3.16", "approx ?ftz f32/f64", floating.reciprocal_root)
for _opcode, _function, _section, _types in (
    ("sin", "sinf", 18, "approx ?ftz f32"), ("cos", "cosf", 19, "approx ?ftz f32"),
    ("lg2", "log2f", 20, "approx ?ftz f32"),
    ("ex2", "exp2f", 21, f"approx ?ftz f32 | approx {HALF} @75:7.0 | approx ftz {BF} @90"),
    ("tanh", "tanhf", 22, f"approx f32/{HALF} @75:7.0 | approx {BF} @90"),
):  # fmt: skip
    _row(_opcode, f"9.7.3.{_section}", _types, floating.through_libm(_function))
_row("selp", "9.7.6.3", f"{BITS}/{INT}/f32/f64", integer.select, traits=COMPUTES | IDLE | MOVES | REPEATS)
_row("slct", "9.7.6.4", f"{BITS}/{INT}/f32/f64 >s32 | ?ftz {BITS}/{INT}/f32/f64 >f32", integer.select_by_sign)
_steady("and", "9.7.8.1", f"pred/{BITS}", integer.conjunction)
for _opcode in ("or", "xor"):
    _steady(_opcode, "9.7.8.1", f"pred/{BITS}", integer.simple(_opcode))
_steady("not", "9.7.8.4", f"pred/{BITS}", integer.invert)
_row("cnot", "9.7.8.5", BITS, integer.logical_not)
_steady("lop3", "9.7.8.6", "?and@:8.2/or@:8.2 b32", integer.logic3)
_row("shf", "9.7.8.7", "^l/r clamp/wrap b32", integer.funnel)
_row("shl", "9.7.8.8", BITS, integer.shift_left)
_row("shr", "9.7.8.9", f"{BITS}/{INT}", integer.shift_right)
_row("prmt", "9.7.9.7", "b32 ?f4e/b4e/rc8/ecl/ecr/rc16", integer.permute)

OPERANDS = {
    "=1 1": "abs neg brev rcp sqrt rsqrt sin cos lg2 ex2 tanh not cnot",
    "=u32 1": "popc clz bfind",
    "=pred 1": "testp",
    "=1 1 1": "add sub div rem min max addc subc mul24 copysign and or xor",
    "=w1 1 1": "mul",
    "=w1 1 1 w1": "mad madc",
    "=1 1 1 1": "mad24 sad fma prmt",
    "=1 1 u32": "shl shr szext",
    "=1 1 u32 u32": "bfe",
    "=1 1 1 u32 u32": "bfi",
    "=u32 u32 u32": "bmsk",
    "=1 1 u32 s32": "fns",
    "=u32 1 2 u32": "dp4a dp2a",
    "=1 1 1 pred": "selp",
    "=1 1 1 2": "slct",
    "=1 1 1 u32": "shf",
    "=1_ 1 1 1 n pred?": "lop3",
}
