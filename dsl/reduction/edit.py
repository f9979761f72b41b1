"""Edits of a text: spans and their replacements, several applied together."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Change(NamedTuple):
    """The bytes `start` to `end` of the text, at least one, become `text`."""

    start: int
    end: int
    text: bytes = b""


class Edit:
    """One thing to do to a program: what it is called, its line (1-based), its changes."""

    __slots__ = ("about", "changes", "line")

    def __init__(self, about: str, line: int, changes: Iterable[Change]):
        self.about, self.line, self.changes = about, line, tuple(changes)

    def gain(self, text: bytes) -> int:
        """The lines that go when it is applied to the text alone."""
        return sum(text.count(b"\n", *change[:2]) - change.text.count(b"\n") for change in self.changes)

    @property
    def bytes_less(self) -> int:
        """The bytes that go when it is applied alone."""
        return sum(change.end - change.start - len(change.text) for change in self.changes)


def merged(edits: Sequence[Edit]) -> list[Change]:
    """The changes of several edits, in order of their places.

    Changes within a larger one are dropped; an edit that crosses an earlier one is left out.
    """
    taken: list[Change] = []  # no two of them meet
    for edit in edits:
        places = [_met(taken, change) for change in edit.changes]
        if any(_cross(change, taken[i]) for change, place in zip(edit.changes, places) for i in range(*place)):
            continue
        for change in edit.changes:
            first, last = _met(taken, change)
            if first == last or _holds(change, taken[first]):
                taken[first:last] = [change]
    return taken


def _met(changes: list[Change], change: Change) -> tuple[int, int]:
    """The places in the list of those that share bytes with a change."""
    first = bisect.bisect_right(changes, change.start, key=lambda each: each.end)
    last = bisect.bisect_left(changes, change.end, key=lambda each: each.start)
    return first, max(first, last)


def _holds(outer: Change, inner: Change) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _cross(one: Change, other: Change) -> bool:
    """Whether two that share bytes want different things of some, and neither takes the other's place as a whole."""
    if one[:2] == other[:2]:
        return one.text != other.text
    return not (_holds(one, other) or _holds(other, one))


def spliced(text: bytes, changes: Sequence[Change]) -> bytes:
    """The text after changes that are in order and do not meet."""
    parts, at = [], 0
    for change in changes:
        parts += [text[at : change.start], change.text]
        at = change.end
    return b"".join([*parts, text[at:]])
