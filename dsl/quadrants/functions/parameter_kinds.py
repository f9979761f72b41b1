"""The kind of each parameter of a kernel, by its annotation; kinds of structs and of dataclasses.

A kind is what annotations.py describes. A struct is passed number by number. A `dataclasses.dataclass` is a container:
each of its fields is passed as a parameter with that annotation would be, and the kernel finds an instance of the same
class that holds them.
Source: Quadrants user guide, Compound types.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dsl.quadrants.errors.description import described
from dsl.quadrants.errors.errors import QuadrantsRuntimeTypeError, QuadrantsSyntaxError
from dsl.quadrants.errors.refused_names import Refused
from dsl.quadrants.functions.annotations import (
    MatrixAnnotation,
    MatrixKind,
    NdarrayAnnotation,
    ScalarKind,
    TemplateKind,
    array_kind,
    is_array,
    is_template,
)
from dsl.quadrants.functions.struct_types import StructType, evaluated
from dsl.quadrants.memory.field import Field
from dsl.quadrants.memory.tensor import Tensor, bare_of
from dsl.quadrants.values import dtypes as types
from dsl.quadrants.values.structure import Struct, made_of, members_of


class Parts:
    """An argument that is passed as several: `kinds` by name, `make` builds the traced value of theirs."""

    def __init__(self, kinds: dict[str, Any], make: Callable[[dict[str, Any]], Any]):
        self.kinds, self._make = kinds, make

    def part(self, value: Any, name: str) -> Any:
        return getattr(value, name)

    def check(self, value: Any) -> None:
        raise NotImplementedError

    def key(self, value: Any) -> Any:
        self.check(value)
        return tuple(kind.key(self.part(value, name)) for name, kind in self.kinds.items())

    def typed(self, value: Any) -> _PartsType:
        return _PartsType({name: kind.typed(self.part(value, name)) for name, kind in self.kinds.items()}, self._make)

    def read(self, value: Any, slots: list, storages: list) -> None:
        for name, kind in self.kinds.items():
            kind.read(self.part(value, name), slots, storages)


class _PartsType:
    """The slots of all parts. A part without slots is known while compiling."""

    def __init__(self, parts: dict[str, Any], make: Callable[[dict[str, Any]], Any]):
        self.parts, self.make = parts, make

    def slot_formats(self) -> str:
        return "".join(part.slot_formats() for part in self.parts.values() if hasattr(part, "slot_formats"))

    def rebuild(self, values: Sequence) -> Any:
        remaining = iter(values)
        return self.make({name: _rebuilt(part, remaining) for name, part in self.parts.items()})


def _rebuilt(part: Any, remaining: Iterator) -> Any:
    if not hasattr(part, "slot_formats"):
        return part
    return part.rebuild([next(remaining) for _ in part.slot_formats()])


class StructKind(Parts):
    """A struct, passed number by number."""

    def __init__(self, name: str, position: int, annotation: StructType):
        kinds = {
            member: kind_of(f"{name}.{member}", position, part, annotation.described())
            for member, part in annotation.members.items()
        }
        super().__init__(kinds, lambda members: made_of(members, annotation.methods))
        self.name, self.annotation = name, annotation

    def part(self, value: Any, name: str) -> Any:
        return members_of(value)[name]

    def check(self, value: Any) -> None:
        if not isinstance(value, (Struct, dict)) or set(members_of(value)) != set(self.kinds):
            raise QuadrantsRuntimeTypeError(
                f"`{self.name}` must be {self.annotation.described()}, got {described(value)}",
                "make one by calling the struct type",
            )


class DataclassKind(Parts):
    """An instance of a `dataclasses.dataclass`, passed field by field."""

    def __init__(self, name: str, position: int, annotation: type, where: str):
        kinds = {}
        for field in dataclasses.fields(annotation):
            kinds[field.name] = kind_of(
                f"{name}.{field.name}",
                position,
                evaluated(field.name, field.type, annotation, vars(annotation)),
                f"{where}, field `{field.name}` of `{annotation.__name__}`",
            )
        super().__init__(kinds, self._instance)
        self.name, self.annotation = name, annotation

    def _instance(self, parts: dict[str, Any]) -> Any:
        """An instance with these fields: neither its `__init__` runs, nor is it refused where it is frozen."""
        instance = object.__new__(self.annotation)
        for name, value in parts.items():
            object.__setattr__(instance, name, value)
        return instance

    def check(self, value: Any) -> None:
        if not isinstance(value, self.annotation):
            raise QuadrantsRuntimeTypeError(
                f"`{self.name}` must be an instance of `{self.annotation.__name__}`, got {described(value)}",
                f"pass what `{self.annotation.__name__}(...)` makes",
            )


class TensorKind:
    """A field or an array, or the tensor of one; None is known while compiling. An array of numpy or torch is one."""

    def __init__(self, name: str, position: int):
        self.array = array_kind(name, position, NdarrayAnnotation())
        self.template = TemplateKind()

    def of(self, value: Any) -> Any:
        """How a value is passed: as an array, or as a template argument."""
        return self.template if value is None or isinstance(value, Field) else self.array

    def key(self, value: Any) -> Any:
        bare = bare_of(value)
        return self.of(bare).key(bare)

    def typed(self, value: Any) -> Any:
        bare = bare_of(value)
        return self.of(bare).typed(bare)

    def read(self, value: Any, slots: list, storages: list) -> None:
        bare = bare_of(value)
        self.of(bare).read(bare, slots, storages)


def kind_of(name: str, position: int, annotation: Any, where: str):
    """The kind of a kernel's parameter. Raises QuadrantsSyntaxError for an annotation that is none."""
    if is_template(annotation):
        return TemplateKind()
    if is_array(annotation):
        return array_kind(name, position, annotation)
    if isinstance(annotation, MatrixAnnotation):
        return MatrixKind(name, position, annotation)
    if isinstance(annotation, type) and issubclass(annotation, Tensor):
        return TensorKind(name, position)
    if isinstance(annotation, StructType):
        return StructKind(name, position, annotation)
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        return DataclassKind(name, position, annotation, where)
    if isinstance(annotation, Refused):
        annotation.refuse()
    dtype = types.of(annotation)
    if dtype is not None:
        return ScalarKind(name, position, dtype)
    meant = {list: "pass a numpy array and annotate qd.types.ndarray()", str: "annotate qd.Template"}.get(annotation)
    if getattr(annotation, "__module__", "") in ("numpy", "torch"):
        meant = "annotate qd.types.ndarray()"
    raise QuadrantsSyntaxError(
        f"Invalid type annotation (argument {position}) of {where}: {described(annotation)}",
        meant
        or "annotate an element type (qd.i32, float...), qd.types.ndarray(), qd.types.vector(n, dtype) or qd.Template",
    )
