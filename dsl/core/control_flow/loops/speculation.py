"""Attempts at tracing a loop: a body whose carried state was guessed too small is traced again.

Text and warnings of a thrown-away attempt are never shown; its allocations are taken back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dsl.core import trace
from dsl.core.ir.mlir import Operation
from dsl.core.state import Stack, this_thread, when_accepted
from dsl.span import Span

_LISTS = ("pending", "failures", "allocations", "smem_gaps", "ended")  # of the traced function, other than its loops


def first_time(file: str, name: str) -> bool:
    """Whether nothing was reported yet about the variable `name` of `file` in what is being traced."""
    warned, key = trace.outermost().warned, (file, name)
    first = key not in warned
    warned.add(key)
    return first


class Attempt:
    """One attempt, as a context: `discard` it inside, or it is accepted at its end. A failed attempt shows its text."""

    def __enter__(self) -> Attempt:
        self.discarded = False
        self.state = trace.kernel() if trace.in_kernel() else trace.host()
        self.loops = len(self.state.loops)
        self.lists = {name: list(getattr(self.state, name)) for name in _LISTS if hasattr(self.state, name)}
        self.smem_bytes = getattr(self.state, "smem_bytes", None)
        self.warned = set(trace.outermost().warned)
        self.actions: list[Callable[[], None]] = []
        this_thread.deferred.append(self.actions)
        return self

    def discard(self, scratches: Sequence[Operation]) -> None:
        """Throw away `scratches`, the detached ops that hold what was traced, and all that tracing them left."""
        self.discarded = True
        trace.discard(self.state.entry, scratches)
        del self.state.loops[self.loops :]
        trace.outermost().warned = self.warned
        for name, before in self.lists.items():
            getattr(self.state, name)[:] = before
        if self.smem_bytes is not None:
            trace.kernel().smem_bytes = self.smem_bytes

    def __exit__(self, *_error) -> None:
        this_thread.deferred.pop()
        for action in self.actions if not self.discarded else ():
            when_accepted(action)  # by the attempt around, if there is one


@dataclass
class Record:
    """Knowledge from the attempts at one statement: the slots that its trips change, by the author's names for them,
    and the variables and slots that they give another object. Statements inside keep theirs in `inner`, by place and
    by how many have been there before, so that tracing a loop again does not learn its inner loops again.
    """

    changed: set[str] = field(default_factory=set)
    replaced: set[str] = field(default_factory=set)
    inner: dict[tuple[Span, int], Record] = field(default_factory=dict)
    met: Counter = field(default_factory=Counter)

    def __enter__(self) -> None:
        self.met.clear()
        _open.items().append(self)

    def __exit__(self, *_error) -> None:
        _open.items().pop()

    def learn(self, changed: set[str], replaced: set[str]) -> bool:
        """Take in what an attempt has shown; whether there was anything new."""
        if changed <= self.changed and replaced <= self.replaced:
            return False
        self.changed |= changed
        self.replaced |= replaced
        return True


_open: Stack[Record] = Stack()


def record_of(place: Span) -> Record:
    """The record of the statement at `place`, while the loops around it are traced."""
    outer = _open.top()
    if outer is None:
        return Record()
    outer.met[place] += 1
    return outer.inner.setdefault((place, outer.met[place]), Record())
