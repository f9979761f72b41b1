"""How values of a compiler's runtime were made: `from_dlpack(x).mark_layout_dynamic()` is kept as these two calls.

Such a value does not hold what it was made of, so the functions and methods that make it are wrapped, for our compiler
and for NVIDIA's compiler.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from harness.capture.importing import replace_everywhere


@dataclass
class Making:
    """A value is `function(*args, **keywords)`, after these method calls and assignments on it."""

    function: str  # dotted, as a program imports it
    args: tuple
    keywords: dict[str, Any]
    changes: list[tuple[str, tuple, dict[str, Any]]] = field(default_factory=list)


_by_id: dict[int, tuple[Any, Making]] = {}


def of(value: Any) -> Making | None:
    """How a value was made, where that was seen."""
    noted = _by_id.get(id(value))
    return noted[1] if noted and noted[0]() is value else None


def source(value: Any) -> Any:
    """The array or torch tensor that `from_dlpack` made this value of; any other value itself, and lists of them."""
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return type(value)(map(source, value))
    making = of(value)
    return making.args[0] if making and making.function.endswith(".from_dlpack") and making.args else value


def note(value: Any, making: Making) -> None:
    """Remember how `value` was made, as long as it lives."""
    key = id(value)
    try:
        _by_id[key] = weakref.ref(value, lambda _: _by_id.pop(key, None)), making
    except TypeError:  # it cannot be referred to weakly: it is kept
        _by_id[key] = (lambda: value), making


def watch_functions(module: ModuleType, public: str, names: tuple[str, ...]) -> None:
    """Wrap functions of `module`, which programs import from `public`, wherever they are bound already."""
    for name in names:
        made = getattr(module, name, None)
        if made is None or isinstance(made, type) or hasattr(made, "_seen_by_capture"):
            continue
        watched = _watching(made, f"{public}.{name}")
        replace_everywhere(name, made, watched)


def _watching(function: Callable, dotted: str) -> Callable:
    @functools.wraps(function)
    def making(*args, **keywords):
        value = function(*args, **keywords)
        note(value, Making(dotted, args, keywords))
        return value

    making._seen_by_capture = True  # type: ignore[attr-defined]
    return making


def watch_methods(kind: type, names: tuple[str, ...], properties: tuple[str, ...] = ()) -> None:
    """Wrap methods that change a value and return it, and properties that are assigned to."""
    for name in names:
        method = kind.__dict__.get(name)
        if method is None or hasattr(method, "_seen_by_capture"):
            continue
        setattr(kind, name, _changing(method, name))
    for name in properties:
        old = kind.__dict__.get(name)
        if isinstance(old, property) and old.fset is not None and not hasattr(old.fset, "_seen_by_capture"):
            setattr(kind, name, old.setter(_changing(old.fset, f"{name} =")))


def _changing(method: Callable, name: str) -> Callable:
    @functools.wraps(method)
    def change(self, *args, **keywords):
        before = of(self)
        earlier = list(before.changes) if before else []
        result = method(self, *args, **keywords)
        if before is not None:
            changed = [*earlier, (name, args, keywords)]
            if result is not None and result is not self:
                note(result, Making(before.function, before.args, before.keywords, changed))
            else:
                before.changes[:] = changed
        return result

    change._seen_by_capture = True  # type: ignore[attr-defined]
    return change
