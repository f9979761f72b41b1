"""Signals: how Ctrl-C and time-outs end work, and what they must not break off.

Python's own C function notes a signal. Python runs its handler in the main thread when Python code goes on there, so
code that is not Python must learn of it in another way. There are three kinds of such code:

1. *Machine code of ours that runs long* asks Python every 2 to 20 ms. A loop of a host function counts its trips and
   then reads a clock (dsl/lower/rewrites/signals.py). Code of a kernel reads the stop flag of its block, because other
   threads stop it too; a thread that keeps time sets the flag (dsl/emulator/execute/workers.py). Both call the same C++
   (dsl/emulator/machine/interrupts.cc). It keeps what a handler raises, because no exception passes through machine
   code. The code ends, and Python raises the exception: `raised`.
2. *A Python function that machine code calls*, such as a function of the driver that cuda.bindings call: ctypes prints
   and loses what a handler raises there. `heard_in_caller` ends the function, and the handler runs in the Python code
   that called the machine code.
3. *Work that cannot be done by halves*, such as the import of a native module, which cannot begin twice in a process:
   `undisturbed` runs the handlers after it. A mask of signals is not enough, because the kernel then gives them to
   another thread, and Python runs their handlers all the same.

Machine code in another thread, for which the caller waits, would not have to ask. But a hand-over to a thread and back
adds 6.6 us to an empty launch of 15.8 us (benchmarks/interrupts.py).
"""

from __future__ import annotations

import _thread
import ctypes
import functools
import importlib
import signal
import sys
import threading
import types
from collections.abc import Callable
from typing import Any, TypeVar

R = TypeVar("R")
_signal: Any = importlib.import_module("_signal")  # signal without its enumerations, which cost ten times as much
_NUMBERS = tuple(map(int, signal.valid_signals()))


# --- machine code of ours ---------------------------------------------------------------------------------------------

RAISED = -1  # what machine code returns that a signal's handler has ended
FUNCTIONS = "emu_look", "emu_call_python"


class _Raised(ctypes.Structure):
    """An exception as C knows it, with a reference to each part."""

    _fields_ = [("type", ctypes.c_void_p), ("value", ctypes.c_void_p), ("traceback", ctypes.c_void_p)]


@functools.cache
def _library() -> ctypes.CDLL:
    from dsl import native_library  # noqa: PLC0415 - it reads files

    return ctypes.CDLL(str(native_library.here()))


@functools.cache
def functions() -> dict[str, int]:
    """The addresses of the C++ that machine code calls, by name."""
    return {name: ctypes.cast(_library()[name], ctypes.c_void_p).value or 0 for name in FUNCTIONS}


def raised() -> BaseException:
    """The exception that has ended machine code of the main thread."""
    kept = _Raised.in_dll(_library(), "emu_raised")
    error = ctypes.cast(kept.value, ctypes.py_object).value
    if kept.traceback:
        error = error.with_traceback(ctypes.cast(kept.traceback, ctypes.py_object).value)
    for reference in (kept.type, kept.value, kept.traceback):
        ctypes.pythonapi.Py_DecRef(ctypes.c_void_p(reference))
    kept.type = kept.value = kept.traceback = None
    return error


# --- work that comes to its end ---------------------------------------------------------------------------------------


def undisturbed(work: Callable[..., R], *arguments) -> R:
    """What `work` returns. Handlers of signals that come meanwhile run after it, and may raise then."""
    if threading.current_thread() is not threading.main_thread():  # which handlers never run in
        return work(*arguments)
    replaced: list[tuple[int, Callable]] = []
    held: list[tuple[Callable, int, types.FrameType | None]] = []
    try:
        _replace(replaced, lambda handler, *rung: held.append((handler, *rung)))
        return work(*arguments)
    finally:
        _restore(replaced)
        _deliver(held)


# --- Python functions that machine code calls -------------------------------------------------------------------------


class Rang(BaseException):
    """Ends what runs long because a signal has come, whose handler runs later."""


_machine_calls: set[types.CodeType] = set()  # Python functions that machine code calls


def called_by_machine_code(function: Callable[..., R]) -> Callable[..., R]:
    """`function`, in which no handler of `run_in_caller` runs: machine code cannot pass on what one raises."""
    _machine_calls.add(function.__code__)
    return function


def heard_in_caller(call: Callable[..., int], failed: int) -> Callable[..., int]:
    """`call` for machine code that cannot pass on what a handler raises: a signal ends it, by Rang, and handlers run
    when the Python code that called the machine code goes on. `failed` is the result where a handler raised in the
    microseconds before this heard of signals.
    """

    @called_by_machine_code
    def called(*arguments) -> int:
        if threading.current_thread() is not threading.main_thread():
            return call(*arguments)
        replaced: list[tuple[int, Callable]] = []
        held: list[tuple[int, Callable]] = []

        def note(handler: Callable, number: int, _frame: types.FrameType | None) -> None:
            held.append((number, handler))
            raise Rang

        try:
            try:
                _replace(replaced, note)
                result = call(*arguments)
            finally:
                _restore(replaced)
        except BaseException as error:
            if not isinstance(error, Rang):
                sys.excepthook(type(error), error, error.__traceback__)
            result = failed
        for number, handler in held:
            run_in_caller(number, handler)
        return result

    return called


def run_in_caller(number: int, handler: Callable) -> None:
    """Run the handler of a signal that has come as soon as Python code goes on that no machine code has called."""
    before = _signal.getsignal(number)

    def deliver(number: int, frame: types.FrameType | None) -> None:
        if _is_in_machine_call(frame):
            interrupt: Callable = _thread.interrupt_main
            again = map(interrupt, (number,))
            _ = [*again]  # no call of Python's own code, which would run this again, within itself
            return
        _signal.signal(number, before)
        handler(number, frame)

    _signal.signal(number, deliver)
    _thread.interrupt_main(number)


def raise_in_caller(error: BaseException) -> None:
    """Raise what a handler raised in a function that machine code called, as soon as other Python code goes on."""

    def again(*_rung) -> None:
        raise error

    run_in_caller(signal.SIGINT, again)


def _is_in_machine_call(frame: types.FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code in _machine_calls:
            return True
        frame = frame.f_back
    return False


def _replace(replaced: list[tuple[int, Callable]], note: Callable) -> None:
    """Let `note(handler, number, frame)` hear signals that have a handler, which are added to `replaced`."""
    for number in _NUMBERS:
        handler = _signal.getsignal(number)
        if callable(handler):
            replaced.append((number, handler))
            _signal.signal(number, functools.partial(note, handler))


def _restore(replaced: list[tuple[int, Callable]]) -> None:
    """Restore all handlers, though one of those restored may raise."""
    try:
        while replaced:
            _signal.signal(*replaced[-1])
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
