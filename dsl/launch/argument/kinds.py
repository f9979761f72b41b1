"""The kinds of arguments: which value is of which, and how each is passed.

`KINDS` is asked from top to bottom; the first kind that a value is of gives its argument type. That type does the rest:
`slot_formats()` are its slots in the argument block, `read(value, binding)` packs a call's value into them, and
`rebuild(values)` makes what the traced function sees. Quick readers for the types that calls mostly bring:
call/argument_reader.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from dsl.core.number.dtypes import Float, Float32, Int32, Integer, Numeric, of_python
from dsl.launch.argument import abi, author_objects, containers, dlpack
from dsl.launch.argument.abi import ArgumentType, PointerType, ScalarType, Static, StreamType, TensorType
from dsl.launch.argument.author_objects import ObjectType
from dsl.launch.argument.containers import ContainerType, LayoutType
from dsl.launch.argument.fake_arguments import FakeTensor
from dsl.launch.argument.runtime_tensor import RuntimeTensor, from_dlpack
from dsl.layout import ComposedLayout, Layout

FAMILIES = (Numeric, Integer, Float)  # annotations that any number of theirs fits, as it is


class Annotated(NamedTuple):
    """The annotation of a parameter or field; `marker` is the annotation that its language has for static ones."""

    annotation: Any
    marker: type | None

    @property
    def number(self) -> type[Numeric] | None:
        """The numeric type that is asked for, None for none and for a family of them."""
        is_type = isinstance(self.annotation, type) and issubclass(self.annotation, Numeric)
        return self.annotation if is_type and self.annotation not in FAMILIES else None


@dataclass(frozen=True)
class Kind:
    """A kind of argument: its name, the types its values are passed as, whether a value is of it, and as which type.

    `type_of` gives None for a value of this kind that no call can bring: it is part of the code.
    """

    name: str
    types: tuple[type, ...]
    includes: Callable[[Any, Annotated], bool]
    type_of: Callable[[Any, Annotated], ArgumentType | None]


def python_number(value: Any) -> Any:
    """A Python number, also out of a scalar of numpy."""
    return value.item() if type(value).__module__ == "numpy" and getattr(value, "shape", None) == () else value


def _numpy_type(value: Any) -> type[Numeric] | None:
    return next((dtype for dtype in dlpack.DTYPES if dtype.numpy_name == type(value).__name__), None)


HANDLES = ("CUstream", "cudaStream_t", "CUevent", "cudaEvent_t")


def _is_stream(value: Any, wanted: Annotated) -> bool:
    if type(value).__name__ in HANDLES or hasattr(value, "cuda_stream"):
        return True
    return isinstance(wanted.annotation, type) and wanted.annotation.__name__ in HANDLES


def _type_of_python_number(value: Any, wanted: Annotated) -> ScalarType | None:
    """The annotated type, if unsigned the signed type of its width; else Int32, Float32, Boolean or a numpy type."""
    if containers.keeps_ints(wanted.annotation):
        return None
    number = python_number(value)
    if wanted.annotation is Float and of_python(value):
        return ScalarType(Float32)
    dtype = wanted.number
    if dtype and type(value) in (bool, int, float) and abi.as_python_number(dtype) is not dtype:
        return ScalarType(abi.as_python_number(dtype), dtype)
    if dtype is None and type(number) is int:
        dtype = _numpy_type(value) or Int32
    dtype = dtype or _numpy_type(value) or of_python(number)
    assert dtype is not None  # of a Python number
    return ScalarType(dtype)


def _type_of_container(value: Any, wanted: Annotated) -> ContainerType | None:
    """None where nothing in the container is typed."""
    parts = containers.parts_of(value)
    hints = containers.hints(parts, wanted.annotation)
    types = tuple(_type_of_part(part, hint, wanted.marker) for part, hint in zip(parts.of(value), hints))
    if all(isinstance(part, Static) for part in types):
        return None
    return ContainerType(type(value), parts.names, types, parts.of, parts.make)


def _type_of_part(value: Any, annotation: Any, marker: type | None) -> ArgumentType:
    if marker is not None and annotation is marker:
        return Static(value)
    return type_of(value, annotation, marker) or Static(value)


KINDS = (
    Kind(  # tensors of from_dlpack, pointers of make_ptr, fakes: they have their own method
        "runtime argument",
        (TensorType, PointerType, StreamType),
        lambda value, wanted: hasattr(value, "argument_type"),
        lambda value, wanted: value.argument_type(),
    ),
    Kind(
        "typed number",
        (ScalarType,),
        lambda value, wanted: isinstance(value, Numeric),
        lambda value, wanted: ScalarType(wanted.number or type(value)),
    ),
    Kind("stream", (StreamType,), _is_stream, lambda value, wanted: StreamType()),
    Kind(
        "Python number",
        (ScalarType,),
        lambda value, wanted: bool(of_python(python_number(value))),
        _type_of_python_number,
    ),
    Kind(  # of another library, passed as it is: its layout is dynamic
        "tensor",
        (TensorType,),
        lambda value, wanted: dlpack.is_tensor(value),
        lambda value, wanted: from_dlpack(value).mark_layout_dynamic().argument_type(),
    ),
    Kind(
        "layout",
        (LayoutType,),
        lambda value, wanted: isinstance(value, (Layout, ComposedLayout)),
        lambda value, wanted: LayoutType.of(value),
    ),
    Kind(
        "object of an author's class",
        (ObjectType,),
        lambda value, wanted: author_objects.has_protocol(value),
        lambda value, wanted: author_objects.type_of(value),
    ),
    Kind("container", (ContainerType,), lambda value, wanted: containers.is_container(value), _type_of_container),
)


def kind_of(value: Any, wanted: Annotated) -> Kind | None:
    """The first kind that `value` is of, None if it is not an argument: a string, a type, None."""
    return next((kind for kind in KINDS if kind.includes(value, wanted)), None)


def type_of(value: Any, annotation: Any = None, marker: type | None = None) -> ArgumentType | None:
    """The type that `value` is passed as, or None where it can only be part of the code.

    In a container what a field annotates with `marker` is static.
    """
    wanted = Annotated(containers.number_in(annotation), marker)
    kind = kind_of(value, wanted)
    return kind.type_of(value, wanted) if kind else None


def typed(value: Any, annotation: Any = None, marker: type | None = None) -> Any:
    """The type that `value` is passed as, or `value` itself where it can only be part of the code."""
    return type_of(value, annotation, marker) or value


def is_typed(argument: Any) -> bool:
    """Whether `argument` is a type that a call brings values of (and not a static value)."""
    return hasattr(argument, "slot_formats")


def is_tensor(value: Any) -> bool:
    """Whether `value` is a tensor: of another library, of from_dlpack, or a fake one (a numpy scalar is a number)."""
    ours = isinstance(value, (RuntimeTensor, FakeTensor))
    return ours or (dlpack.is_tensor(value) and getattr(value, "shape", ()) != ())
