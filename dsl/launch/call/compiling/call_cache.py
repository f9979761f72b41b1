"""The compiled code of a jit function's earlier calls, in memory, for calls that would be compiled to the same.

They would where the arguments have the same types, static ones are equal, everything that tracing read (dependencies)
is the same, and so are the session and the GPU asked for. A function that warns while it is traced is traced by every
call.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dsl.launch import session
from dsl.launch.argument import abi, kinds
from dsl.launch.call import argument_reader
from dsl.launch.call.compiling.dependencies import Reads, Unseen

MOST = 8  # kinds of call that are remembered of a function


@dataclass
class CachedCall:
    """A call that was compiled: the checks whether another call may use its code, and the code."""

    same: Callable[[], bool]  # whether what tracing read is as it was
    bind: Callable  # of the arguments: (slots, storages), or None
    running: session.Session | None
    arch: str | None
    compiled: Any


@dataclass
class TracedCall:
    """A call being traced: what it is compiled to is filled in."""

    compiled: Any = None


class CallCache:
    """The compiled calls of one jit function, the newest first."""

    def __init__(self, function: Any):
        self._function = function
        self._rows: list[CachedCall] = []
        self._unseen = False  # it reads what cannot be compared
        parameter_kinds = {parameter.kind for parameter in function.signature.parameters.values()}
        self._plain = parameter_kinds <= {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
        self._count = len(function.signature.parameters)

    def find(self, args: tuple) -> tuple | None:
        """The code for a call with these arguments, and (slots, storages) for it."""
        if len(args) == self._count:
            for row in self._rows:
                if row.running is not None and not session.is_current(row.running):
                    continue
                bound = row.bind(*args)
                if bound is not None and row.arch == os.environ.get("CUTE_DSL_ARCH") and row.same():
                    return row.compiled, bound
        return None

    @contextlib.contextmanager
    def remembering(self, args: tuple, keywords: dict) -> Iterator[TracedCall]:
        """Remember the call that is traced in this `with`, where it can be recognised."""
        traced = TracedCall()
        if self._unseen or not self._plain or keywords or len(args) != self._count:
            yield traced
            return
        try:
            same = self._reads(args)
        except Unseen:
            self._unseen = True
            yield traced
            return
        with _heard_warnings() as heard:
            yield traced
        if not heard and same():
            self._remember(traced.compiled, same)

    def _reads(self, args: tuple) -> Callable[[], bool]:
        """Find out what the function and its static arguments read. Raises Unseen."""
        reads = Reads()
        reads.value(self._function)
        for name, value in zip(self._function.signature.parameters, args):
            if self._function.is_static(name):
                reads.value(value)
        return reads.validator()

    def _remember(self, compiled_function: Any, same: Callable[[], bool]) -> None:
        types = [type_ if kinds.is_typed(type_) else abi.Static(type_) for type_ in compiled_function.typed]
        running = session.current() if compiled_function.compiled.traced.kernels else None
        names = list(self._function.signature.parameters)
        bind = argument_reader.make(names, types, running and running.device, exact=True)
        if bind is not None:
            row = CachedCall(same, bind, running, os.environ.get("CUTE_DSL_ARCH"), compiled_function.compiled)
            self._rows[:] = [row, *self._rows][:MOST]


@contextlib.contextmanager
def _heard_warnings() -> Iterator[list]:
    """The warnings that were raised inside the `with`."""
    heard: list = []
    original = warnings.warn_explicit

    def warn_explicit(*arguments, **keywords):
        heard.append(arguments)
        return original(*arguments, **keywords)

    warnings.warn_explicit = warn_explicit
    try:
        yield heard
    finally:
        warnings.warn_explicit = original
