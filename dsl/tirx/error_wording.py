"""Errors of core and the floors above it in TIRx's words: `Int32` is int32, a Constexpr is a T.constexpr."""

from __future__ import annotations

import re

from dsl.core.errors import DSLUserCodeError

_TYPES = "|".join(
    [
        *(f"{kind}{width}" for kind in ("Int", "Uint") for width in (8, 16, 32, 64)),
        "Float16",
        "Float32",
        "Float64",
        "BFloat16",
        "Boolean",
    ]
)
_NAMES = {"Boolean": "bool"}
_PHRASES = (
    (r"an `if` statement of a @cute\.jit or @cute\.kernel function", "an `if` statement"),
    (r"or pass the value as cutlass\.Constexpr", "or take it as a T.constexpr of a T.jit function"),
    (r"cutlass\.Constexpr", "T.constexpr"),
    (r"`cutlass\.range_constexpr`", "T.unroll"),
    (r"range_constexpr", "T.unroll"),
    (r"`x\.to\(cutlass\.(\w+)\)`", lambda match: f"`T.{_name(match[1])}(x)`"),
    (rf"`({_TYPES})\((\w*)\)`", lambda match: f"`T.{_name(match[1])}({match[2]})`"),
    (rf"cutlass\.({_TYPES})", lambda match: f"T.{_name(match[1])}"),
    (r"`?range\(Int32\(n\)\)`?", "range(T.int32(n))"),
    (rf"\b({_TYPES})\b", lambda match: _name(match[1])),
    (r"a @cute\.(?:jit|kernel)(?: host)? function", "a T.prim_func"),
    (r"@cute\.(?:jit|kernel)", "@T.prim_func"),
    (r"\ba dynamic (\w+)", r"a \1 known at run time only"),
    (r"\bPython (int|float|bool|str)\b", r"Python's \1"),
    (r"\bTensorSSA\b", "vector"),
    (r"\ba (int\d)", r"an \1"),
)


def _name(core: str) -> str:
    return _NAMES.get(core, core.lower())


def translated(text: str) -> str:
    """A sentence of core's in TIRx's words."""
    for pattern, instead in _PHRASES:
        text = re.sub(pattern, instead, text)
    return text


_BY_ID = {
    "CALL_OUTSIDE_KERNEL": ("belongs to the device part of a T.prim_func", "write it behind T.device_entry()"),
    "CALL_OUTSIDE_JIT": ("is computed outside a T function", "move it into a T.prim_func"),
}


def translate(error: DSLUserCodeError) -> None:
    """Say `error` in TIRx's words, once."""
    if not getattr(error, "is_translated", False):
        error.is_translated = True
        error.message, error.fix = _BY_ID.get(error.id, (error.message, error.fix))
        error.message, error.fix = translated(error.message), translated(error.fix)
        error.also = tuple((place, translated(text)) for place, text in error.also)
