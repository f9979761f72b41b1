"""How often a traced expression has done more than arithmetic: loaded, stored, met other threads."""

from __future__ import annotations

import functools
from collections.abc import Callable

from dsl.tirx import lanes

_counts = [0]


def note() -> None:
    _counts[0] += 1


def count() -> int:
    return _counts[0]


def noted(function: Callable) -> Callable:
    """`function`, each of whose calls is one."""
    @functools.wraps(function)
    def counting(*arguments, **options):
        note()
        lanes.refuse(f"it calls {function.__name__}")
        return function(*arguments, **options)
    return counting
