"""How far a reduction is, while it runs: on a terminal one live line, elsewhere a plain line now and then."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from harness.terminal import one_line

if TYPE_CHECKING:
    from harness.reduction.candidates import Candidates

REDRAW_S, PLAIN_S = 0.5, 15.0
SHOWN_REASONS = 3


class Progress:
    """`lines`: of the best program so far."""

    def __init__(self, start_lines: int, candidates: Candidates, say: Callable[[str], None], is_terminal: bool) -> None:
        self.lines, self._start_lines, self._candidates = start_lines, start_lines, candidates
        self._say, self._is_terminal = say, is_terminal
        self._where, self._begun, self._end = "", time.monotonic(), threading.Event()
        self._thread = threading.Thread(target=self._tick, name="progress", daemon=True)

    def at(self, name: str, edits: int, left: int) -> None:
        """The search tries a pass: so many edits, of which so many are left."""
        self._where = f"{name}: {left} of {edits} edits left"

    def line(self) -> str:
        """`113 -> 42 lines, 318 candidates (9.1/s), rejected 120 another reason, 80 no longer so; statements: ...`"""
        ran, took = self._candidates.ran, max(time.monotonic() - self._begun, 1e-3)
        parts = [f"{self._start_lines} -> {self.lines} lines", f"{ran} candidates ({ran / took:.1f}/s)"]
        reasons = reasons_of(dict(self._candidates.rejected))
        return ", ".join(parts) + (f", rejected {reasons}" if reasons else "") + f"; {self._where}"

    def __enter__(self) -> Progress:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()
        if self._is_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _tick(self) -> None:
        while not self._end.wait(REDRAW_S if self._is_terminal else PLAIN_S):
            if self._is_terminal:
                sys.stderr.write(f"\r\x1b[K{one_line(self.line())[: _columns() - 1]}")
                sys.stderr.flush()
            else:
                self._say(self.line())


def _columns() -> int:
    return shutil.get_terminal_size().columns


def reasons_of(rejected: dict[str, int], most: int = SHOWN_REASONS) -> str:
    """The commonest reasons, with their counts."""
    first = sorted(rejected.items(), key=lambda item: -item[1])
    rest = sum(count for _, count in first[most:])
    shown = [f"{count} {reason}" for reason, count in first[:most]] + ([f"{rest} otherwise"] if rest else [])
    return ", ".join(shown)
