"""`cutlass.cute.experimental.iket`: marks and ranges that a profiler reads. None reads them here: they are checked, and
make no code, as upstream's make none in a kernel that is compiled without instrumentation."""

from __future__ import annotations

from typing import Any

from dsl.core import trace
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.operators import type_name
from dsl.core.phrase import shown
from dsl.cutlass.unsupported import module_getattr as _refuser

__all__ = ["RangeToken", "mark", "range_end", "range_pop", "range_push", "range_start", "sentinel_token"]


class RangeToken:
    """A range that `range_start` began, or none. There is one, so that branches and loops may assign it."""


_TOKEN = RangeToken()


def mark(event_name: str, payload: Any = None) -> None:
    """A point in time."""
    _check(event_name)


def range_push(event_name: str, payload: Any = None) -> None:
    """The begin of a range inside those that are open."""
    _check(event_name)


def range_pop() -> None:
    """The end of the innermost range."""
    trace.kernel()


def range_start(event_name: str, payload: Any = None) -> RangeToken:
    """The begin of a range, which `range_end` ends by what this returns."""
    _check(event_name)
    return _TOKEN


def sentinel_token() -> RangeToken:
    """The token of no range."""
    return _TOKEN


def range_end(token: RangeToken, payload: Any = None) -> None:
    """The end of the range that `token` is of."""
    trace.kernel()
    if not isinstance(token, RangeToken):
        raise DSLUserCodeTypeError(
            f"range_end takes what range_start returned, got {type_name(token)}", fix="token = iket.range_start('load')"
        )


def _check(event_name: Any) -> None:
    trace.kernel()
    if not isinstance(event_name, str):
        raise DSLUserCodeTypeError(f"the name of an event must be text, got {shown(event_name)}", fix="'load', say")


__getattr__ = _refuser("cutlass.cute.experimental.iket")
