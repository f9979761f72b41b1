"""How instances of classes with GPU functions were constructed, so that a file can construct them so again."""

from __future__ import annotations

import builtins
import functools
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Construction:
    """`kind(*args, **keywords)`, and the attributes that this left, by name."""

    kind: type
    args: tuple
    keywords: dict[str, Any]
    state: dict[str, Any]


_by_id: dict[int, tuple[Any, Construction]] = {}
_is_watching: list[bool] = []
_watched: weakref.WeakSet[type] = weakref.WeakSet()
_wrappers: weakref.WeakSet[Callable] = weakref.WeakSet()


def watch(is_function: Callable[[Any], bool], keep: Callable[[Any], Any]) -> None:
    """Note the construction of every instance of a class that has an attribute `is_function` is true of.

    `keep` makes of an argument what is kept of it.
    """
    if _is_watching:
        return
    _is_watching.append(True)
    build = builtins.__build_class__

    @functools.wraps(build)
    def build_class(function, name, *bases, **keywords):
        kind = build(function, name, *bases, **keywords)
        if isinstance(kind, type) and any(is_function(value) for value in list(vars(kind).values())):
            _wrap(kind, keep)
        return kind

    builtins.__build_class__ = build_class


def _wrap(kind: type, keep: Callable[[Any], Any]) -> None:
    """Note instances of this class where the constructor that it has is a function of Python, also one of a base.

    The constructor is wrapped where it is defined: it is not in the way of one
    that a decorator such as `dataclass` adds later.
    """
    _watched.add(kind)
    owner = next(each for each in kind.__mro__ if "__init__" in vars(each))
    original: Any = vars(owner)["__init__"]
    if not isinstance(original, types.FunctionType) or original in _wrappers:
        return

    @functools.wraps(original)
    def construct(self, *args, **keywords):
        if type(self) not in _watched or type(self).__init__ is not construct:
            return original(self, *args, **keywords)
        kept = tuple(map(keep, args)), {name: keep(value) for name, value in keywords.items()}
        original(self, *args, **keywords)
        try:
            key = id(self)
            reference = weakref.ref(self, lambda _: _by_id.pop(key, None))
            _by_id[key] = reference, Construction(type(self), *kept, dict(vars(self)))
        except TypeError:  # no attributes, or no weak references
            pass

    _wrappers.add(construct)
    owner.__init__ = construct  # type: ignore[misc]


def of(value: Any) -> Construction | None:
    """How a value was constructed, where it has the attributes still that this left it."""
    noted = _by_id.get(id(value))
    if noted is None or noted[0]() is not value:
        return None
    now, then = vars(value), noted[1].state
    if now.keys() != then.keys() or any(now[name] is not then[name] for name in now):
        return None
    return noted[1]
