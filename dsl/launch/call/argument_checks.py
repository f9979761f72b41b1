"""Errors at the author's line for arguments that no parameter takes or that do not fit their annotation.

As in NVIDIA's compiler, classes are checked, and generic annotations (`List[Int32]`) are not. Some more values fit:
arrays of any library for a tensor, numbers of any kind, lists for tuples.
"""

from __future__ import annotations

import enum
import types
import typing
from typing import Any

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Numeric, NumericMeta, of_python
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import Pointer
from dsl.launch.argument import abi, author_objects, containers, kinds
from dsl.layout import ComposedLayout, Layout
from dsl.tile.tensor.tensor import Tensor


class _Kind(enum.Enum):
    NUMBER, TENSOR, POINTER, LAYOUT, CONTAINER, TEXT, CODE, OBJECT = range(8)


_SEQUENCES = (tuple, list)
_LAYOUTS = (Layout, ComposedLayout)
_FIXES = {  # of an annotation: outside of a traced function, and in one
    Tensor: ("pass an array or a torch tensor, or from_dlpack(...)", "pass a tensor"),
    Pointer: ("pass make_ptr(dtype, address)", "pass a pointer: `t.iterator`"),
    Layout: ("pass cute.make_layout(...)", "pass cute.make_layout(...)"),
}


def check_argument(function: str, name: str, value: Any, annotation: Any) -> None:
    """Raise the author's error for what no parameter takes, and for another kind than the parameter's annotation."""
    if isinstance(value, (set, frozenset)):
        raise DSLUserCodeTypeError(
            f"`{function}` takes no set for `{name}`: a set has no order",
            fix="pass a tuple or a list",
            id="ARG_UNORDERED_CONTAINER",
        )
    if isinstance(value, (str, bytes, complex)):
        raise DSLUserCodeTypeError(
            f"`{function}` cannot take a {type(value).__name__} for `{name}` at run time",
            id="ARG_UNSUPPORTED_TYPE",
            fix=f"annotate it as static: `{name}: cutlass.Constexpr`",
        )
    if _differs(value, annotation):
        raise _mismatch(function, name, value, annotation, in_traced=False)


def check_traced(function: str, name: str, value: Any, annotation: Any) -> None:
    """Raise the author's error for a value of another kind than a kernel's parameter is annotated with."""
    if _differs(value, annotation):
        raise _mismatch(function, name, value, annotation, in_traced=True)


def _mismatch(function: str, name: str, value: Any, annotation: Any, *, in_traced: bool) -> DSLUserCodeTypeError:
    if isinstance(annotation, NumericMeta):
        hint = f", or annotate `{name}: cute.Tensor`" if _kind(value) is _Kind.TENSOR else ""
        fix = f"pass a number{hint}"
    elif annotation in _FIXES:
        fix = _FIXES[annotation][in_traced]
    else:
        fix = f"pass {_wanted(annotation)}, or annotate `{name}` with what it gets"
    return DSLUserCodeTypeError(
        f"`{function}` takes {_wanted(annotation)} for `{name}`, got {_got(value, in_traced)}",
        id="ARG_ANNOTATION_MISMATCH",
        fix=fix,
    )


def _got(value: Any, in_traced: bool) -> str:
    kind = _kind(value)
    if kind is _Kind.CODE and not isinstance(value, type):
        return "a function" if callable(value) else "a module"
    if not in_traced and kind in (_Kind.TENSOR, _Kind.POINTER):
        return f"a {kind.name.lower()}"
    return type_name(value)


def _wanted(annotation: Any) -> str:
    parts = typing.get_args(annotation) if _is_union(annotation) else (annotation,)
    return " or ".join(_word(part) for part in parts)


def _word(annotation: Any) -> str:
    if annotation is types.NoneType:
        return "None"
    if isinstance(annotation, NumericMeta):
        return str(annotation)
    name = getattr(annotation, "__name__", str(annotation)).lstrip("_")
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


def _is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


def _differs(value: Any, annotation: Any) -> bool:
    """Whether a value is of another kind than its annotation asks for."""
    if _is_union(annotation):
        return all(_differs(value, part) for part in typing.get_args(annotation))
    if value is None or not isinstance(annotation, type) or annotation in (Any, object):
        return False
    kind = _kind(value)
    if isinstance(annotation, NumericMeta):
        return kind is _Kind.TENSOR or (kind is not _Kind.NUMBER and not hasattr(value, "item"))
    if annotation in (Tensor, Pointer):
        fitting = _Kind.TENSOR if annotation is Tensor else _Kind.POINTER
        return kind is not fitting and not (kind is _Kind.OBJECT and author_objects.has_protocol(value))
    if annotation in _LAYOUTS:
        return kind is not _Kind.LAYOUT
    if annotation in (int, float, bool):
        return kind is not _Kind.NUMBER or (annotation is int and _is_float(value))
    if annotation in _SEQUENCES:
        return not isinstance(value, _SEQUENCES)
    if issubclass(annotation, containers.StaticInts):
        return kind in (_Kind.TENSOR, _Kind.POINTER, _Kind.CODE) or _is_float(value)
    return _is_of_another_class(value, annotation, kind)


def _is_of_another_class(value: Any, annotation: type, kind: _Kind) -> bool:
    """As `_differs`, for the annotations that have no rule."""
    module = annotation.__module__.partition(".")[0]
    if module == "dsl":
        return (
            kind is not _Kind.OBJECT
            and not hasattr(annotation, "__from_argument__")
            and not isinstance(value, annotation)
        )
    if annotation.__name__ in kinds.HANDLES or getattr(annotation, "_is_protocol", False):
        return False
    if hasattr(annotation, "__dlpack__"):
        return kind is not _Kind.TENSOR
    try:
        return not isinstance(value, annotation)
    except TypeError:  # a TypedDict
        return False


def _is_float(value: Any) -> bool:
    value = kinds.python_number(value)
    return isinstance(value, float) or (isinstance(value, Numeric) and value.is_float)


def _kind(value: Any) -> _Kind:
    argument_type = value.argument_type() if hasattr(value, "argument_type") else None
    if of_python(kinds.python_number(value)) is not None or isinstance(value, Numeric):
        return _Kind.NUMBER
    if isinstance(value, Tensor) or kinds.is_tensor(value):
        return _Kind.TENSOR
    if isinstance(value, Pointer) or isinstance(argument_type, abi.PointerType):
        return _Kind.POINTER
    if isinstance(value, _LAYOUTS):
        return _Kind.LAYOUT
    if isinstance(value, (tuple, list, dict)):
        return _Kind.CONTAINER
    if isinstance(value, (str, bytes)):
        return _Kind.TEXT
    return _Kind.CODE if isinstance(value, (type, types.FunctionType, types.ModuleType)) else _Kind.OBJECT
