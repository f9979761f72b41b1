"""Errors of core, and of Python itself while a kernel is traced, in the words of Quadrants' authors, with a fix."""

from __future__ import annotations

import sys
import types as python_types
from typing import Any

from dsl.core.diagnosis import python_sentences
from dsl.core.diagnosis.spelling import alike, visible_names
from dsl.core.errors import DSLUserCodeError
from dsl.core.number.dtypes import Numeric
from dsl.core.phrase import kinds, reworded
from dsl.quadrants.errors.description import an, described
from dsl.quadrants.errors.errors import QuadrantsCompilationError, QuadrantsIndexError, QuadrantsSyntaxError
from dsl.quadrants.memory.dense import Indexed
from dsl.quadrants.values import dtypes as types
from dsl.quadrants.values.assignable import Lvalue
from dsl.quadrants.values.matrix import SWIZZLES, Matrix
from dsl.quadrants.values.structure import Struct, fix_of_member

# --- core's errors ---------------------------------------------------------------------------------------------------

# A phrase of core's in Quadrants' words, by its kind.
_TEMPLATES = {
    "CAST": "`qd.{dtype}(x)`",
    "CONVERSION": "`qd.{dtype}(x)`",
    "CONVERT_BOUND": "convert it: `range(qd.{dtype}(n))`",
    "END_RECURSION": "write a loop, or end the recursion by qd.static(...) of a qd.Template argument",
    "START_AS": "start it as {dtype}: `{path} = qd.{dtype}(...)`",
    "STATIC_PARAMETER": "pass the value as qd.Template",
    "USE_OR_CAST": "use it as it is, or `qd.{type}(x)`",
}
# The fix of an error of core, by its id.
_FIXES = {
    "PHASE_DYNAMIC_TO_STATIC_BOOL": "decide in an `if` statement of the kernel, or pass the value as qd.Template",
    "PHASE_DYNAMIC_INDEX": "compute with it in the kernel, or pass the value as qd.Template",
}
_ANY_FIX = "compute it outside the kernel, and pass it as an argument"


def of_core(text: str) -> str:
    """A text of core's in Quadrants' words."""
    return reworded(text, _TEMPLATES, types.type_word)


def fix_of(error: DSLUserCodeError) -> str:
    """The fix of an error of core: core's own fix, unless it is written for another language."""
    if error.id in _FIXES:
        return _FIXES[error.id]
    if not error.fix or not _TEMPLATES.keys() >= set(kinds(error.fix)):
        return _ANY_FIX
    return of_core(error.fix)


# --- Python's errors -------------------------------------------------------------------------------------------------


def of_python(error: Exception) -> tuple[str, str]:
    """The message and the fix for an exception of Python's own, raised while a kernel was traced."""
    text = str(error) or type(error).__name__
    if isinstance(error, NameError) and error.name:
        return _of_name(error.name, error)
    if isinstance(error, AttributeError) and error.name and not hasattr(error.obj, "__wrapped__"):
        return of_attribute(error.obj, error.name)
    if isinstance(error, AssertionError):
        return text, "its condition must hold: it is checked while the kernel is compiled"
    sentence = python_sentences.read(error)
    if sentence is not None and sentence.kind in _OF_PYTHON:
        message, fix = _OF_PYTHON[sentence.kind]
        fields = {name: value if name == "operator" else _type_word(value) for name, value in sentence.fields.items()}
        return message.format(**fields), fix or _fix_of_operands(tuple(sentence.fields.values()))
    if not isinstance(error, (TypeError, IndexError, ValueError)):
        text = f"{type(error).__name__}: {text}"
    return text, "plain Python runs once while the kernel is compiled: take it out of the kernel"


# The name of a class in Python's sentence as the author knows it.
_TYPE_WORDS = {
    "ScalarField": "a field",
    "MatrixField": "a field of vectors",
    "ArrayView": "an array",
    "NoneType": "None",
    "str": "a string",
    "list": "a list",
    "dict": "a dict",
    "tuple": "a tuple",
    "Matrix": "a vector or matrix",
    "Struct": "a struct",
    "StructField": "a field of structs",
    "Element": "a number",
    "Variable": "a number",
    "Text": "a string",
    "int": "an int",
    "float": "a float",
    **{dtype.core.__name__: an(dtype) for dtype in types.ALL},
}
# The message and the fix for Python's error in an operation, by its kind; "" stands for the fix of its operands.
_OF_PYTHON = {
    "BINARY": ("`{operator}` is not defined for {left} and {right}", ""),
    "UNARY": ("`{operator}` is not defined for {type}", ""),
    "CONCATENATE": ("{left} and {right} cannot be added", ""),
    "CALL": ("{type} cannot be called", "call a @qd.func; `*` multiplies"),
    "SUBSCRIPT": ("{type} has no elements", "index a field, an array or a vector"),
    "LENGTH": ("{type} has no length", "take the extent: `x.shape[0]`, or `v.n` of a vector"),
    "UNPACK_ARGUMENTS": ("{type} cannot be unpacked with `*`", "name each argument"),
    "ITERATE": ("{type} cannot be iterated here", "loop over range(...) and index it"),
    "HASH": ("{type} cannot be a key", "use a number known while compiling"),
}


def _type_word(name: str) -> str:
    return _TYPE_WORDS.get(name) or an(name)


def _fix_of_operands(names: tuple[str, ...]) -> str:
    """The fix for an operand that has no arithmetic."""
    for classes, fix in (
        (
            ("ScalarField", "MatrixField", "ArrayView"),
            "name an element: `x[i]`, or `x[None]` of one without dimensions",
        ),
        (("NoneType",), "give it a number: a func without `return` gives None"),
        (("str", "Text"), "compute with numbers: a string is for print and assert"),
        (("list", "tuple"), "make a vector of it: `qd.Vector(xs)`"),
        (("Matrix",), "use the elements, or a vector on both sides"),
        (("Struct",), "compute with its members: `s.a`"),
        (("StructField",), "name an element and its member: `x[i].a`"),
    ):
        if set(classes) & set(names):
            return fix
    return "compute with numbers, vectors and matrices"


def component_error(owner: Any, name: str | None) -> type[QuadrantsCompilationError] | None:
    """The error for `name` if it names components that a vector, or a matrix, does not have."""
    if not isinstance(owner, Matrix) or not any(name and set(name) <= set(letters) for letters in SWIZZLES):
        return None
    return QuadrantsSyntaxError if owner.ndim == 1 else QuadrantsIndexError


def of_attribute(owner: Any, name: str) -> tuple[str, str]:
    """The message and the fix for an attribute that `owner` has not."""
    meant = alike(name, dir(owner))
    told = f"{described(owner)} has no attribute `{name}`"
    if isinstance(owner, python_types.ModuleType):
        return f"{described(owner)} has no `{name}`", f"did you mean `{meant}`?" if meant else "use a name that it has"
    if component_error(owner, name):
        if owner.ndim == 2:
            return f"{described(owner)} has no components, got `{name}`", "index it: `m[i, j]`"
        letters = next(letters for letters in SWIZZLES if set(name) <= set(letters))
        wrong = next(letter for letter in name if letter not in letters[: owner.n])
        return f"{described(owner)} has no component `{wrong}`", f"use one of {', '.join(letters[: owner.n])}"
    if isinstance(owner, Matrix) and owner.ndim == 1 and set(name) <= set("".join(SWIZZLES)):
        return told, f"take the letters of one name from one of {', '.join(SWIZZLES)}: `v.xy`"
    if isinstance(owner, Indexed) and owner.element_shape and set(name) <= set("".join(SWIZZLES)):
        return f"{told}: its elements have components", f"name an element: `x[i].{name}`"
    if isinstance(owner, Struct):
        return f"{described(owner)} has no member `{name}`", fix_of_member(name, owner.keys)
    if meant:
        return told, f"did you mean `{meant}`?"
    if isinstance(owner, (Numeric, Lvalue)):
        return told, "a number has none: use a qd.Vector for components"
    if isinstance(owner, (Matrix, Indexed)):
        return told, "index it: `x[i]`"
    return told, f"assign it before the kernel is called: `self.{name} = ...`"


def _of_name(name: str, error: NameError) -> tuple[str, str]:
    visible, package, fix = visible_names(error), sys.modules["dsl.quadrants"], ""
    for alias, value in visible.items():
        if value is package or value is vars(package).get("math"):
            if not fix and not name.startswith("_") and hasattr(value, name):
                fix = f"write `{alias}.{name}`"
    meant = alike(name, visible)
    fix = fix or (f"did you mean `{meant}`?" if meant else f"assign or import `{name}` before the kernel is called")
    return f'Name "{name}" is not defined', fix
