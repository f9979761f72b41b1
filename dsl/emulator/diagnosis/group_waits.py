"""Groups of copies and products that a thread commits and waits for: what the waits that are there leave on its way."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dsl.emulator.check.trail import Row
from dsl.emulator.diagnosis.edits import propose
from dsl.emulator.diagnosis.edits.edit import Fix
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.ptx.traits import COPY, MBARRIER


class Family(NamedTuple):
    """The instructions that commit and wait for groups of one kind of instruction."""

    trait: int  # of the instruction, its commits and its waits
    is_bulk: bool
    commit: str
    wait: str
    commits: str  # the statement that commits

    def has(self, instr: Instr, what: str) -> bool:
        return bool(instr.traits & self.trait) and ("bulk" in instr.mods) == self.is_bulk and what in instr.mods


CP_ASYNC = Family(COPY, False, "cp.async.commit_group", "cp.async.wait_group", "commit of copies")


class Waits:
    """The commits and waits of a thread for an instruction, from the `rows` after it; `place` names the line of one."""

    def __init__(self, family: Family, launch, rows: list[Row], place: Callable[[Row], str]):
        self.family, self.place, self.launch, sites = family, place, launch, launch.code.sites
        self.rows = [row for row in rows if sites[row.site].traits & family.trait]
        self.commits = [row for row in self.rows if family.has(sites[row.site], "commit_group")]
        alls = [row for row in self.rows if family.has(sites[row.site], "wait_all")]
        self.waits = [row for row in self.rows if family.has(sites[row.site], "wait_group")] + alls
        self._all = alls
        self.signal = next((row for row in self.rows if sites[row.site].traits & MBARRIER), None)
        self.last = max(self.waits, key=self.rows.index, default=None)

    @property
    def is_committed(self) -> bool:
        return bool(self.commits)

    @property
    def done(self) -> Row | None:
        """The first wait that left nothing of it on its way."""
        for wait in sorted(self.waits, key=self.rows.index):
            if wait in self._all or wait.value < self._committed_before(wait):
                return wait
        return None

    @property
    def most(self) -> int:
        """The most groups that a wait now may leave."""
        return max(len(self.commits) - 1, 0)

    def _committed_before(self, wait: Row) -> int:
        return sum(self.rows.index(each) < self.rows.index(wait) for each in self.commits)

    def why_not(self, line: str) -> Fix | None:
        """Why the waits that there are do not count, and the fix; None where there are none. `line` of the
        instruction."""
        if self.last is None:
            return None
        committed = self._committed_before(self.last)
        at, family = self.place(self.last), self.family
        wait = self.launch.code.sites[self.last.site]
        if not committed:
            return Fix(
                f"commit what {line} begins ({family.commit}) before the wait at {at}, which is for groups that were "
                "committed",
                propose.right_before(self.launch, family.commits, wait),
            )
        left = committed - 1
        text = (
            f"write {family.wait} {left} at {at}: {self.last.value} leaves the last {self.last.value} groups on their "
            f"way, and {'only one was' if committed == 1 else f'{committed} were'} committed from {line} on"
        )
        edit = propose.number(self.launch, wait, self.last.value, left)
        if family is not CP_ASYNC:
            return Fix(text, edit)
        return Fix(
            f"{text}. If this is so in the last rounds alone, commit a group in each round, also an empty one", edit
        )
