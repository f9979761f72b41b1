"""A race as families' words are asked about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dsl.emulator.check.trail import Row
from dsl.emulator.diagnosis.between import Between
from dsl.emulator.diagnosis.edits.edit import Edit
from dsl.emulator.ptx.syntax import Instr


@dataclass(frozen=True)
class Race:
    """`mine` was stopped and races with `other`, each of a kind (check/access.py). `does`: what mine does and to which
    place; `did`: what the other one did; `who` made it. `at`: where the other one is; `here`: what mine comes after.
    `between`: what both threads did, of one block."""

    launch: Any
    mine: Instr
    other: Instr
    my_kind: int
    its_kind: int
    does: str
    did: str
    who: str
    at: str
    here: str
    between: Between | None

    def put(self, names: list[str], since: Row | None = None) -> Edit | None:
        """The edit that puts statements between both accesses of one block: see Between.put."""
        return self.between.put(names, since) if self.between is not None else None
