"""Streams and events: kernels run one after the other here, in the order of their calls, which all uses of them allow.

On the CPU a handle is 0, as upstream.  Source: Quadrants user guide, Streams.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dsl.quadrants import runtime
from dsl.quadrants.errors.description import described
from dsl.quadrants.errors.errors import QuadrantsRuntimeError, QuadrantsSyntaxError, QuadrantsTypeError
from dsl.quadrants.functions.task import active, program

_handles = itertools.count(1)


class _Handle:
    """Something with a handle, which destroy() or the end of a `with` gives back."""

    def __init__(self, handle: int):
        self.handle = handle

    def synchronize(self) -> None:
        """Wait for what was put there before."""
        runtime.check()
        runtime.sync()

    def destroy(self) -> None:
        """Give it back. May be called twice."""
        self.handle = 0

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.destroy()


class Stream(_Handle):
    """What `kernel(..., qd_stream=s)` runs on."""


class Event(_Handle):
    """A place in a stream."""

    def record(self, qd_stream: Stream | None = None) -> None:
        """Be the place after what the stream has now."""
        check(qd_stream)

    def wait(self, qd_stream: Stream | None = None) -> None:
        """Let the stream wait for this place."""
        check(qd_stream)


def create_stream() -> Stream:
    """A new stream."""
    return Stream(_handle())


def create_event() -> Event:
    """A new event."""
    return Event(_handle())


def _handle() -> int:
    return 0 if runtime.check().arch in (runtime.x64, runtime.arm64) else next(_handles)


def check(stream: Any) -> None:
    """Raise for something that is not a stream."""
    runtime.check()
    if stream is not None and not isinstance(stream, Stream):
        raise QuadrantsTypeError.at(f"qd_stream must be a stream, got {described(stream)}", "qd.create_stream()")


def check_launch(stream: Any, is_graph: bool) -> None:
    """Raise for a stream on which a kernel cannot run."""
    check(stream)
    if stream is not None and is_graph:
        raise QuadrantsRuntimeError("qd_stream is not compatible with graph=True kernels", "drop one of the two")


@contextmanager
def stream_parallel() -> Iterator[None]:
    """`with qd.stream_parallel():` in a kernel: a block whose loops may run while other such blocks do."""
    if active():
        raise QuadrantsSyntaxError.at(
            "qd.stream_parallel() can only be used inside @qd.kernel, not @qd.func", "write the `with` in the kernel"
        )
    yield


def begin_parallel() -> None:
    """Begin such a block in a kernel."""
    if not program().is_top:
        raise QuadrantsSyntaxError.at(
            "qd.stream_parallel() must be at the kernel's outermost scope", "take it out of the loop or branch"
        )
    if program().is_graph:
        raise QuadrantsSyntaxError.at(
            "qd.stream_parallel() is not compatible with graph=True kernels", "drop graph=True, or the `with`"
        )
