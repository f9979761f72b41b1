"""Names of upstream that are not here yet: said at once, by name."""

from __future__ import annotations

from collections.abc import Callable

from dsl.core import boundary
from dsl.core.errors import DSLUserCodeError


class UnsupportedName(DSLUserCodeError, AttributeError):
    """A name of upstream's that this compiler does not have."""


def refuser(module: str, fix: str, instead: dict[str, str] | None = None) -> Callable:
    """A module's `__getattr__` that refuses names by their upstream spelling.

    `instead`: names that may be imported and are refused where they are called, each with what to write in its place.
    """
    @boundary.guarded
    def missing(name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in (instead or {}):
            return _refused_when_called(f"{module}.{name}", instead[name])
        raise UnsupportedName(f"{module}.{name} is not part of this compiler yet", id="UNSUPPORTED_NAME", fix=fix)
    return missing


def _refused_when_called(name: str, fix: str) -> Callable:
    def call(*_, **__):
        raise UnsupportedName(f"{name} is not part of this compiler", id="UNSUPPORTED_NAME", fix=fix)
    return call
