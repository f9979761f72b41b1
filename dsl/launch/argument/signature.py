"""A compiled function's parameters, and the arguments of a call put in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dsl.launch.argument.abi import Binding, Static, StreamType, of_the_call
from dsl.launch.argument.kinds import is_typed


def _from_environment(type_: Any) -> bool:
    return isinstance(type_, StreamType) and type_.from_environment


class Signature:
    """The parameters of a compiled function that calls may bring: typed ones, and static ones, to be checked.

    A call brings all of them in order or by name, or the typed ones alone. A parameter that it leaves out has its
    default, if it has one, or the static value it was compiled with.
    """

    def __init__(self, function: str, names: Sequence[str], types: Sequence[Any], defaults: dict | None = None):
        self.function, self.names, self.defaults = function, list(names), defaults or {}
        self.types = [type_ if is_typed(type_) else Static(type_) for type_ in types]

    @property
    def _typed(self) -> list[tuple[str, Any]]:
        return [(name, type_) for name, type_ in zip(self.names, self.types) if not isinstance(type_, Static)]

    def __str__(self) -> str:
        return f"{self.function}({', '.join(f'{name}: {type_}' for name, type_ in self._typed)})"

    def bind(self, values: Sequence[Any], keywords: dict | None = None) -> tuple[list, Binding]:
        """Slot values of a call, and its binding, which holds the storages. Raises TypeError or ValueError."""
        by_parameter = self._by_parameter(list(values), dict(keywords or {}))
        binding, slots = Binding(str(self)), []
        for position, (name, type_, value) in enumerate(zip(self.names, self.types, by_parameter)):
            binding.position, binding.name = position, name
            slots += type_.read(value, binding)
        return slots, binding

    def _by_parameter(self, values: list, keywords: dict) -> list:
        """A value for every parameter. Raises TypeError for one too many or too few."""
        places = [place for place, type_ in enumerate(self.types) if not _from_environment(type_)]
        typed_places = [place for place in places if not isinstance(self.types[place], Static)]
        if len(values) + len(keywords) == len(typed_places) < len(places):
            places = typed_places
        by_place = dict(zip(places, values))
        for place in places[len(values) :]:
            name, type_ = self.names[place], self.types[place]
            if name in keywords:
                by_place[place] = keywords.pop(name)
            elif isinstance(type_, Static):
                by_place[place] = type_.value
            elif name in self.defaults:
                by_place[place] = self.defaults[name]
        missing = [self.names[place] for place in typed_places if place not in by_place]
        if missing or keywords or len(values) > len(places):
            got = f"{len(values)}" + f" and {', '.join(keywords)}" * bool(keywords)
            lacking = f", {', '.join(missing)} missing" * bool(missing)
            error = TypeError(
                f"Expects {len(typed_places)} argument{'s' * (len(typed_places) != 1)} when calling: `{self}`, "
                f"got {got}{lacking}; static ones are part of the code"
            )
            wanted = ", ".join(f"`{self.names[place]}`" for place in typed_places) or "no arguments"
            raise of_the_call(error, f"call it with {wanted}")
        return [
            by_place[place] if place in by_place else self._left_out(type_) for place, type_ in enumerate(self.types)
        ]

    @staticmethod
    def _left_out(type_: Any) -> Any:
        return type_.value if isinstance(type_, Static) else None
