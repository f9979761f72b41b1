"""Two texts of machine code side by side: what changed, and what only got other register and label numbers.

Compilers renumber: one more instruction at the top gives every register below another name. A line counts as
the same if it differs only by such names and the renaming is one to one over all lines that count as the same.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

CHANGED = ("changed", "removed", "added")
CONTEXT_LINES = 3
SHOWN_LINES = 400  # of one diff; what is beyond is counted
SMALL = 1_000_000  # pairs of lines that are aligned with care; in larger texts lines seen often anchor nothing
NAME = re.compile(r"(%[a-z]+\d+|\$L_*\w+|\b(?:UR|R|UP|P|B)\d+\b)")


class Row(NamedTuple):
    """One line of both sides: `kind` is same | renamed | changed | removed | added; lines count from 1, 0 is none."""

    kind: str
    good_line: int
    good: str
    this_line: int
    this: str


class Diff(NamedTuple):
    """hunks: runs of rows with 3 lines of context. changed, renamed: how many lines did; left_out: rows not shown."""

    hunks: tuple[tuple[Row, ...], ...]
    changed: int
    renamed: int
    left_out: int


def diff(good: str, this: str) -> Diff:
    """The difference of two texts, line by line."""
    before, after = good.rstrip("\n").split("\n"), this.rstrip("\n").split("\n")
    pairs, renaming = _aligned(before, after), _Renaming()
    kinds = [_kind(a, b, before, after, renaming) for a, b in pairs]
    spans = _spans([number for number, kind in enumerate(kinds) if kind in CHANGED], len(pairs))
    hunks, room = [], SHOWN_LINES
    for start, end in spans:
        shown = range(start, min(end, start + room))
        room -= len(shown)
        if shown:
            hunks.append(tuple(_row(kinds[number], *pairs[number], before, after) for number in shown))
    left_out = sum(end - start for start, end in spans) - (SHOWN_LINES - room)
    return Diff(tuple(hunks), sum(kind in CHANGED for kind in kinds), kinds.count("renamed"), left_out)


def _spans(changed: list[int], count: int) -> list[tuple[int, int]]:
    """The shown spans of `count` rows: those that changed, with context; spans that touch are one."""
    spans: list[tuple[int, int]] = []
    for number in changed:
        start, end = max(number - CONTEXT_LINES, 0), min(number + CONTEXT_LINES + 1, count)
        if spans and start <= spans[-1][1]:
            start = spans.pop()[0]
        spans.append((start, end))
    return spans


def _row(kind: str, a: int | None, b: int | None, good: list[str], this: list[str]) -> Row:
    left = (0, "") if a is None else (a + 1, good[a])
    right = (0, "") if b is None else (b + 1, this[b])
    return Row(kind, *left, *right)


def _kind(a: int | None, b: int | None, good: list[str], this: list[str], renaming: _Renaming) -> str:
    if a is None or b is None:
        return "added" if a is None else "removed"
    (shape, names), (other, others) = _shape(good[a]), _shape(this[b])
    if shape != other or not renaming.holds(names, others):
        return "changed"
    return "same" if names == others else "renamed"


class _Renaming:
    """A one-to-one map between the names of both sides, that grows as long as it stays one."""

    def __init__(self) -> None:
        self._there: dict[str, str] = {}
        self._back: dict[str, str] = {}

    def holds(self, good: tuple[str, ...], this: tuple[str, ...]) -> bool:
        """Whether it stays one with these pairs; it takes them in only then."""
        there, back, new = self._there, self._back, []
        for a, b in zip(good, this, strict=True):
            if there.get(a, b) != b or back.get(b, a) != a:
                break
            if a not in there:
                there[a], back[b] = b, a
                new.append((a, b))
        else:
            return True
        for a, b in new:
            del there[a], back[b]
        return False


@lru_cache(1 << 16)
def _shape(line: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts between the names of a line, and the names."""
    parts = NAME.split(line)
    return tuple(parts[::2]), tuple(parts[1::2])


def _aligned(good: list[str], this: list[str]) -> list[tuple[int | None, int | None]]:
    """Pairs of line numbers, in order: lines of one shape, and the lines between them side by side."""
    a, b = [_shape(line)[0] for line in good], [_shape(line)[0] for line in this]
    shorter = min(len(a), len(b))
    head = next((line for line in range(shorter) if a[line] != b[line]), shorter)
    tail = next((line for line in range(shorter - head) if a[-1 - line] != b[-1 - line]), shorter - head)
    pairs: list[tuple[int | None, int | None]] = [(line, line) for line in range(head)]
    a, b = a[head : len(a) - tail], b[head : len(b) - tail]
    for _, a0, a1, b0, b1 in SequenceMatcher(None, a, b, autojunk=len(a) * len(b) > SMALL).get_opcodes():
        both = min(a1 - a0, b1 - b0)
        pairs += [(head + a0 + step, head + b0 + step) for step in range(both)]
        pairs += [(head + line, None) for line in range(a0 + both, a1)]
        pairs += [(None, head + line) for line in range(b0 + both, b1)]
    return pairs + [(len(good) - tail + line, len(this) - tail + line) for line in range(tail)]
