"""The state of tracing: the one object that holds it, one a thread.

A thread sees only its own state, so two threads may trace at once, and a fork goes on with the state of the thread that
forked: what other threads of its parent were tracing is not there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class TraceState(threading.local):
    """The state of one thread's tracing. Each list is a stack, the innermost last."""

    def __init__(self):
        self.functions: list[Any] = []  # trace.HostTrace and KernelTrace: the functions being traced
        self.blocks: list[Any] = []  # where ops are appended
        self.owners: list[Any] = [None]  # the function that values made now belong to
        self.deferred: list[list[Callable[[], None]]] = []  # what each open attempt does once it is accepted
        self.zero_bits: list[dict[Any, int]] = []  # of each open block: what its values are known to be multiples of
        self.stacks: dict[Stack, list] = {}  # what parts of the compiler and the surfaces stack


class Stack(Generic[T]):
    """A stack of one part of the compiler in the trace state of each thread: `_open: Stack[Signature] = Stack()`."""

    def items(self) -> list[T]:
        """Those of this thread, the innermost last."""
        return this_thread.stacks.setdefault(self, [])

    def __bool__(self) -> bool:
        return bool(this_thread.stacks.get(self))

    @overload
    def top(self) -> T | None: ...
    @overload
    def top(self, default: T) -> T: ...
    def top(self, default: T | None = None) -> T | None:
        """The innermost, `default` where there is none."""
        items = this_thread.stacks.get(self)
        return items[-1] if items else default

    @contextmanager
    def pushed(self, item: T) -> Iterator[T]:
        """`item` is the innermost in this `with`."""
        items = self.items()
        items.append(item)
        try:
            yield item
        finally:
            items.pop()


this_thread = TraceState()


never_runs: Stack[bool] = Stack()  # an arm of a branch that is traced though its test is known to be false


def in_arm() -> bool:
    """Whether what is traced belongs to an arm of a branch, which need not run."""
    return bool(never_runs)


def in_kernel() -> bool:
    """Whether the innermost function being traced is a kernel."""
    return bool(this_thread.functions) and this_thread.functions[-1].is_kernel


def when_accepted(action: Callable[[], None]) -> None:
    """Do `action` (show a text to the author) once what is being traced is sure to stay: at once outside attempts."""
    if this_thread.deferred:
        this_thread.deferred[-1].append(action)
    else:
        action()
