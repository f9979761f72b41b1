"""The search: which edits of a program may go together while it keeps a property.

Each pass lists edits of the best program. They are tried all at once, then in quarters, sixteenths, down to one by one;
what is accepted stays, what is not is tried again in smaller parts. (Halves find no more, and cost half as many
candidates again where nothing goes.) Several parts are tried at a time, each as if the parts
before it failed: if another part was accepted meanwhile, a part that succeeds is tried again with it.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Protocol

from harness.reduction.candidates import Candidates, key
from harness.reduction.properties import Seen

PARTS = 4  # of what was refused together
MOST_AGAIN = 8  # times that one pass runs in a row while it finds something


@dataclass(frozen=True)
class Pass:
    """A way to make a program smaller. `is_fine`: it changes words within lines, and there are many such edits."""

    name: str
    about: str = ""
    needs: str = ""  # lines that a run reports: those that `ran`, or that its finding names (`found`)
    is_fine: bool = False


@dataclass(frozen=True)
class Edit:
    """One thing to do to a program. `gain`: the lines that go."""

    id: int
    about: str = ""
    line: int = 0
    gain: int = 0


class Passes(Protocol):
    """Who knows programs. `look(needs, source)` gives the lines (1-based) that a pass needs to know."""

    look: Callable[[str, str], Collection[int]]

    def passes(self) -> Sequence[Pass]:
        """In the order in which they are tried."""
        ...

    def edits(self, name: str, source: str) -> Sequence[Edit]:
        """The edits of the program that this pass proposes."""
        ...

    def apply(self, name: str, source: str, edits: Sequence[int]) -> str | None:
        """The program after these edits; None where they do not fit together."""
        ...


class TimeOver(Exception):
    """The time for the search is over; `best` is what was found."""


class Search:
    """Looks for the smallest program that `candidates` takes. `best` is the one so far, at any time."""

    def __init__(
        self,
        start: str,
        passes: Passes,
        candidates: Candidates,
        accepted: Callable[[str, Seen], None] = lambda *_: None,
        at: Callable[[str, int, int], None] = lambda *_: None,
    ) -> None:
        """`accepted(text, seen)` is called for each better program, `at(pass, edits, left)` for each round."""
        self.best, self._passes, self._candidates = start, passes, candidates
        self._accepted, self._at = accepted, at
        self._been = {key(start)}
        self._hopeless: set[tuple[str, str, str]] = set()  # pass, what one edit does, the text around it
        self._fine: set[str] = set()

    def run(self) -> str:
        """Until no pass finds anything. Raises TimeOver.

        An edit that failed is left out while the definition around it stays the same, an edit of a fine pass while
        its line does. After that all but the fine ones are tried once more, since something elsewhere may have stood
        in their way.
        """
        while True:
            before = self.best
            self._until_nothing_goes()
            fine = {one for one in self._hopeless if one[0] in self._fine}
            if len(fine) == len(self._hopeless) or self.best == before:
                return self.best
            self._hopeless = fine

    def _until_nothing_goes(self) -> None:
        done: dict[str, str] = {}  # pass -> the text in which it found nothing more
        passes = self._passes.passes()
        self._fine = {one.name for one in passes if one.is_fine}
        while True:
            before = self.best
            for one in passes:
                for _ in range(MOST_AGAIN):
                    if done.get(one.name) == key(self.best):
                        break
                    base = self.best
                    self._sweep(one)
                    if self.best == base:
                        done[one.name] = key(base)
            if self.best == before:
                return

    def _sweep(self, one: Pass) -> None:
        """Every edit of a pass over the program as it is now."""
        base = self.best
        around = base.split("\n") if one.is_fine else definitions(base)
        names = {
            edit.id: (one.name, edit.about, around[min(edit.line, len(around)) - 1] if edit.line > 0 else base)
            for edit in self._passes.edits(one.name, base)
        }
        edits = [number for number, name in names.items() if name not in self._hopeless]
        taken: list[int] = []
        size = len(edits)
        left = edits
        while size and left:
            parts = [left[start : start + size] for start in range(0, len(left), size)]
            self._at(one.name, len(edits), len(left))
            left = self._try(one.name, base, taken, parts)
            if size == 1:
                break
            size = -(-min(size, max(len(left), 1)) // PARTS)
        self._hopeless |= {names[number] for number in left}

    def _try(self, name: str, base: str, taken: list[int], parts: Iterable[list[int]]) -> list[int]:
        """Try the parts, each on top of what is taken, which grows; returns the edits that were not taken, in order."""
        waiting = collections.deque(parts)
        running: dict[Future[Seen | None], tuple[list[int], int, str]] = {}
        refused: list[int] = []
        try:
            while waiting or running:
                while waiting and len(running) < self._candidates.width:
                    part = waiting.popleft()
                    text = self._passes.apply(name, base, [*taken, *part])
                    if text is None or key(text) in self._been:
                        refused += part
                        continue
                    running[self._candidates.submit(text)] = (part, len(taken), text)
                if not running:
                    break
                for future in wait(running, timeout=self._candidates.left_s, return_when=FIRST_COMPLETED).done:
                    part, count, text = running.pop(future)
                    seen = future.result()
                    if seen is None:
                        refused += part
                    elif count != len(taken):
                        waiting.appendleft(part)  # something else was taken meanwhile: with it, again
                    else:
                        taken += part
                        self._take(text, seen)
                if self._candidates.left_s == 0:
                    raise TimeOver
        finally:
            for future in running:
                future.cancel()
        return sorted(refused)

    def _take(self, text: str, seen: Seen) -> None:
        self.best = text
        self._been.add(key(text))
        self._candidates.take(text, seen)
        self._accepted(text, seen)


def definitions(text: str) -> list[str]:
    """For each line the name of its block: the lines from one that is not indented up to the next such line."""
    lines = text.split("\n")
    starts = [number for number, line in enumerate(lines) if number == 0 or line[:1].strip()]
    return [
        name
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)
        for name in [key("\n".join(lines[start:end]))] * (end - start)
    ]
