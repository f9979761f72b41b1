"""`qd.types.struct` and `@qd.dataclass`: the types of structs."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

from dsl.quadrants.errors.description import an, described
from dsl.quadrants.errors.errors import InvalidType, QuadrantsSyntaxError, QuadrantsTypeError
from dsl.quadrants.errors.refused_names import Refused
from dsl.quadrants.functions.annotations import MatrixAnnotation
from dsl.quadrants.functions.decorated_function import Function
from dsl.quadrants.functions.task import active
from dsl.quadrants.memory.struct_field import struct_field
from dsl.quadrants.values import dtypes as types
from dsl.quadrants.values.assignable import value_of
from dsl.quadrants.values.matrix import Matrix
from dsl.quadrants.values.structure import METHODS, Struct, fix_of_member, made_of, members_of


class StructType:
    """A type of structs: called, it makes one, whose members are converted to their types and zero if not given.

    `members`: a number type, vector or matrix type, or StructType by name. `methods`: the functions of its structs.
    """

    def __init__(self, name: str, members: Mapping[str, Any], methods: Mapping[str, Callable]):
        self.__name__, self.methods = name, dict(methods)
        self.members = {member: _checked(name, member, annotation) for member, annotation in members.items()}

    def __call__(self, *values: Any, **named: Any) -> Struct:
        names = list(self.members)
        if len(values) > len(names):
            raise QuadrantsTypeError.at(
                f"{self.described()} has {len(names)} member{'s' * (len(names) != 1)}, got {len(values)} values",
                f"give {', '.join(names)}" if names else "give none",
            )
        given = dict(zip(names, values))
        for name, value in named.items():
            if name not in self.members:
                raise QuadrantsTypeError.at(f"{self.described()} has no member `{name}`", fix_of_member(name, names))
            if name in given:
                raise QuadrantsTypeError.at(f"member `{name}` is given twice", "give it by position or by name")
            given[name] = value
        return self.made(given)

    def made(self, given: Mapping[str, Any]) -> Struct:
        """The struct of these members by name, converted."""
        return made_of(
            {name: converted(part, given.get(name, 0), name) for name, part in self.members.items()}, self.methods
        )

    def cast(self, struct: Any) -> Struct:
        """A struct or dict with these members as one of this type."""
        given = members_of(struct)
        if set(given) != set(self.members):
            raise QuadrantsTypeError.at(
                f"Member mismatch between structs {list(self.members)}, {list(given)}",
                f"give {', '.join(self.members) or 'none'}",
            )
        return self.made(given)

    def field(self, shape=None, order=None, name="", offset=None, needs_grad=False, needs_dual=False, layout=None):
        """A field of structs of this type; without a shape it waits for `place`."""
        return struct_field(self.members, self.methods, shape, order=order, offset=offset, needs_grad=needs_grad)

    def described(self) -> str:
        """Its name, or its members, in the words of an error."""
        return f"struct `{self.__name__}`" if self.__name__ else f"a struct of {', '.join(self.members) or 'nothing'}"

    def in_words(self) -> str:
        return f"the type of {self.described()}"

    def __repr__(self) -> str:
        return f"<qd.StructType {', '.join(f'{name}={part}' for name, part in self.members.items())}>"


def _checked(owner: str, name: str, annotation: Any) -> Any:
    """The annotation of a member. Raises QuadrantsTypeError for one that no struct holds."""
    if isinstance(annotation, (StructType, MatrixAnnotation)) or types.of(annotation) is not None:
        return annotation
    if isinstance(annotation, dict):
        return StructType("", annotation, {})
    if isinstance(annotation, Refused):
        annotation.refuse()
    raise InvalidType.at(
        f"member `{name}`{f' of `{owner}`' if owner else ''} is a number, a vector, a matrix or a struct, got "
        f"{described(annotation)}",
        "annotate qd.f32, qd.types.vector(3, qd.f32) or a struct type; arrays are members of a @dataclasses.dataclass",
    )


def converted(annotation: Any, value: Any, name: str) -> Any:
    """`value` as a number, vector, matrix or struct of the annotated type. Raises QuadrantsTypeError."""
    if isinstance(annotation, StructType):
        if isinstance(value, (Struct, dict)):
            return annotation.cast(value)
        return annotation(*value) if isinstance(value, (list, tuple)) else annotation(value)
    if isinstance(annotation, MatrixAnnotation):
        if isinstance(value, Struct):
            raise _wrong(annotation.described(), value, name)
        return annotation(value)
    dtype = types.existing(annotation)
    number = value_of(value)
    if isinstance(value, (Struct, Matrix)) or types.number(number) is None:
        raise _wrong(an(dtype), value, name)
    if active():
        return dtype(number)
    return (float if dtype.core.is_float else bool if dtype is types.u1 else int)(number)


def _wrong(wanted: str, value: Any, name: str) -> QuadrantsTypeError:
    return QuadrantsTypeError.at(f"member `{name}` must be {wanted}, got {described(value)}", f"give it {wanted}")


def struct(**members: Any) -> StructType:
    """The type of structs with these members: `qd.types.struct(position=qd.types.vector(3, qd.f32), mass=qd.f32)`."""
    methods = members.pop(METHODS, {})
    return StructType("", members, methods)


def dataclass(cls: type) -> StructType:
    """The type of structs with the annotated members of a class; its functions become methods of the structs.

    Raises QuadrantsSyntaxError for a member with a default value and for a @qd.kernel.
    """
    if not isinstance(cls, type):
        raise QuadrantsTypeError.at(f"@qd.dataclass decorates a class, got {described(cls)}", "write it over a class")
    frame = sys._getframe(1)
    annotations = inspect.get_annotations(cls)
    members = {name: evaluated(name, part, cls, frame.f_locals) for name, part in annotations.items()}
    methods = {}
    for name, value in vars(cls).items():
        if name in members:
            raise QuadrantsSyntaxError.at(
                f"Default value in @dataclass is not supported: `{name}` of `{cls.__name__}`",
                f"give it where a struct is made: `{cls.__name__}({name}=...)`",
            )
        if isinstance(value, Function) and not value.is_inlined:
            raise QuadrantsSyntaxError.at(
                f"a struct has no kernels, but `{name}` of `{cls.__name__}` is one",
                "make it a @qd.func, or the class @qd.data_oriented",
            )
        if callable(value) and not name.startswith("__"):
            methods[name] = value
    return StructType(cls.__name__, members, methods)


def evaluated(name: str, annotation: Any, cls: type, names: Mapping[str, Any]) -> Any:
    """The annotation of a member of a class as an object, where it is text. `names`: those known there."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, vars(sys.modules[cls.__module__]), dict(names))
    except (NameError, SyntaxError, AttributeError) as error:
        raise QuadrantsSyntaxError.at(
            f"Invalid type annotation of `{name}` in `{cls.__name__}`: {error}", "annotate it with an element type"
        ) from None
