"""Containers as arguments: tuples, lists, dicts, NamedTuples, dataclasses and layouts, part by part.

A Python number in one is an argument like any other, as of NVIDIA's compiler: Int32, Float32 or Boolean, or what its
field is annotated with. A value that its field marks as static (Constexpr), and a value that is not an argument (None,
a string, a type), is part of the code.
"""

from __future__ import annotations

import copy
import dataclasses
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dsl.core.ir import mlir
from dsl.core.number.dtypes import Numeric, is_dynamic
from dsl.launch.argument.abi import ArgumentType, Binding, ScalarType
from dsl.launch.argument.author_objects import has_protocol
from dsl.layout import ComposedLayout, Layout, LayoutError
from dsl.layout.int_tuple import flatten_to_tuple, transform_leaf


class StaticInts:
    """An annotation of int tuples (`cute.Shape`): Python integers in one are static, the DSL's numbers arguments."""


def keeps_ints(annotation: Any) -> bool:
    """Whether an annotation keeps Python integers static."""
    return isinstance(annotation, type) and issubclass(annotation, StaticInts)


@dataclass(frozen=True)
class Parts:
    """A container: a name and an annotation a part, how to list the parts of one like it, and how to make one."""

    names: tuple[str, ...]  # ".x", "[0]", "['k']"
    annotations: tuple
    of: Callable[[Any], list]
    make: Callable[[Sequence], Any]


def is_container(value: Any) -> bool:
    """Whether `value` is passed part by part."""
    if hasattr(type(value), "__flatten__"):  # a class of the compiler: it lists its dynamic parts itself
        return False
    is_instance = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return isinstance(value, (tuple, list)) or type(value) is dict or is_instance


def parts_of(value: Any) -> Parts:
    """The parts of a container."""
    kind = type(value)
    if isinstance(value, (tuple, list)):
        fields = getattr(kind, "_fields", ())
        names = tuple(f".{field}" for field in fields) or tuple(f"[{index}]" for index in range(len(value)))
        hints = hints_of(kind) if fields else {}
        make = (lambda parts: kind(*parts)) if fields else kind
        return Parts(names, tuple(hints.get(name[1:]) for name in names), list, make)
    if kind is dict:
        keys = list(value)
        return Parts(
            tuple(f"[{key!r}]" for key in keys),
            (None,) * len(keys),
            lambda v: [v.get(key) for key in keys],
            lambda parts: dict(zip(keys, parts)),
        )
    fields, hints = [field.name for field in dataclasses.fields(value)], hints_of(kind)
    return Parts(
        tuple(f".{field}" for field in fields),
        tuple(map(hints.get, fields)),
        lambda v: [getattr(v, field) for field in fields],
        lambda parts: _filled(value, fields, parts),
    )


def _filled(like: Any, fields: list[str], parts: Sequence) -> Any:
    """A copy of a dataclass instance with other fields, also of a frozen one."""
    copied = copy.copy(like)
    for field, part in zip(fields, parts):
        object.__setattr__(copied, field, part)
    return copied


def hints_of(kind: type) -> dict[str, Any]:
    """The annotations of a class, as objects; those it inherits too."""
    try:
        return typing.get_type_hints(kind)
    except Exception:  # an annotation is the author's own expression: it may do anything
        annotations = [vars(base).get("__annotations__", {}).items() for base in reversed(kind.__mro__)]
        return {name: hint for items in annotations for name, hint in items if not isinstance(hint, str)}


def number_in(annotation: Any) -> Any:
    """The one alternative of a union that is a numeric type, else the annotation."""
    numeric_types = [
        part for part in typing.get_args(annotation) if isinstance(part, type) and issubclass(part, Numeric)
    ]
    return numeric_types[0] if len(numeric_types) == 1 else annotation


def map_parts(value: Any, function: Callable[[Any, Any], Any], annotation: Any, marker: type) -> Any:
    """`value` with `function(part, annotation)` in place of everything in it that is not a container.

    A field annotated with `marker` stays as it is, and so does an object that lists its own parts.
    """
    if annotation is marker:
        return value
    if not is_container(value):
        return function(value, annotation)
    if has_protocol(value):
        return value
    parts = parts_of(value)
    pairs = zip(parts.of(value), hints(parts, annotation))
    return parts.make([map_parts(part, function, hint, marker) for part, hint in pairs])


def hints(parts: Parts, annotation: Any) -> tuple:
    """The annotation of each part of a container that is annotated itself."""
    return (annotation,) * len(parts.annotations) if keeps_ints(annotation) else parts.annotations


@dataclass(frozen=True)
class ContainerType:
    """A tuple, list, dict or dataclass with typed parts: `parts(value)` lists them, `make(parts)` builds one."""

    kind: type
    names: tuple[str, ...]  # ".x", "[0]", "['k']"
    types: tuple[ArgumentType, ...]
    parts: Callable[[Any], list]
    make: Callable[[list], Any]

    def slot_formats(self) -> str:
        return "".join(part.slot_formats() for part in self.types)

    def __str__(self) -> str:
        return f"{self.kind.__name__}({', '.join(map(str, self.types))})"

    def rebuild(self, values: Sequence[mlir.Value]) -> Any:
        remaining = iter(values)
        return self.make([part.rebuild([next(remaining) for _ in part.slot_formats()]) for part in self.types])

    def read(self, value: Any, binding: Binding) -> list:
        if type(value) is not self.kind:
            raise binding.mismatch(TypeError, "", self.kind.__name__, type(value).__name__)
        parts = self.parts(value)
        if len(parts) != len(self.types):
            raise binding.mismatch(ValueError, "", f"{len(self.types)} long", len(parts))
        outer, slots = binding.name, []
        for name, part, type_ in zip(self.names, parts, self.types):
            binding.name = outer + name
            slots += type_.read(part, binding)
        binding.name = outer
        return slots


@dataclass(frozen=True)
class LayoutType:
    """A layout, also a composed one: an int leaf is static, a number of the DSL is brought by each call."""

    layout: Layout | ComposedLayout
    leaves: tuple  # a ScalarType, or an int

    @staticmethod
    def of(layout: Layout | ComposedLayout) -> LayoutType | None:
        """The type of a layout with numbers of the DSL in it, else None."""
        leaves = _leaves(layout)
        if not any(isinstance(leaf, Numeric) for leaf in leaves) or any(map(is_dynamic, leaves)):
            return None
        types = (ScalarType(type(leaf)) if isinstance(leaf, Numeric) else leaf for leaf in leaves)
        return LayoutType(layout, tuple(types))

    def _scalars(self) -> list[ScalarType]:
        return [leaf for leaf in self.leaves if isinstance(leaf, ScalarType)]

    def slot_formats(self) -> str:
        return "".join(leaf.slot_formats() for leaf in self._scalars())

    def __str__(self) -> str:
        return f"Layout({self.layout})"

    def rebuild(self, values: Sequence[mlir.Value]) -> Layout | ComposedLayout:
        remaining = iter(values)
        leaves = iter(
            [leaf.rebuild([next(remaining)]) if isinstance(leaf, ScalarType) else leaf for leaf in self.leaves]
        )
        parts = [transform_leaf(lambda _: next(leaves), part) for part in _parts(self.layout)]
        outer = Layout(*parts[-2:])
        return ComposedLayout(self.layout.inner, parts[0], outer) if isinstance(self.layout, ComposedLayout) else outer

    def read(self, value: Any, binding: Binding) -> list:
        if type(value) is not type(self.layout):
            raise binding.mismatch(TypeError, "", "a layout", type(value).__name__)
        if getattr(value, "inner", None) != getattr(self.layout, "inner", None):
            raise binding.mismatch(ValueError, "", self.layout, value)
        try:
            pairs = list(zip(self.leaves, _leaves(value), strict=True))
            transform_leaf(lambda a, b: a, _parts(self.layout), _parts(value))
        except (ValueError, LayoutError, TypeError):
            raise binding.mismatch(ValueError, "", f"congruent with {self.layout}", value) from None
        slots = []
        for expected, leaf in pairs:
            if isinstance(expected, ScalarType):
                slots += expected.read(leaf, binding)
            elif expected != leaf:
                raise binding.mismatch(ValueError, "", self.layout, value)
        return slots


def _parts(layout: Layout | ComposedLayout) -> tuple:
    """The offset of a composed layout, the shape and the stride."""
    if isinstance(layout, ComposedLayout):
        return layout.offset, layout.outer.shape, layout.outer.stride
    return layout.shape, layout.stride


def _leaves(layout: Layout | ComposedLayout) -> tuple:
    return tuple(flatten_to_tuple(_parts(layout)))
