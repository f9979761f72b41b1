"""The statements of a source text with what they contain, and the spots between two of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

LOOP, BRANCH, FUNCTION, PLAIN, LEAVE = "loop", "branch", "function", "plain", "leave"


class Statement(NamedTuple):
    """A statement from `start` to `end`, lines from 1. `kind`: LOOP, BRANCH (not all threads may run what is inside),
    FUNCTION, LEAVE (what follows in its list does not run) or PLAIN; `bodies`: the lists of statements in it that can
    take one more; `begins`, `ends`: whether nothing else is before it on its first line, and after it on its last."""

    start: int
    end: int
    kind: str
    bodies: list[list[Statement]]
    begins: bool
    ends: bool


class Spot(NamedTuple):
    """A place for new lines: before a line, or after it. `like`: a line with the indentation; `conditional`:
    whether some threads may not come by."""

    line: int
    is_before: bool
    like: int
    conditional: bool


class _Step(NamedTuple):
    owner: Statement | None
    body: list[Statement]
    at: int


class Statements:
    """The statements of one text."""

    def __init__(self, top: list[Statement]):
        self.top = top

    def after(self, first: int, second: int) -> Spot | None:
        """After what has the line `first`, before what has the line `second`; None if no line is between."""
        common = self._common(first, second)
        if common is None or common[-1][0].at >= common[-1][1]:
            return None
        return _behind(common[-1][0].body, common[-1][0].at, _is_conditional([step for step, _ in common]))

    def before(self, first: int, second: int) -> Spot | None:
        """Right before what has the line `second`, in the innermost list of statements that has both lines."""
        common = self._common(first, second)
        if common is None or common[-1][0].at == common[-1][1]:
            return None
        steps = [step for step, _ in common]
        return _ahead(steps[-1].body, common[-1][1], _is_conditional(steps))

    def end_of_round(self, first: int, second: int) -> Spot | None:
        """At the end of the innermost loop that has both lines."""
        steps = [step for step, _ in self._common(first, second) or ()]
        while steps and (steps[-1].owner is None or steps[-1].owner.kind != LOOP):
            if steps[-1].owner is None or steps[-1].owner.kind == FUNCTION:
                return None
            steps.pop()
        if not steps or steps[-1].body[-1].kind == LEAVE:
            return None
        return _behind(steps[-1].body, len(steps[-1].body) - 1, _is_conditional(steps))

    def at_statement(self, line: int, is_before: bool) -> Spot | None:
        """Right before, or right after, the innermost statement that has a line."""
        steps = [*self._path(line)]
        if not _in_function(steps) or steps[-1].body[steps[-1].at].bodies:
            return None
        return (_ahead if is_before else _behind)(steps[-1].body, steps[-1].at, _is_conditional(steps))

    def end_of_function(self, line: int) -> Spot | None:
        """At the end of the function that has a line."""
        steps = [*self._path(line)]
        while steps and (steps[-1].owner is None or steps[-1].owner.kind != FUNCTION):
            steps.pop()
        if not steps or steps[-1].body[-1].kind == LEAVE:
            return None
        return _behind(steps[-1].body, len(steps[-1].body) - 1, False)

    def _path(self, line: int, is_last: bool = False) -> Iterator[_Step]:
        """The lists of statements that have a line, the outermost first, and the first or last such one of each."""
        owner, bodies = None, [self.top]
        while True:
            found = [(body, at) for body in bodies for at, each in enumerate(body) if each.start <= line <= each.end]
            if not found:
                return
            body, at = found[-is_last]
            yield _Step(owner, body, at)
            owner, bodies = body[at], body[at].bodies

    def _common(self, first: int, second: int) -> list[tuple[_Step, int]] | None:
        """The lists of one function that have both lines, as steps to the first, each with the place of the second."""
        one, other = [*self._path(first, is_last=True)], [*self._path(second)]
        common = [(step, its.at) for step, its in zip(one, other) if step.body is its.body]
        steps = [step for step, _ in common]
        if not _in_function(steps) or any(step.owner.kind == FUNCTION for path in (one, other)
                                          for step in path[len(steps):] if step.owner is not None):  # fmt: skip
            return None
        return common


def _in_function(steps: list[_Step]) -> bool:
    return any(step.owner is not None and step.owner.kind == FUNCTION for step in steps)


def _is_conditional(steps: list[_Step]) -> bool:
    """Whether the last list is in a branch of its function."""
    for step in reversed(steps):
        if step.owner is None or step.owner.kind == FUNCTION:
            return False
        if step.owner.kind == BRANCH:
            return True
    return False


def _behind(body: list[Statement], at: int, conditional: bool) -> Spot | None:
    one = body[at]
    return Spot(one.end, False, body[0].start, conditional) if one.ends and body[0].begins else None


def _ahead(body: list[Statement], at: int, conditional: bool) -> Spot | None:
    one = body[at]
    return Spot(one.start, True, one.start, conditional) if one.begins else None
