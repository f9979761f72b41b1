"""Races between pieces of work that may overlap: kernels, copies and fills of several streams.

Each piece is on a line, one after another. Two pieces are ordered if one has the other before it, by the clocks of
streams and events (dsl/driver/order.cc). The accesses of two that are not ordered are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dsl.emulator.check.accesses import RUN, Accesses
from dsl.emulator.check.numbers import access

MOST, MOST_RUNS = 1024, 4_000_000  # pieces that are kept, and their runs; the oldest go first


class Piece(NamedTuple):
    """`time`: the how manieth piece of its line; `before`: how many of each line come before it. `who`: who did it, as
    reports tell it (diagnosis/overlap_report.py)."""

    line: int
    time: int
    before: Sequence[int]
    who: Any
    accesses: Accesses

    def has_before(self, other: Piece) -> bool:
        """Whether the other piece comes before this one."""
        return other.line < len(self.before) and self.before[other.line] >= other.time


class Conflict(NamedTuple):
    """The first bytes that both access, a run of each, and the pieces: `mine` was added last."""

    mine: Piece
    other: Piece
    my_run: np.void
    its_run: np.void

    @property
    def address(self) -> int:
        return int(max(self.my_run["lo"], self.its_run["lo"]))

    @property
    def nbytes(self) -> int:
        return int(min(self.my_run["hi"], self.its_run["hi"])) - self.address


class Pieces:
    """The pieces that a later one may race with."""

    def __init__(self) -> None:
        self._kept: list[Piece] = []

    def add(self, piece: Piece, known: Sequence[int]) -> Conflict | None:
        """Keep a piece; the first conflict with those that are kept. All later pieces come after the pieces
        of `known`."""
        self._kept = [each for each in self._kept if not _is_known(each, known) and not _hides(piece, each)]
        conflict = next((found for each in self._kept if (found := _conflict(piece, each))), None)
        self._kept = [*self._kept[-(MOST - 1) :], piece]
        n_runs = sum(map(_run_count, self._kept))
        while n_runs > MOST_RUNS:
            n_runs -= _run_count(self._kept.pop(0))
        return conflict

    def forget(self, lo: int, hi: int) -> None:
        """Memory from `lo` to `hi` is new: earlier accesses were of another allocation."""
        self._kept = [each._replace(accesses=_without(each.accesses, lo, hi)) for each in self._kept]
        self._kept = [each for each in self._kept if each.accesses.runs]


def runs(rows: Sequence[tuple[int, int, int]]) -> dict[int, np.ndarray]:
    """The runs of a copy or a fill: of each (first address, end, kind)."""
    found = {}
    for kind in sorted({kind for *_, kind in rows}):
        found[kind] = np.array(sorted((lo, hi, 0, kind) for lo, hi, each in rows if each == kind), RUN)
    return found


def _run_count(piece: Piece) -> int:
    return sum(map(len, piece.accesses.runs.values()))


def _is_known(piece: Piece, known: Sequence[int]) -> bool:
    return piece.line < len(known) and known[piece.line] >= piece.time


def _hides(piece: Piece, earlier: Piece) -> bool:
    """Whether what races with the earlier piece races with this one too."""
    mine = piece.accesses.runs
    return piece.has_before(earlier) and all(
        kind in mine and np.array_equal(mine[kind][["lo", "hi"]], of[["lo", "hi"]])
        for kind, of in earlier.accesses.runs.items()
    )


def _conflict(mine: Piece, other: Piece) -> Conflict | None:
    if mine.has_before(other) or _may_meet(mine.accesses, other.accesses):
        return None
    for my_kind, my_runs in mine.accesses.runs.items():
        for its_kind, its_runs in other.accesses.runs.items():
            is_race = (my_kind | its_kind) & access.WRITE and not my_kind & its_kind & access.STRONG
            if is_race and (at := _overlap(my_runs, its_runs)) is not None:
                return Conflict(mine, other, my_runs[at[0]], its_runs[at[1]])
    return None


def _may_meet(mine: Accesses, other: Accesses) -> bool:
    """Whether threads of both may have waited for each other: by releases, acquires and a place that both access
    strongly."""
    if not mine.meets or not other.meets:
        return False
    strong = [[of for kind, of in each.runs.items() if kind & access.STRONG] for each in (mine, other)]
    return any(_overlap(a, b) is not None for a in strong[0] for b in strong[1])


def _overlap(mine: np.ndarray, its: np.ndarray) -> tuple[int, int] | None:
    """The numbers of the first run of mine and one of its that have a byte in common."""
    at = np.searchsorted(its["hi"], mine["lo"], side="right")
    found = np.flatnonzero((at < len(its)) & (its["lo"][np.minimum(at, len(its) - 1)] < mine["hi"]))
    return (int(found[0]), int(at[found[0]])) if len(found) else None


def _without(of: Accesses, lo: int, hi: int) -> Accesses:
    left = {kind: rows[(rows["hi"] <= lo) | (rows["lo"] >= hi)] for kind, rows in of.runs.items()}
    return of._replace(runs={kind: rows for kind, rows in left.items() if len(rows)})
