"""Errors of core and the floors above it in TIRx's words: `Int32` is int32, a Constexpr is a T.constexpr."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeError
from dsl.core.number import operators
from dsl.core.phrase import reworded

TYPE_WORDS = {
    "Float16": "float16",
    "Float32": "float32",
    "Float64": "float64",
    "BFloat16": "bfloat16",
    "Boolean": "bool",
    **{f"{kind}{width}": f"{kind.lower()}{width}" for kind in ("Int", "Uint") for width in (8, 16, 32, 64)},
}
# The words of TIRx in place of a phrase of core, by its kind.
_TEMPLATES = {
    "CAST": "`T.{dtype}(x)`",
    "CHOOSE_OR_MARK": "choose between numbers of one kind, or decide the test while compiling",
    "COMPARE_TYPES": "compare it: `x is T.float32`",
    "CONVERSION": "`T.{dtype}(x)`",
    "CONVERT_BOUND": "convert it: range(T.{dtype}(n))",
    "DECIDE_IN_IF": "decide in an `if` statement, or {parameter}",
    "DYNAMIC": "{what:a} known at run time only",
    "END_RECURSION": "write a loop, or stop by a value known while compiling",
    "GO_BY_FLOAT32": "go by float32: `T.float32(x)`",
    "MARK_TEST": "decide the test while compiling, or choose among numbers",
    "PASS_AS_STATIC": "pass it as T.constexpr",
    "PYTHON_TYPE": "Python's {type}",
    "REGISTER_COUNT": "T.ptx.setmaxnreg(True, 232), for example",
    "START_AS": "start it as {dtype}: `{path} = T.{dtype}(...)`",
    "STATIC_PARAMETER": "take it as a T.constexpr of a T.jit function",
    "UNROLL": "write `for i in range(...)`, or `T.unroll` where Python must iterate",
    "USE_AS_IT_IS": "use it as it is (`T.{dtype}(x)` converts), or {parameter}",
    "USE_OR_CAST": "use it as it is, or `T.{type}(x)`",
    "VECTOR_TYPE": "vector of {dtype} {shape}",
}
# The words of TIRx in place of a whole error of core, by its id: the message and the fix.
_ERRORS = {
    "CALL_OUTSIDE_KERNEL": ("belongs to the device part of a T.prim_func", "write it after T.device_entry()"),
    "CALL_OUTSIDE_JIT": ("is computed outside a T function", "move it into a T.prim_func"),
}


def type_word(kind: type) -> str:
    """TIRx's name of one of core's types; the class's own name for any other."""
    return TYPE_WORDS.get(kind.__name__, kind.__name__)


def translated(text: str) -> str:
    """A phrase of core's in TIRx's words."""
    return reworded(text, _TEMPLATES, type_word)


def type_name(value: Any) -> str:
    """The type of a value in the words of TIRx's authors: `int32`, `Python's int`, `list of 2`."""
    return translated(operators.type_name(value))


def translate(error: DSLUserCodeError) -> None:
    """Say `error` in TIRx's words."""
    message, fix = _ERRORS.get(error.id or "", (error.message, error.fix))
    error.message, error.fix = translated(message), translated(fix)
    error.also = tuple((place, translated(text)) for place, text in error.also)
