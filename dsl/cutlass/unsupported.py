"""Names of upstream that are not here yet: said at once, by name."""

from __future__ import annotations

from collections.abc import Callable

from dsl.core.diagnosis import author_traceback, spelling, unsupported_names
from dsl.cutlass import earlier_releases, upstream

FIX = "see docs/cute.md for what is, or run the file with NVIDIA's compiler"


def module_getattr(module: str, **instead: str) -> Callable:
    """A module's `__getattr__` that gives names of earlier releases, and refuses others by their upstream spelling,
    those of `instead` where they are called."""
    refuse = unsupported_names.refuser(module, FIX, instead, upstream.names)

    @author_traceback.stripped
    def get(name: str):
        value = earlier_releases.find(module, name)
        return refuse(name) if value is None else value

    return get


spelling.register_surface("dsl.cutlass")
spelling.know_upstream(upstream.names, upstream.parameters)
