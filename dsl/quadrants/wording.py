"""What Python itself raises while a kernel is traced, in the author's words, with a fix; values and names in words."""

from __future__ import annotations

import builtins
import difflib
import re
import types as python_types
from collections.abc import Iterable
from typing import Any

from dsl import span
from dsl.core.number.dtypes import Numeric
from dsl.quadrants import dtypes as types
from dsl.quadrants.assignable import Lvalue
from dsl.quadrants.errors import own_words

_PLAIN = {
    str: "a string",
    list: "a list",
    tuple: "a tuple",
    dict: "a dict",
    type(None): "None",
    set: "a set",
    slice: "a slice",
    bool: "a bool",
    enumerate: "an enumerate",
    zip: "a zip",
    map: "a map",
}


def described(value: Any) -> str:
    """A value with its article: "a run-time i32", "a vector of 3", "a list"."""
    from dsl.quadrants.dense import Dense, Indexed
    from dsl.quadrants.matrix import Matrix

    if isinstance(value, (Numeric, Lvalue)):
        return an(value.dtype if isinstance(value, Lvalue) else types.name_of(value))
    if isinstance(value, Matrix):
        shape = value.get_shape()
        return f"a vector of {shape[0]}" if len(shape) == 1 else f"a {shape[0]}x{shape[1]} matrix"
    if isinstance(value, Indexed):
        return f"a {value.label}" if isinstance(value, Dense) else "an array"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(value)
    if isinstance(value, python_types.ModuleType):
        return f"the module {value.__name__.removeprefix('dsl.')}"
    if type(value) in _PLAIN or type(value).__name__ == "Text":
        return _PLAIN.get(type(value), "a string")
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if callable(value) and hasattr(value, "__name__"):
        return f"the function {value.__name__}"
    if type(value).__module__ == "numpy" and getattr(value, "shape", ()) != ():
        return f"a numpy array of shape {value.shape}"
    return an(type(value).__name__)


def an(name: Any) -> str:
    """A name with its article: an element type is read by its letter, an i32 and an f32 but a u8."""
    is_letter = len(str(name)) > 1 and str(name)[1].isdigit()
    return f"a{'n' if str(name)[:1].lower() in ('aefilmnorsx' if is_letter else 'aeio') else ''} {name}"


def alike(name: str, names: Iterable[str]) -> str:
    """The one of `names` that an author who wrote `name` may have meant, or ""."""
    spelled: dict[str, list[str]] = {}
    for each in names:
        if not each.startswith("_") and each != name:
            spelled.setdefault(each.lower(), []).append(each)
    found = difflib.get_close_matches(name.lower(), spelled, 1, 0.65)
    same_case = [each for each in spelled[found[0]] if each[0].isupper() == name[0].isupper()] if found else []
    return (same_case or spelled[found[0]])[0] if found else ""


def of_python(error: Exception) -> tuple[str, str]:
    """The message and the fix for an exception of Python's own, raised while a kernel was traced."""
    text = own_words(str(error)) or type(error).__name__
    if isinstance(error, NameError):
        return _of_name(error)
    if isinstance(error, AttributeError) and error.name and not hasattr(error.obj, "__wrapped__"):
        return of_attribute(error.obj, error.name)
    if isinstance(error, AssertionError):
        return text, "its condition must hold: it is checked while the kernel is compiled"
    for pattern, message, fix in _OPERANDS:
        if found := re.search(pattern, text):
            words = [_WORDS.get(word, an(word)) if word.isidentifier() else word for word in found.groups()]
            return message.format(*words), fix or _fix_of_operands(found.groups())
    if not isinstance(error, (TypeError, IndexError, ValueError)):
        text = f"{type(error).__name__}: {text}"
    return text, "plain Python runs once while the kernel is compiled: take it out of the kernel"


_WORDS = {
    "ScalarField": "a field",
    "MatrixField": "a field of vectors",
    "ArrayView": "an array",
    "NoneType": "None",
    "str": "a string",
    "list": "a list",
    "dict": "a dict",
    "tuple": "a tuple",
    "Matrix": "a vector or matrix",
    "Element": "a number",
    "Variable": "a number",
    "Text": "a string",
    "int": "an int",
    "float": "a float",
}
_OPERANDS = (
    (
        r"unsupported operand type\(s\) for (\S+?)(?:\(\))?: '(\w+)' and '(\w+)'",
        "`{0}` is not defined for {1} and {2}",
        "",
    ),
    (r"bad operand type for unary (\S+): '(\w+)'", "`{0}` is not defined for {1}", ""),
    (r'can only concatenate (\w+) \(not "(\w+)"\)', "{0} and {1} cannot be added", ""),
    (r"'(\w+)' object is not callable", "{0} cannot be called", "call a @qd.func; `*` multiplies"),
    (r"'(\w+)' object is not subscriptable", "{0} has no elements", "index a field, an array or a vector"),
    (
        r"object of type '(\w+)' has no len\(\)",
        "{0} has no length",
        "take the extent: `x.shape[0]`, or `v.n` of a vector",
    ),
    (r"Value after \* must be an iterable, not (\w+)", "{0} cannot be unpacked with `*`", "name each argument"),
    (r"'(\w+)' object is not iterable", "{0} cannot be iterated here", "loop over range(...) and index it"),
    (r"unhashable type: '(\w+)'", "{0} cannot be a key", "use a number known while compiling"),
)


def _fix_of_operands(names: tuple[str, ...]) -> str:
    """What to do with an operand that has no arithmetic."""
    for kinds, fix in (
        (
            ("ScalarField", "MatrixField", "ArrayView"),
            "name an element: `x[i]`, or `x[None]` of one without dimensions",
        ),
        (("NoneType",), "give it a number: a func without `return` gives None"),
        (("str", "Text"), "compute with numbers: a string is for print and assert"),
        (("list", "tuple"), "make a vector of it: `qd.Vector(xs)`"),
        (("Matrix",), "use the elements, or a vector on both sides"),
    ):
        if set(kinds) & set(names):
            return fix
    return "compute with numbers, vectors and matrices"


def is_component(error: Exception) -> bool:
    """Whether `error` is of a component that a vector has not: the real package calls that a mistake of syntax."""
    from dsl.quadrants.matrix import Matrix

    return isinstance(error, AttributeError) and isinstance(error.obj, Matrix) and len(error.name or "") == 1


def of_attribute(owner: Any, name: str) -> tuple[str, str]:
    """The message and the fix for an attribute that `owner` has not."""
    from dsl.quadrants.dense import Indexed
    from dsl.quadrants.matrix import Matrix

    meant = alike(name, dir(owner))
    told = f"{described(owner)} has no attribute `{name}`"
    if isinstance(owner, python_types.ModuleType):
        return f"{described(owner)} has no `{name}`", f"did you mean `{meant}`?" if meant else "use a name that it has"
    if isinstance(owner, Matrix):
        own = "xyzw"[: owner.n] if owner.ndim == 1 else ""
        if len(name) == 1 and own:
            return f"{described(owner)} has no component `{name}`", f"use one of {', '.join(own)}"
    if meant:
        return told, f"did you mean `{meant}`?"
    if isinstance(owner, (Numeric, Lvalue)):
        return told, "a number has none: use a qd.Vector for components"
    if isinstance(owner, (Matrix, Indexed)):
        return told, "index it: `x[i]`"
    return told, f"assign it before the kernel is called: `self.{name} = ...`"


def _of_name(error: NameError) -> tuple[str, str]:
    found = re.search(r"'(\w+)'", str(error))
    name = error.name or (found[1] if found else "")
    known, modules = _known_names(error)
    fix = ""
    for alias, module in modules.items():
        if not fix and not name.startswith("_") and hasattr(module, name):
            fix = f"write `{alias}.{name}`"
    meant = alike(name, known)
    fix = fix or (f"did you mean `{meant}`?" if meant else f"assign or import `{name}` before the kernel is called")
    return f'Name "{name}" is not defined', fix


def _known_names(error: BaseException) -> tuple[list[str], dict[str, Any]]:
    """The names that the author's code sees where `error` was raised, and which of them are the package's modules."""
    from dsl import quadrants

    names: dict[str, Any] = dict.fromkeys(vars(builtins))
    traceback = error.__traceback__
    while traceback is not None:
        if not span.is_between(traceback.tb_frame.f_code):
            names |= traceback.tb_frame.f_globals | traceback.tb_frame.f_locals
        traceback = traceback.tb_next
    own = {alias: value for alias, value in names.items() if value is quadrants or value is quadrants.math}
    return [each for each in names if not each.startswith("__")], own
