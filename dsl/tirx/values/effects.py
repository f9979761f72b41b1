"""Whether a traced expression does more than arithmetic: loads, stores, meets other threads."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager

from dsl.core.state import Stack
from dsl.tirx.values import vector_lanes


class Watch:
    """Whether what is traced in one `with watched()` `has_effects`."""

    has_effects = False


_watches: Stack[Watch] = Stack()


def watched() -> AbstractContextManager[Watch]:
    return _watches.pushed(Watch())


def note() -> None:
    """Note that what is being traced has an effect."""
    for watch in _watches.items():
        watch.has_effects = True


def noted(function: Callable) -> Callable:
    """`function`, with each call noted as an effect."""

    @functools.wraps(function)
    def counting(*arguments, **options):
        note()
        vector_lanes.refuse(f"it calls {function.__name__}")
        return function(*arguments, **options)

    return counting
