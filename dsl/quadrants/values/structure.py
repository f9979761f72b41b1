"""Structs: values with named members, which are numbers, vectors, matrices and structs.

A struct value holds its members; a struct variable and an element of a struct field hold their places, so that it can
be assigned, as a whole or by member. Upstream defines no arithmetic of structs.
Source: Quadrants user guide, Compound types; measured on 1.3.3.
"""

from __future__ import annotations

import functools
import types as python_types
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any

from dsl.core.diagnosis.spelling import alike
from dsl.quadrants.errors.description import described
from dsl.quadrants.errors.errors import QuadrantsSyntaxError, QuadrantsTypeError, UnknownAttribute
from dsl.quadrants.functions.decorated_function import Function
from dsl.quadrants.functions.task import active
from dsl.quadrants.values import dtypes as types
from dsl.quadrants.values.assignable import Lvalue, Variable, value_of
from dsl.quadrants.values.matrix import Matrix

METHODS = "__struct_methods"  # upstream's key of a dict for the functions of a struct


class Struct:
    """`qd.Struct(a=1, b=2.5)` or `qd.Struct({"a": 1, "b": 2.5})`; a member is `s.a`. A dict inside is a struct too.

    Raises QuadrantsTypeError for other arguments, and UnknownAttribute for a member that it does not have.
    """

    _of_members: MutableMapping[str, Any]
    _of_methods: Mapping[str, Callable]

    def __init__(self, *members: Any, **named: Any):
        if len(members) > 1 or (members and (named or not isinstance(members[0], (dict, Struct)))):
            raise QuadrantsTypeError.at(
                f"a struct is made of one dict, or of named members, got {described(members[0])}",
                'qd.Struct(a=1, b=2.5), or qd.Struct({"a": 1, "b": 2.5})',
            )
        given = dict(members_of(members[0]) if members else named)
        methods = given.pop(METHODS, methods_of(members[0]) if members and isinstance(members[0], Struct) else {})
        _fill(self, {name: _member(name, value) for name, value in given.items()}, methods)

    def __getattribute__(self, name: str):
        """A member is found before what Python and this class know by that name, except for names of Python's own."""
        if not name.startswith("_"):
            members = object.__getattribute__(self, "_of_members")
            if name in members:
                return members[name]
        return object.__getattribute__(self, name)

    def __getattr__(self, name: str):
        if name in self._of_members:
            return self._of_members[name]
        method = self._of_methods.get(name)
        if method is None:
            raise UnknownAttribute(f"{in_words(self)} has no member `{name}`", fix_of_member(name, self._of_members))
        if isinstance(method, Function):
            return functools.partial(method, self)
        return python_types.MethodType(method, self)

    def __setattr__(self, name: str, value: Any) -> None:
        """In Python; a kernel stores through the member's place."""
        if name not in self._of_members:
            raise UnknownAttribute(f"{in_words(self)} has no member `{name}`", fix_of_member(name, self._of_members))
        self._of_members[name] = _member(name, value)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __setitem__(self, name: str, value: Any) -> None:
        if active():
            assign(getattr(self, name), value)
        else:
            setattr(self, name, value)

    @property
    def keys(self) -> list[str]:
        """The names of the members."""
        return list(self._of_members)

    @property
    def members(self) -> list:
        """The members, in order."""
        return [self._of_members[name] for name in self._of_members]

    @property
    def items(self) -> Iterable[tuple[str, Any]]:
        """The names and members, in order."""
        return [(name, self._of_members[name]) for name in self._of_members]

    @property
    def methods(self) -> Mapping[str, Callable]:
        return self._of_methods

    def to_dict(self, include_methods: bool = False, include_ndim: bool = False) -> dict[str, Any]:
        """The members as a dict, with a dict for each struct in it and a list for each vector or matrix."""
        plain = {name: _plain(value) for name, value in self._of_members.items()}
        return {**plain, METHODS: dict(self._of_methods)} if include_methods else plain

    def in_words(self) -> str:
        """The struct in the words of an error."""
        return in_words(self)

    def __eq__(self, other: Any) -> bool:
        """In Python whether it is the same object, as upstream. Raises QuadrantsTypeError in a kernel."""
        if active():
            raise QuadrantsTypeError.at("structs cannot be compared", "compare their members")
        return self is other

    __hash__ = object.__hash__

    def __iter__(self):
        raise QuadrantsSyntaxError.at("a struct cannot be iterated", "name its members: `s.a, s.b`")

    def __repr__(self) -> str:
        return repr(self.to_dict())


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return {name: _plain(member) for name, member in value._of_members.items()}
    if isinstance(value, Matrix):
        return [_plain(part) for part in value.parts()]
    return value.item() if type(value).__module__ == "numpy" else value


def _fill(struct: Struct, members: MutableMapping[str, Any], methods: Mapping[str, Callable]) -> Struct:
    object.__setattr__(struct, "_of_members", members)
    object.__setattr__(struct, "_of_methods", methods)
    return struct


def made_of(members: MutableMapping[str, Any], methods: Mapping[str, Callable] | None = None) -> Struct:
    """The struct of these members, which are kept as they are."""
    return _fill(Struct.__new__(Struct), members, methods or {})


def members_of(value: Any) -> Mapping[str, Any]:
    """The members of a struct or a dict. Raises QuadrantsTypeError for anything else."""
    if isinstance(value, Struct):
        return value._of_members
    if isinstance(value, dict):
        return value
    raise QuadrantsTypeError.at(
        f"Only dict or Struct can be assigned to a Struct, got {described(value)}",
        "give it a struct with the same members, or assign to one member: `s.a = ...`",
    )


def methods_of(struct: Struct) -> Mapping[str, Callable]:
    """The functions of a struct by name."""
    return struct._of_methods


def _member(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return Struct(value)
    if isinstance(value, (list, tuple)):
        return Matrix(value)
    if type(value).__module__ == "numpy" and getattr(value, "shape", ()) != ():
        return Matrix(value)
    if isinstance(value, (Struct, Matrix, Lvalue)) or types.number(value) is not None:
        return value
    raise QuadrantsTypeError.at(
        f"member `{name}` of a struct is a number, a vector, a matrix or a struct, got {described(value)}",
        "pass arrays and fields as members of a @dataclasses.dataclass argument",
    )


def fix_of_member(name: str, names: Iterable[str]) -> str:
    """The fix for a member that is not there."""
    meant = alike(name, list(names))
    return f"did you mean `{meant}`?" if meant else f"it has {', '.join(names) or 'no members'}"


def in_words(struct: Struct) -> str:
    """A struct in the words of an error."""
    names = list(struct._of_members)
    return f"a struct of {', '.join(names)}" if names else "a struct without members"


def load(struct: Struct) -> Struct:
    """The value, with every place read."""
    return made_of({name: loaded(value) for name, value in struct._of_members.items()}, struct._of_methods)


def loaded(value: Any) -> Any:
    """A number, vector, matrix or struct, read."""
    if isinstance(value, Struct):
        return load(value)
    return value.load() if isinstance(value, Matrix) else value_of(value)


def variable(struct: Struct) -> Struct:
    """A new variable with this value."""
    return made_of({name: _place(value) for name, value in struct._of_members.items()}, struct._of_methods)


def _place(value: Any) -> Any:
    if isinstance(value, Struct):
        return variable(value)
    if isinstance(value, Matrix):
        return value.variable()
    number = types.number(value_of(value))
    assert number is not None  # as _member has seen
    return Variable(type(number), number)


def store(struct: Struct, value: Any) -> None:
    """Assign every member. Raises QuadrantsTypeError unless `value` has the same members."""
    given = members_of(value)
    if set(given) != set(struct._of_members):
        raise QuadrantsTypeError.at(
            f"Member mismatch between structs {list(struct._of_members)}, {list(given)}",
            "give it a struct with the same members, or assign to one member: `s.a = ...`",
        )
    values = {name: loaded(Struct(part) if isinstance(part, dict) else part) for name, part in given.items()}
    for name, place in struct._of_members.items():
        assign(place, values[name])


def assign(place: Any, value: Any) -> None:
    """Assign to a place: of a number, of a vector or matrix, or of a struct."""
    if isinstance(place, Struct):
        store(place, value)
    elif isinstance(place, (Lvalue, Matrix)):
        place.store(value)
    else:
        raise QuadrantsSyntaxError.at("a struct value cannot be assigned", fix="assign it to a variable first")
