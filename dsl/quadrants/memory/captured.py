"""Arrays and numbers that a kernel reaches through an object argument, looked up again at every call.

An array, and a number of a class with `template_primitives=False`, is found at a call by the way that the kernel's
text takes from its argument: `self.a`, `s.inner.b`, `self.tables["x"]`. So a member may be replaced between calls; one
of another element type or rank makes another specialisation. Other numbers and fields are part of the code, as
upstream.
Source: Quadrants user guide, Compound types (Reassigning ndarray members; Runtime primitives).
"""

from __future__ import annotations

import dataclasses
import types as python_types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dsl.core import trace
from dsl.core.errors import warn_at
from dsl.core.number.dtypes import Numeric
from dsl.core.phrase import shown
from dsl.launch.argument.abi import ScalarType
from dsl.quadrants.functions.annotations import TemplateKind
from dsl.quadrants.functions.task import Program, active, program
from dsl.quadrants.memory.field import Field
from dsl.quadrants.memory.ndarray import ArrayType, Ndarray
from dsl.quadrants.memory.tensor import Tensor
from dsl.quadrants.values import dtypes as types
from dsl.quadrants.values.assignable import Lvalue
from dsl.quadrants.values.matrix import Matrix
from dsl.span import here

_PLAIN = (Numeric, Lvalue, Matrix, str, type, python_types.ModuleType, python_types.FunctionType)


@dataclass(frozen=True)
class Way:
    """The steps from an argument of the kernel to an object: `.name` and `[key]`."""

    position: int
    steps: tuple[tuple[str, Any], ...] = ()
    is_lifted: bool = False  # through a class whose numbers are read at every call

    def find(self, arguments: Sequence) -> Any:
        """The object at its end now. Raises AttributeError, LookupError or TypeError where a step is missing."""
        value = arguments[self.position]
        for kind, key in self.steps:
            value = getattr(value, key) if kind == "." else value[key]
        return value

    def code(self, argument: str, name_of: Callable[[Any], str]) -> str:
        """Python's expression for it; `name_of` gives objects a name."""
        return argument + "".join(f".{key}" if kind == "." else f"[{name_of(key)}]" for kind, key in self.steps)


class CapturedArray:
    """The slots of an array at the end of a way."""

    def __init__(self, way: Way, value: Ndarray):
        self.way, self.type = way, ArrayType(value.element_type, len(value.shape), value.element_shape, True)

    def slots(self, arguments: Sequence) -> list | None:
        """The slots of this call; None where there is no array of this element type and rank now."""
        value, type_ = self.way.find(arguments), self.type
        if (
            not isinstance(value, Ndarray)
            or value.element_type is not type_.dtype
            or len(value.shape) != type_.rank
            or value.element_shape != type_.element_shape
        ):
            return None
        return [value.address(), *value.shape]


class CapturedNumber:
    """The slot of a number at the end of a way."""

    def __init__(self, way: Way, value: Any):
        self.way, self.dtype = way, types.Defaults.fp if isinstance(value, float) else types.Defaults.ip
        self.type = ScalarType(self.dtype.core)

    def slots(self, arguments: Sequence) -> list:
        """The slot of this call. Raises TypeError for a float where the first one was an integer."""
        value, core = self.way.find(arguments), self.dtype.core
        if core.is_float:
            return [core.constant_of(float(value))]
        if not isinstance(value, int):
            raise TypeError(
                f"`{self.way.steps[-1][1]}` is {shown(value)}, but was an integer when the kernel was compiled: "
                f"{self.dtype} would truncate it\nfix: keep it an integer, or begin with a float"
            )
        return [core.wrapped(int(value))]


class Same:
    """No slot: two ways lead to one object, or the code does not fit."""

    def __init__(self, first: Way, second: Way):
        self.first, self.second = first, second

    def slots(self, arguments: Sequence) -> list | None:
        return [] if self.first.find(arguments) is self.second.find(arguments) else None


class Frozen:
    """No slot: a number or field that the code was compiled with, as upstream. A call with another value warns.

    A number that has changed once is looked at no longer: it `is_settled`. `has_changed` is for who looks by `value`.
    """

    def __init__(self, way: Way, value: Any, names: Sequence[str]):
        self.way, self.first, self.value, self.place, self.names = way, value, value, here(), names
        self.has_changed = False

    def slots(self, arguments: Sequence) -> list | None:
        """No slots; None where there is an array now, which the code does not fit."""
        self.has_changed = False
        try:
            now = self.way.find(arguments)
        except (AttributeError, LookupError):  # it is needed no more
            return []
        if isinstance(now, Ndarray):
            return None
        if now is self.value or self.is_settled:
            return []
        if type(now) is not type(self.first) or now != self.first:
            self._say(now)
        self.value, self.has_changed = now if isinstance(now, Field) else _SETTLED, True
        return []

    @property
    def is_settled(self) -> bool:
        """Whether calls no longer need to look at it."""
        return self.value is _SETTLED

    def _say(self, now: Any) -> None:
        name = self.way.code(self.names[self.way.position], repr)
        if isinstance(self.first, Field):
            warn_at(
                f"`{name}` is another object than when this kernel was compiled: the kernel goes on with the first "
                "field. Pass it as a qd.template() argument, or fill the first one with copy_from",
                UserWarning,
                self.place,
            )
        else:
            warn_at(
                f"`{name}` was {shown(self.first)} when this kernel was compiled, but is {shown(now)} now: the kernel "
                f"still uses {shown(self.first)}. Pass it as an argument, or decorate the class with "
                "@qd.data_oriented(template_primitives=False)",
                UserWarning,
                self.place,
            )


_SETTLED = object()
_WATCHED = (int, float, str, Field)
_MOST_WATCHED = 64  # a call looks at each of them


def begin(traced: Program, names: Sequence[str], kinds: Sequence[Any], arguments: Sequence[Any]) -> None:
    """Note the objects that a kernel is given as template arguments; `names` are the names of all its parameters."""
    traced.parameters = names
    for position, (kind, value) in enumerate(zip(kinds, arguments)):
        _begin(traced, kind, value, Way(position, (), _lifts(value)))


def _begin(traced: Program, kind: Any, value: Any, way: Way) -> None:
    parts = getattr(kind, "kinds", {})  # of a struct or dataclass
    for name, part in parts.items():
        inner = kind.part(value, name)
        _begin(traced, part, inner, Way(way.position, (*way.steps, (".", name)), _lifts(inner)))
    if isinstance(kind, TemplateKind):
        _note(traced, value, way)
        if dataclasses.is_dataclass(value) and not hasattr(value, "_data_oriented"):
            warn_at(
                f"an instance of the dataclass `{type(value).__name__}` is passed to a qd.Template-annotated kernel "
                "parameter, which upstream will refuse: annotate the parameter with the class",
                DeprecationWarning,
                here(),
            )


def _lifts(value: Any) -> bool:
    return getattr(type(value), "_template_primitives", True) is False


def _note(traced: Program, value: Any, way: Way) -> None:
    first = traced.ways.get(id(value))
    if first is None:
        traced.ways[id(value)] = value, way
    elif first[1] != way and isinstance(first[1], Way):
        traced.hidden.append(Same(first[1], way))


def reached(owner: Any, value: Any, kind: str, key: Any) -> Any:
    """`value`, which is `owner.key` or `owner[key]`; a value that every call reads again is a run-time value."""
    if not active():
        return value
    if isinstance(value, Tensor):
        return _bare(owner, value, kind, key)
    traced = program()
    owned = traced.ways.get(id(owner))
    if owned is None:
        return value
    way = owned[1]
    way = Way(way.position, (*way.steps, (kind, key)), way.is_lifted or _lifts(value))
    if isinstance(value, Ndarray):
        return _loaded_once(traced, way, lambda: CapturedArray(way, value))
    if isinstance(value, (int, float)) and way.is_lifted and type(value) in (int, float, bool):
        return _loaded_once(traced, way, lambda: CapturedNumber(way, value))
    if isinstance(value, _WATCHED) and way not in traced.loaded and len(traced.loaded) < _MOST_WATCHED:
        traced.loaded[way] = value
        traced.hidden.append(Frozen(way, value, traced.parameters))
    if not isinstance(value, _PLAIN) and (isinstance(value, (list, tuple, dict)) or hasattr(value, "__dict__")):
        _note(traced, value, way)
    return value


def _bare(owner: Any, value: Tensor, kind: str, key: Any) -> Any:
    """The field or array of a tensor that is `owner.key` or `owner[key]`."""
    traced = program()
    owned = traced.ways.get(id(owner))
    if owned is not None:
        _note(traced, value, Way(owned[1].position, (*owned[1].steps, (kind, key)), owned[1].is_lifted))
    return reached(value, value._impl, ".", "_impl")


def _loaded_once(traced: Program, way: Way, make: Callable) -> Any:
    """The traced value at the end of a way: one for the whole kernel."""
    if way not in traced.loaded:
        captured = make()
        traced.hidden.append(captured)
        with trace.within(traced.host, traced.host_entry):
            traced.loaded[way] = trace.load_argument(captured.type, traced.host_entry.arguments[0], traced.host.slots)
    return traced.loaded[way]
