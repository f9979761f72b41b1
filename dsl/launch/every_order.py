"""Other orders of a program's threads: whether there are any that matter, and what the program does in them.

If no instruction's effect depends on the order (dsl/emulator/families/order_dependence.py), one run speaks for all.
Else the program runs in one order after another, in a separate process, until one shows a finding or other outputs, or
the time is over. Seeds and pauses take turns. A seed chooses at every step who runs. Pauses are few: threads run in
turn, and one to MOST_PAUSES times a warp stops until nothing else moves (delay bounding: Emmi, Qadeer and Rakamaric,
POPL 2011; few ordering constraints are enough for most mistakes: Burckhardt et al., ASPLOS 2010). The decisions of the
order that was found are left out as long as it still shows the same (delta debugging; Zeller and Hildebrandt, IEEE
Transactions on Software Engineering 28(2), 2002).
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dsl.launch.devices import forked
from dsl.launch.devices.forked import SAME
from dsl.launch.devices.orders import Orders

OUTPUTS, FINDING = "outputs", "finding"
_AGAIN = "again"  # it gives other outputs in the same order
_MOST_SEEDS = 1 << 20  # of one search
MOST_PAUSES = 3  # of one order
_GRACE_S = 2.0  # for a process to end by itself


@dataclass
class Tried:
    """The results of other orders: how many ran, the first included, and why they are not all (empty: the first speaks
    for all). `schedule` is the shortest one found that shows `what`: a finding, or other outputs."""

    tried: int = 1
    reasons: list[str] = field(default_factory=list)
    what: str = SAME
    schedule: str = ""


class Search:
    """`session` is the session.Session of the program. `call()` runs it and gives a key of its outputs, or raises;
    `first` is the key of the first run. `kind` names the kind of what was raised: a shorter schedule must show it."""

    def __init__(
        self, session: Any, orders: Orders, call: Callable[[], Any], first: Any, kind: Callable[[BaseException], str]
    ):
        self.session, self.orders, self.call, self.first, self.kind = session, orders, call, first, kind

    def run(self, seconds: float, seed: int) -> Tried:
        """Try seeds from `seed` on, for this many `seconds`; at most as many again go into a shorter schedule."""
        found = Tried(reasons=self.orders.reasons)
        if found.reasons and self.orders.are_peeks and self._is_same_without_peeks(seconds):
            return Tried(tried=2)
        if not found.reasons:
            return found
        end = time.monotonic() + seconds
        for row in forked.rows(lambda: self._by_seeds(seed), end):
            if row[0] == _AGAIN:
                found.reasons.append("the program gives other outputs if it is called again in the same order")
                break
            found.tried += 1
            if row[0] != SAME:
                found.what, found.schedule = row[0], self._shortened(row, time.monotonic() + seconds)
        return found

    def _is_same_without_peeks(self, seconds: float) -> bool:
        """Whether all peeks at mbarriers may fail, and each of them only spares its thread the wait after it."""

        def rows() -> Iterator[list[str]]:
            self.orders.peeks_fail = True
            self.session.schedule(0)
            yield [SAME if self.call() == self.first else OUTPUTS]

        return next(forked.rows(rows, time.monotonic() + seconds), [FINDING])[0] == SAME

    def _by_seeds(self, seed: int) -> Iterator[list[str]]:
        draw, turns = random.Random(seed), 0
        for number in range(seed, seed + _MOST_SEEDS):
            yield self._told(str(number))
            yield self._told(_paused(draw, turns))
            turns = max(turns, self.session.turns)

    def _told(self, schedule: str) -> list[str]:
        row = self._row(schedule)
        if row[0] == OUTPUTS:
            self.session.schedule(0)
            row[0] = OUTPUTS if self.call() == self.first else _AGAIN
        return row

    def _row(self, schedule: str) -> list[str]:
        """The end of a run by the schedule: `SAME` or another, the kind, and the decisions that were taken."""
        self.session.follow(schedule)
        try:
            what, kind = (SAME if self.call() == self.first else OUTPUTS), ""
        except Exception as error:
            what, kind = FINDING, self.kind(error)
        return [what, kind, self.session.followed]

    def _shortened(self, row: list[str], end: float) -> str:
        """The schedule of a row with fewer decisions, which shows the same."""
        rows = forked.rows(lambda: iter([[self._shortest(row, end)]]), end + _GRACE_S)
        return next(rows, [row[2]])[0]

    def _shortest(self, row: list[str], end: float) -> str:
        """The same, in a process that has compiled what its own processes run."""
        from dsl.emulator.execute.decisions import listed, spelled

        seed, _, decisions = row[2].partition(":")
        kept = sorted(listed(decisions))
        self._row(row[2])

        def shows(numbers: list[int]) -> bool:
            text = f"{seed}: {' '.join(map(str, numbers))}"
            mine = next(forked.rows(lambda: iter([self._row(text)]), end), None)
            return mine is not None and mine[:2] == row[:2]

        pieces = 1
        while kept and time.monotonic() < end:
            size = -(-len(kept) // pieces)
            starts = range(0, len(kept), size)
            shorter = next((rest for i in starts if shows(rest := kept[:i] + kept[i + size :])), None)
            if shorter is not None:
                kept, pieces = shorter, max(pieces - 1, 1)
            elif size == 1:
                break
            else:
                pieces = min(2 * pieces, len(kept))
        return f"{seed}: {spelled(kept)}".rstrip(" ")


def _paused(draw: random.Random, turns: int) -> str:
    """A schedule of some pauses among so many turns of warps."""
    from dsl.emulator.execute.decisions import PAUSES, spelled

    most = min(MOST_PAUSES, turns)
    return f"{PAUSES}: {spelled(draw.sample(range(turns), draw.randint(min(1, most), most)))}"


class Standby:
    """A process that is as this one is now; `holds` lets it go on, with all peeks at mbarriers failing."""

    def __init__(self, orders: Orders, work: Callable[[], bool]):
        """`work()` runs the program there, and tells whether it went well and did as it did before."""
        self.orders = orders
        (start, self._go), (self._answer, writing) = os.pipe(), os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._go)
            forked.tell(lambda: self._rows(start, work), self._answer, writing)
        os.close(start)
        os.close(writing)

    def _rows(self, start: int, work: Callable[[], bool]) -> Iterator[list[str]]:
        if os.read(start, 1):
            self.orders.peeks_fail = True
            yield [SAME if work() else OUTPUTS]

    def holds(self) -> Tried:
        """The results of other orders, once this process has run the program."""
        found = Tried(reasons=self.orders.reasons)
        if found.reasons and self.orders.are_peeks:
            os.write(self._go, b".")
            if os.read(self._answer, forked.MOST_LINE).strip() == json.dumps([SAME]).encode():
                found = Tried(tried=2)
        return found

    def close(self) -> None:
        os.close(self._go)
        os.close(self._answer)
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
