"""An author's object that a dynamic index has chosen: `xs[i].v += 1` reads and writes the one whose test is true.

It stands for one of several objects of one class. An attribute is the choice between theirs; a method or property of
the class runs with it as `self`, once.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from dsl.core.control_flow.objects.mutable_state import MISSING, has_slots, kind_of, put, slots_of
from dsl.core.errors import DSLUserCodeTypeError, warn
from dsl.core.number.dtypes import Numeric
from dsl.core.number.operators import type_name

WHICH = "which object a dynamic index has chosen is known only at run time"
_FOREIGN = ("__getattribute__", "__setattr__", "__delattr__", "__init_subclass__")


def is_choosable(values: Sequence[Any]) -> bool:
    """Whether a dynamic index can choose between `values`: objects of one class of the author's that can be changed."""
    classes = {class_of(value) for value in values}
    return (
        len(classes) == 1
        and all(isinstance(value, OneOf) or (kind_of(value) == "object" and has_slots(value)) for value in values)
        and not any(hasattr(cls, "__extract_mlir_values__") for cls in classes)
    )


def class_of(value: Any) -> type:
    """The author's class of `value`."""
    cls = type(value)
    return vars(cls)["__chosen__"] if issubclass(cls, OneOf) else cls


def one_of(tests: list, objects: list, chosen: Callable, choice: Callable) -> OneOf:
    """The one of `objects` whose test is true. `chosen(tests, values)` and `choice(test, a, b)` choose
    what they hold."""
    stand_in = object.__new__(_class(class_of(objects[0])))
    object.__getattribute__(stand_in, "__dict__").update(tests=tests, objects=objects, chosen=chosen, choice=choice)
    return stand_in


@functools.cache
def _class(cls: type) -> type:
    own = [name for name in _FOREIGN for base in cls.__mro__[:-1] if name in vars(base)]
    if own:
        raise _refused(f"a dynamic index cannot choose between objects of `{cls.__name__}`, which defines `{own[0]}`")
    subclass = types.new_class(
        cls.__name__, (OneOf, cls), {"metaclass": type(cls)}, lambda space: space.update(__chosen__=cls)
    )
    subclass.__qualname__, subclass.__module__ = cls.__qualname__, cls.__module__
    return subclass


class Chosen:
    """A list, dict or object that stands for the one that a dynamic index has chosen."""

    __slots__ = ()


def is_same(a: Any, b: Any) -> bool:
    """`a is b`. Raises DSLUserCodeTypeError where that is known only at run time."""
    if a is not b and (isinstance(a, Chosen) or isinstance(b, Chosen)) and a is not None and b is not None:
        raise _refused(WHICH, fix="compare the indices")
    if a is not b and (isinstance(a, Numeric), isinstance(b, Numeric)) in ((True, False), (False, True)):
        number, other = (a, b) if isinstance(a, Numeric) else (b, a)
        if isinstance(other, (bool, int, float)):
            words = f"{type_name(number)} is never the object {other!r}: compare values, with `==` or `!=`"
            warn(words, "ALWAYS_FALSE")
    return a is b


class OneOf(Chosen):
    """First base of the classes of chosen objects."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        state = object.__getattribute__(self, "__dict__")
        cls = class_of(self)
        if name == "__class__":
            return cls
        if name == "__dict__":
            return {key: getattr(self, key) for key in _names(state["objects"])}
        if name == "__reached__":
            return lambda: state["objects"]
        attribute = _of_class(cls, name)
        if isinstance(attribute, functools.cached_property):
            raise _refused(f"`{name}` is a cached property, but which object keeps it is known only at run time")
        if hasattr(type(attribute), "__set__") and not isinstance(attribute, types.MemberDescriptorType):
            return attribute.__get__(self, cls)
        if isinstance(attribute, types.MemberDescriptorType) or name in _names(state["objects"]):
            return state["chosen"](state["tests"], [getattr(each, name) for each in state["objects"]])
        if attribute is not MISSING:
            return attribute.__get__(self, cls) if hasattr(type(attribute), "__get__") else attribute
        if hasattr(cls, "__getattr__"):
            return cls.__getattr__(self, name)
        raise AttributeError(f"'{cls.__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        state = object.__getattribute__(self, "__dict__")
        attribute = _of_class(class_of(self), name)
        if hasattr(type(attribute), "__set__") and not isinstance(attribute, types.MemberDescriptorType):
            attribute.__set__(self, value)
            return
        for test, each in zip(state["tests"], state["objects"]):
            if not hasattr(each, name):
                raise _refused(
                    f"creates the attribute `{name}` of an object that a dynamic index has chosen",
                    fix=f"give every object its `{name}` before",
                )
            content = state["choice"](test, value, getattr(each, name))
            setattr(each, name, content) if isinstance(each, OneOf) else put(each, "object", name, content)

    def __delattr__(self, name: str) -> None:
        raise _refused(f"deletes the attribute `{name}` of an object that a dynamic index has chosen")

    def __eq__(self, other: Any):
        equals: Any = class_of(self).__eq__
        if equals is object.__eq__:
            raise _refused(WHICH, fix="compare the indices")
        return equals(self, other)

    def __hash__(self) -> int:
        raise _refused(WHICH)

    def __copy__(self) -> Any:
        copied = object.__new__(class_of(self))
        for name in _names(object.__getattribute__(self, "__dict__")["objects"]):
            put(copied, "object", name, getattr(self, name))
        return copied

    def __reached__(self) -> list:
        return object.__getattribute__(self, "__dict__")["objects"]


def _names(objects: Sequence[Any]) -> dict[str, None]:
    """The attributes that any of `objects` has itself."""
    return {
        name: None
        for each in objects
        for name in (each.__dict__ if isinstance(each, OneOf) else slots_of(each, "object"))
    }


def _of_class(cls: type, name: str) -> Any:
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), MISSING)


def _refused(text: str, fix: str = "use an `if` for each index") -> DSLUserCodeTypeError:
    return DSLUserCodeTypeError(text, fix=fix, id="PHASE_DYNAMIC_INDEX")
