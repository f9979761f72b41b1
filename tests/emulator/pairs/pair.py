"""Two kernels that differ in a few lines: a mistake, and the kernel put right."""

from __future__ import annotations

from typing import NamedTuple

from dsl.emulator.faults import Fault
from tests.emulator.diagnosis.cured_programs import Program


class Pair(NamedTuple):
    """`kind`, `line` and `text`: of the finding in the wrong one. `edit`: the lines, marked as in cured_programs.py."""

    name: str
    kind: str
    line: int
    text: str
    edit: str
    block: int = 64
    grid: int = 1
    cluster: int = 1

    def fault(self, cured: bool) -> Fault | None:
        """The finding in one of both, at the default seed and with the default checks."""
        return Program(self.name, self.kind, "", self.edit, self.block, self.grid, self.cluster).fault(cured)
