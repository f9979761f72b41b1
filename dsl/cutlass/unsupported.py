"""Names of upstream that are not here yet: said at once, by name."""

from __future__ import annotations

from collections.abc import Callable

from dsl.core.diagnosis import spelling, unsupported_names
from dsl.cutlass import upstream

FIX = "see docs/cute.md for what is, or run the file with NVIDIA's compiler"


def module_getattr(module: str, **instead: str) -> Callable:
    """A module's `__getattr__` that refuses names by their upstream spelling,
    those of `instead` where they are called."""
    return unsupported_names.refuser(module, FIX, instead, upstream.names)


spelling.register_surface("dsl.cutlass")
spelling.know_upstream(upstream.names, upstream.parameters)
