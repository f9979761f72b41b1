"""Fields of structs: a field for each member, which is indexed as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, NoReturn

from dsl.core.phrase import shown
from dsl.quadrants.errors.description import described
from dsl.quadrants.errors.errors import NotIterable, UnknownAttribute, UnknownOption, WrongType, WrongValue
from dsl.quadrants.functions.task import active
from dsl.quadrants.memory.field import Field, field
from dsl.quadrants.syntax.iterate import Domain
from dsl.quadrants.values.structure import Struct, fix_of_member, made_of, members_of, store


class _Element(MutableMapping):
    """The members of one element, in Python: read from the fields, and written to them."""

    def __init__(self, owner: StructField, key: Any):
        self.owner, self.key = owner, key

    def __getitem__(self, name: str) -> Any:
        return self.owner.fields[name][self.key]

    def __setitem__(self, name: str, value: Any) -> None:
        self.owner.fields[name][self.key] = value

    def __delitem__(self, name: str) -> NoReturn:
        raise TypeError("a struct keeps its members")

    def __iter__(self) -> Iterator[str]:
        return iter(self.owner.fields)

    def __len__(self) -> int:
        return len(self.owner.fields)


class StructField:
    """`fields`: a field of numbers, of vectors or matrices, or of structs, by member; all have one shape.

    `x[i]` is a struct of places in a kernel; in Python its members are read from the fields and written to them.
    """

    def __init__(self, fields: dict[str, Field | StructField], methods: Mapping[str, Callable]):
        self.fields, self.methods = fields, methods

    def _first(self) -> Field:
        first = next(iter(self.fields.values()), None)
        if first is None:
            raise WrongValue("this field's structs have no members", "give the struct type a member")
        return first._first() if isinstance(first, StructField) else first

    def leaves(self) -> list[Field]:
        """The fields of numbers, vectors and matrices in it."""
        parts = [part.leaves() if isinstance(part, StructField) else [part] for part in self.fields.values()]
        return [leaf for part in parts for leaf in part]

    @property
    def shape(self) -> tuple[int, ...] | None:
        return self._first().shape

    @property
    def keys(self) -> list[str]:
        """The names of the members."""
        return list(self.fields)

    @property
    def members(self) -> list:
        """The fields of the members, in order."""
        return list(self.fields.values())

    @property
    def items(self) -> list[tuple[str, Any]]:
        return list(self.fields.items())

    def get_member_field(self, key: str) -> Field | StructField:
        """The field of a member. Raises UnknownAttribute."""
        if key not in self.fields:
            raise UnknownAttribute(f"this field's structs have no member `{key}`", fix_of_member(str(key), self.fields))
        return self.fields[key]

    def __getattr__(self, name: str):
        if name.startswith("__") or "fields" not in self.__dict__:
            raise AttributeError(name)
        return self.get_member_field(name)

    def in_words(self) -> str:
        """The field in the words of an error."""
        return "a field of structs"

    # --- elements ---

    def __getitem__(self, key: Any) -> Struct:
        if active():
            return made_of({name: part[key] for name, part in self.fields.items()}, self.methods)
        self._first()[key]  # an index that is out of bounds fails here
        return made_of(_Element(self, key), self.methods)

    def __setitem__(self, key: Any, value: Any) -> None:
        if active():
            store(self[key], value)
            return
        given = members_of(value)
        if set(given) != set(self.fields):
            raise UnknownOption(
                f"Member mismatch between structs {list(self.fields)}, {list(given)}", "give it the same members"
            )
        for name, part in self.fields.items():
            part[key] = given[name]

    def loop_domain(self) -> Domain:
        return self._first().loop_domain()

    def __iter__(self):
        """Raises, as a field of numbers does."""
        if active():
            return iter(self._first())
        raise NotIterable("a StructField is not iterable", "iterate over one of `x.to_numpy()`, which is a dict")

    # --- all at once ---

    def fill(self, val: Any) -> None:
        """Give every number this value."""
        for part in self.fields.values():
            part.fill(val)

    def copy_from(self, other: StructField) -> None:
        """Copy the members of a field of structs with the same members and shape."""
        if not isinstance(other, StructField) or set(other.fields) != set(self.fields):
            raise WrongType(
                f"a field of structs is copied from one with the same members, got {described(other)}",
                f"give one of {', '.join(self.fields)}",
            )
        for name, part in self.fields.items():
            source: Any = other.fields[name]
            part.copy_from(source)

    def to_numpy(self, dtype=None) -> dict[str, Any]:
        """Copies of the members as numpy arrays by name."""
        return {name: part.to_numpy(dtype=dtype) for name, part in self.fields.items()}

    def from_numpy(self, array_dict: Mapping[str, Any]) -> None:
        """Copy numpy arrays by member name."""
        for name, part in self._given(array_dict):
            part.from_numpy(array_dict[name])

    def to_torch(self, device=None) -> dict[str, Any]:
        """Copies of the members as torch tensors by name."""
        return {name: part.to_torch(device=device) for name, part in self.fields.items()}

    def from_torch(self, array_dict: Mapping[str, Any]) -> None:
        """Copy torch tensors by member name."""
        for name, part in self._given(array_dict):
            part.from_torch(array_dict[name])

    def _given(self, arrays: Any) -> list[tuple[str, Any]]:
        if not isinstance(arrays, Mapping) or set(arrays) != set(self.fields):
            names = f"a dict of {', '.join(map(str, arrays))}" if isinstance(arrays, Mapping) else shown(arrays)
            raise UnknownOption(
                f"the arrays come as a dict with the members {', '.join(self.fields)}, got {names}",
                "give an array for each member",
            )
        return self.items

    def __str__(self) -> str:
        return repr(self) if active() else str(self.to_numpy())

    def __repr__(self) -> str:
        return f"<StructField {', '.join(f'{name}={part!r}' for name, part in self.fields.items())}>"

    __hash__ = object.__hash__


def struct_field(members: Mapping[str, Any], methods: Mapping[str, Callable], shape=None, **options) -> StructField:
    """A field of structs; `members`: their types by name."""

    def of(annotation: Any) -> Field | StructField:
        if hasattr(annotation, "members"):
            return struct_field(annotation.members, annotation.methods, shape, **options)
        return field(annotation, shape, **options)

    return StructField({name: of(part) for name, part in members.items()}, methods)
