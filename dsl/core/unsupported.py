"""Names of upstream that are not here yet: said at once, by name."""

from __future__ import annotations

from collections.abc import Callable

from dsl.core import boundary
from dsl.core.errors import DSLUserCodeError


class UnsupportedName(DSLUserCodeError, AttributeError):
    """A name of upstream's that this compiler does not have."""


def refuser(module: str, fix: str) -> Callable:
    """A module's `__getattr__` that refuses names by their upstream spelling."""
    @boundary.guarded
    def missing(name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnsupportedName(f"{module}.{name} is not part of this compiler yet", id="UNSUPPORTED_NAME", fix=fix)
    return missing
