"""Be told when a module has been imported, and change what it gives to others."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_waiting: dict[str, list[Callable[[ModuleType], None]]] = {}


def when_imported(name: str, change: Callable[[ModuleType], None]) -> None:
    """Call `change(module)` as soon as the module is imported: now, if it is."""
    if name in sys.modules:
        change(sys.modules[name])
        return
    _waiting.setdefault(name, []).append(change)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def replace_everywhere(name: str, old: Any, new: Any, but_in: str | None = None) -> None:
    """Give a name another value in each module that has the old one, but not inside the package `but_in`."""
    for place, module in tuple(sys.modules.items()):
        is_inside = but_in is not None and place.startswith(f"{but_in}.")
        if isinstance(module, ModuleType) and not is_inside and module.__dict__.get(name) is old:
            setattr(module, name, new)


class _Finder:
    """Finds nothing itself: it asks the other finders, and has their loader call what waits for the module."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in _waiting:
            return None
        changes = _waiting.pop(name)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            _waiting[name] = changes
            return None
        spec.loader = _Loader(spec.loader, changes)  # type: ignore[assignment]
        return spec


class _Loader:
    def __init__(self, loader: Any, changes: list[Callable[[ModuleType], None]]):
        self._loader, self._changes = loader, changes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        for change in self._changes:
            change(module)


_finder: Any = _Finder()
