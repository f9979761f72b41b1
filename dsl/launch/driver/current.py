"""Which driver the functions of the library ask: a process has one at a time, made when somebody asks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple


class _State(NamedTuple):
    driver: Any  # a driver.Driver
    make: Callable[[], Any] | None  # what makes it


class _Current:
    state = _State(None, None)
    making = threading.RLock()


def use(driver: Any) -> None:
    """Answer calls by this driver from now on; None: as a machine without a device."""
    _Current.state = _State(driver, None)


def use_made_by(make: Callable[[], Any]) -> Callable[[], None]:
    """Answer calls by the driver that `make` gives at the first of them; returns what ends that."""
    before, _Current.state = _Current.state, _State(None, make)

    def end() -> None:
        _Current.state = before

    return end


def is_made() -> bool:
    """Whether somebody has asked the driver in use."""
    return _Current.state.driver is not None


def current() -> Any:
    """The driver in use; None on a machine without a device."""
    state = _Current.state
    if state.driver is None and state.make is not None:
        with _Current.making:
            state = _Current.state
            if state.driver is None and state.make is not None:
                state = _Current.state = state._replace(driver=state.make())
    return state.driver
