"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.memory import atomics, emit as memory
from dsl.emulator.ir.rows import LOGIC, SCOPE, Rows
from dsl.emulator.ptx.traits import IDLE, LOAD, MULTIMEM, REDUCTION, STORE

ROWS = Rows()
_row = ROWS.add

_SECTION, _NEEDS, _EIGHT_BITS = "9.7.9.14", "@90:8.1", "@100f,110f,120a,121a:8.6"
_WORDS = "u32/s32/u64"
# A vector of floats is of 32, 64 or 128 bits.
_HALVES = "?v2/v4 f16x2/bf16x2", "v2/v4/v8 f16/bf16"
_SINGLES = "?v2/v4 f32", "f64"
_BYTES = tuple(
    f"{each} {_EIGHT_BITS}" for each in ("?v2/v4 e5m2x4/e4m3x4", "v2/v4/v8 e5m2x2/e4m3x2", "v4/v8 e5m2/e4m3")
)
_REDUCED = (
    f"add {_WORDS}",
    f"min/max {_WORDS}/s64",
    f"{LOGIC} b32/b64",
    *(f"add ?acc::f32@:8.2 {each}" for each in _HALVES),
    *(f"add {each}" for each in _SINGLES),
    *(f"add ?acc::f16 {each}" for each in _BYTES),
    *(f"min/max {each}" for each in (*_HALVES, *_BYTES)),
)
_UPDATED = (
    f"add {_WORDS}",
    f"min/max {_WORDS}/s64",
    f"{LOGIC} b32/b64",
    *(f"add {each}" for each in (*_HALVES, *_SINGLES)),
)
_STORED = f"b32/b64/{_WORDS}/s64", *_HALVES, *_SINGLES, *_BYTES


def _forms(name: str, orders: tuple[str, ...], elements: tuple[str, ...]) -> list[str]:
    return [f"^{name} {order} ?global {each} {_NEEDS}" for order in orders for each in elements]


_row(
    "multimem",
    _SECTION,
    _forms("ld_reduce", ("?weak", f"relaxed/acquire {SCOPE}"), _REDUCED),
    memory.load,
    operands="={v}1_ []",
    traits=LOAD | IDLE | MULTIMEM,
)
_row(
    "multimem",
    _SECTION,
    _forms("st", ("?weak", f"relaxed/release {SCOPE}"), _STORED),
    memory.store,
    operands="[] {v}1",
    traits=STORE | IDLE | MULTIMEM,
)
_row(
    "multimem",
    _SECTION,
    [*_forms("red", ("", f"relaxed/release {SCOPE}"), _UPDATED)],
    atomics.atomic,
    operands="[] {v}1",
    traits=REDUCTION | MULTIMEM,
)
OPERANDS = {}
