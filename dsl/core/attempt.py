"""Attempts at tracing a loop: a body whose carried state was guessed too small is traced again.

What a thrown-away attempt printed and warned of is never shown; what it allocated is taken back.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dsl.core import trace
from dsl.core.errors import untell
from dsl.core.mlir import Operation
from dsl.span import Span

_LISTS = ("pending", "failures", "allocations", "ended")     # of the function being traced, beside its loops
_waiting: list[list[Callable[[], None]]] = []


def when_accepted(action: Callable[[], None]) -> None:
    """Do `action` (show a text to the author) once what is being traced is sure to stay: at once outside loops."""
    if _waiting:
        _waiting[-1].append(action)
    else:
        action()


_told: set[tuple[str, str]] = set()         # what the author has been warned of, in one outermost function
_told_in: list[object] = [None]


def first_time(file: str, name: str) -> bool:
    """Whether nothing was said yet of the variable `name` of `file` in what is being traced."""
    if _told_in[0] is not trace.outermost():
        _told_in[0] = trace.outermost()
        _told.clear()
    key = (file, name)
    known = key in _told
    _told.add(key)
    return not known


class Attempt:
    """One attempt, as a context: `discard` it inside, or it is accepted at its end. Failed ones show what they said."""

    def __enter__(self) -> Attempt:
        self.discarded = False
        self.state = trace.kernel() if trace.in_kernel() else trace.host()
        self.loops = len(self.state.loops)
        self.lists = {name: list(getattr(self.state, name)) for name in _LISTS if hasattr(self.state, name)}
        self.smem_bytes = getattr(self.state, "smem_bytes", None)
        self.told = set(_told)
        self.said: list[Callable[[], None]] = []
        _waiting.append(self.said)
        self.caught: list[tuple] = []
        self.showing, warnings.showwarning = warnings.showwarning, lambda *warning: self.caught.append(warning)
        return self

    def discard(self, scratches: Sequence[Operation]) -> None:
        """Throw away `scratches`, the detached ops that hold what was traced, and all that tracing them left behind."""
        self.discarded = True
        trace.bury(self.state.entry, scratches)
        del self.state.loops[self.loops:]
        _told.clear()
        _told.update(self.told)
        for name, before in self.lists.items():
            getattr(self.state, name)[:] = before
        if self.smem_bytes is not None:
            self.state.smem_bytes = self.smem_bytes

    def __exit__(self, *_error) -> None:
        warnings.showwarning = self.showing
        _waiting.pop()
        for warning in self.caught:             # the author's own are given once a place, so they do not come again
            message, category, file, line, *_ = warning
            if not (self.discarded and untell(str(message), category, file, line)):
                warnings.showwarning(*warning)              # to the attempt around, if there is one
        for action in self.said if not self.discarded else ():
            when_accepted(action)


@dataclass
class Record:
    """What the attempts at one statement have learnt: the slots that its trips change, by the author's name for them,
    and the variables and slots that they give another object. Statements inside keep theirs in `inner`, by place and
    by how many have been there before, so that tracing a loop again does not learn its inner loops again.
    """

    changed: set[str] = field(default_factory=set)
    replaced: set[str] = field(default_factory=set)
    inner: dict[tuple[Span, int], Record] = field(default_factory=dict)
    met: Counter = field(default_factory=Counter)

    def __enter__(self) -> None:
        self.met.clear()
        _records.append(self)

    def __exit__(self, *_error) -> None:
        _records.pop()

    def learn(self, changed: set[str], replaced: set[str]) -> bool:
        """Take in what an attempt has shown; whether there was anything new."""
        if changed <= self.changed and replaced <= self.replaced:
            return False
        self.changed |= changed
        self.replaced |= replaced
        return True


_records: list[Record] = []


def record_of(place: Span) -> Record:
    """What is known of the statement at `place`, where the loops around it are traced now."""
    if not _records:
        return Record()
    outer = _records[-1]
    outer.met[place] += 1
    return outer.inner.setdefault((place, outer.met[place]), Record())
