"""Work that no signal's handler breaks off: imports of native modules, which cannot be begun twice in a process.

Holding signals back with a mask is not enough: the kernel then gives them to another thread, and Python runs their
handlers in the main thread all the same. So the handlers are replaced for that time.
"""

from __future__ import annotations

import importlib
import signal
import sys
import threading
import types
from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")


def undisturbed(work: Callable[..., R], *arguments) -> R:
    """What `work` returns. Handlers of signals that come meanwhile run after it, and may raise then."""
    if threading.current_thread() is not threading.main_thread():  # which handlers never run in
        return work(*arguments)
    replaced: list[tuple[int, Callable]] = []
    held: list[tuple[Callable, int, types.FrameType | None]] = []
    try:
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler):
                replaced.append((number, handler))
                signal.signal(number, lambda *rung, handler=handler: held.append((handler, *rung)))
        return work(*arguments)
    finally:
        _restore(replaced)
        _deliver(held)


def _restore(replaced: list[tuple[int, Callable]]) -> None:
    """Restore all handlers, though one of those restored may raise."""
    try:
        while replaced:
            signal.signal(*replaced[-1])
            replaced.pop()
    finally:
        if replaced:
            _restore(replaced)


def _deliver(held: list[tuple[Callable, int, types.FrameType | None]]) -> None:
    """Run each handler, though one before it raises."""
    if held:
        handler, *rung = held[0]
        try:
            handler(*rung)
        finally:
            _deliver(held[1:])


def whole_import(name: str) -> types.ModuleType:
    """The module `name`, imported to its end where it is not yet."""
    module = sys.modules.get(name)
    if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
        return module
    return undisturbed(importlib.import_module, name)
