"""Base classes of exceptions that cross packages: the report of an exception about a program, for whoever reads it.

`repro_outcome` is also what the harness reads, which imports nothing of dsl: harness/run/exception_protocol.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from dsl.span import Span, short


class OutcomeError(Exception):
    """An exception that reports what a program did; its text is for the author as it is.

    `repro_outcome`: {"outcome": "rejected" | "trap" | "deadlock" | "fault", "file", "line", "text", and "class" and
    "id" of a rejection, "kind" of a fault, "finding"}; None if this exception does not report on the program.
    """

    repro_outcome: dict | None = None


class KernelFault(OutcomeError):
    """A kernel that stopped: `kind` names why ("trap", "out_of_bounds", ...), `place` is the author's line if known."""

    kind: str
    place: Span | None
    finding: dict | None = None  # the report as data
    last: ClassVar[KernelFault | None] = None  # of this process, whether the program let it through or not

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        KernelFault.last = self

    def add_fix(self, fix: str) -> None:
        """Add a fix to the report, unless it has one."""
        if "\nfix: " not in str(self):
            self.args = (f"{self}\nfix: {fix}", *self.args[1:])
            self.finding = self.finding and self.finding | {"fix": fix}


class ToolFailure(Exception):
    """A tool of the compiler failed, which is not a finding about the program.

    `problem`: what it does, to be read after "compiling this": "fails in the stage `x`"; `place`: where, if known.
    """

    problem: str
    place: Span | None = None


def finding(id: str, message: str, fix: str, place: Span | None, related: Iterable[dict] = (), **more) -> dict:
    """A report as data, for harness/run/reply.py:Finding. `related`: other places, each as `related_place` makes it;
    `more`: the kernel, and the block and the thread of it."""
    return {"id": id, "message": message, "fix": fix, "related": list(related)} | at(place) | more


def at(place: Span | None) -> dict:
    """A place as data."""
    return {"file": short(place.file), "line": place.line, "column": place.character()} if place else {}


def related_place(place: Span | None, text: str, **more) -> dict:
    """Another place of a report, with the text for it."""
    return {"text": text} | at(place) | more


def outcome_of(error: BaseException) -> dict | None:
    """The outcome of the program that an exception reports, if any."""
    return error.repro_outcome if isinstance(error, OutcomeError) else None
