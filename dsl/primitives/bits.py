"""Bits of 32-bit words: bytes picked from two of them, and a word seen as another type."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Float32, Int32, Numeric, Uint32, numeric
from dsl.core.number.operators import type_name
from dsl.core.phrase import shown
from dsl.primitives.enums import PermuteMode
from dsl.primitives.operands import run, word

_OF_TWO = ("default", "f4e", "b4e")
_WORDS = (Int32, Uint32, Float32)


def prmt(lo: Any, selector: Any, mode: Any, *, hi: Any = None) -> Int32:
    """Four bytes of the eight in {hi, lo}, chosen by `selector` and `mode`; the modes other than default, f4e and b4e
    take them from `lo` alone.  PTX ISA: prmt."""
    name = word(mode, PermuteMode, "mode of prmt")
    if (hi is not None) != (name in _OF_TWO):
        needs = "takes two words" if hi is None else "takes one word"
        raise DSLUserCodeTypeError(
            f"prmt in mode {name} {needs}", fix="give `hi`" if hi is None else "leave `hi` out, or take mode default"
        )
    suffix = "" if name == "default" else f".{name}"
    other = lo if hi is None else hi
    return run(f"prmt.b32{suffix} $0, $1, $2, $3;", Int32, Int32(lo), Int32(other), Int32(selector))


def mov_b32(a: Any, *, target_type: type[Numeric] = Int32) -> Numeric:
    """The 32 bits of a number as a number of `target_type`: nothing is converted.  PTX ISA: mov.b32."""
    number = numeric(a)
    if target_type not in _WORDS or type(number) not in _WORDS:
        raise DSLUserCodeTypeError(
            f"mov_b32 takes Int32, Uint32 or Float32 to one of these, got {type_name(a)} to {shown(target_type)}",
            fix="convert it, for example `Int32(x)`",
        )
    assert number is not None
    return number.bitcast(target_type)
