"""Small programs for the memory model, written as rows, and what an order of their accesses gives."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dsl.memory_model.events import Event, Kind, Position, Trace
from dsl.memory_model.exploration import Choices, Explorer, Recorded
from dsl.memory_model.outcomes import Search

Row = tuple  # ("w", place, value, order, scope) | ("r", place, register, order, scope) | ("add", place, register) | ...


class Program:
    """`threads` has rows of each; `blocks` the block of each (default: one a thread)."""

    def __init__(self, *threads: Sequence[Row], blocks: Sequence[int] | None = None):
        self.threads = threads
        numbers = range(len(threads)) if blocks is None else blocks
        self.positions = [Position(n, n) for n in numbers]

    def run(self, choices: Sequence[Choices | None]) -> list[Recorded | None]:
        """As Explorer asks."""
        return [None if each is None else self._thread(rows, each) for rows, each in zip(self.threads, choices)]

    def _thread(self, rows: Sequence[Row], choices: Choices) -> Recorded:
        events: list[Event] = []
        own: list[tuple[int, ...]] = []
        last: dict[str, int] = {}

        def read(place: str, order: str, scope: str, is_update: bool = False) -> int:
            own.append((last.get(place, 0),))
            value = choices[len(own) - 1] if len(own) <= len(choices) else own[-1][0]
            events.append(Event(Kind.READ, place, order, scope, value, is_update=is_update))
            return value

        def write(place: str, value: int, order: str, scope: str, needs: frozenset[int], is_update=False) -> None:
            last[place] = value
            events.append(Event(Kind.WRITE, place, order, scope, value, needs, is_update=is_update))

        for what, *about in rows:
            if what == "w":
                place, value, order, scope = about
                write(place, value, order, scope, frozenset())
            elif what == "r":
                place, register, order, scope = about
                value = read(place, order, scope)
                write(register, value, "weak", "cta", frozenset({len(events) - 1}))
            elif what == "copy":  # what it reads goes to another place
                place, other = about
                value = read(place, "relaxed", "gpu")
                write(other, value, "relaxed", "gpu", frozenset({len(events) - 1}))
            elif what == "add":
                place, register = about
                value = read(place, "relaxed", "gpu", True)
                needs = frozenset({len(events) - 1})
                write(place, value + 1, "relaxed", "gpu", needs, True)
                write(register, value, "weak", "cta", needs)
            elif what == "f":
                order, scope = about
                events.append(Event(Kind.FENCE, order=order, scope=scope))
            elif what == "bar":
                number, threads, how = about
                events.append(Event(Kind.BARRIER, number, how, threads=threads))
        return Recorded(Trace(tuple(events)), own)

    def outcomes(self) -> set[tuple[int, ...]]:
        """The values of the registers at the end, in the order of their names."""
        search = self.search()
        found = {tuple(v for p, v in each.final if p.startswith("o")) for each in search.outcomes() if not each.stuck}
        assert search.is_complete
        return found

    def search(self) -> Search:
        """All traces, ready to be combined."""
        explorer = Explorer(len(self.threads), self.run)
        traces = explorer.traces()
        assert explorer.is_complete
        return Search(traces, self.positions, lambda place: 0)

    def interleavings(self) -> set[tuple[int, ...]]:
        """The values of the registers after each order of the accesses, one after another; by trying all of them."""
        found: set[tuple[int, ...]] = set()

        def go(at: tuple[int, ...], memory: dict[str, int]) -> None:
            if all(n == len(rows) for n, rows in zip(at, self.threads)):
                found.add(tuple(v for p, v in sorted(memory.items()) if p.startswith("o")))
            for thread, n in enumerate(at):
                if n < len(self.threads[thread]):
                    now = dict(memory)
                    what, *about = self.threads[thread][n]
                    if what == "w":
                        now[about[0]] = about[1]
                    elif what == "r":
                        now[about[1]] = now.get(about[0], 0)
                    elif what == "copy":
                        now[about[1]] = now.get(about[0], 0)
                    elif what == "add":
                        now[about[1]] = now.get(about[0], 0)
                        now[about[0]] = now.get(about[0], 0) + 1
                    go((*at[:thread], n + 1, *at[thread + 1 :]), now)

        go(tuple(0 for _ in self.threads), {})
        return found


@pytest.fixture(scope="session")
def program() -> type[Program]:
    """The class of programs."""
    return Program
