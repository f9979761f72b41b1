"""The errors and warnings of a launch; dsl/emulator/diagnosis writes the texts."""

from __future__ import annotations

from dsl.exceptions import KernelFault
from dsl.span import Span


class Fault(KernelFault):
    """A kernel that stopped. `str(fault)` is the full report; `place` is the author's line where the PTX has one.

    kind: the outcome of an error in dsl/finding_kinds.py ("out_of_bounds", "race", ...); block, thread: (x, y, z).
    """

    def __init__(self, kind, block, thread, instruction, ptx_line, place: Span | None, text: str, finding=None):
        super().__init__(text)
        self.kind, self.block, self.thread = kind, block, thread
        self.instruction, self.ptx_line, self.place, self.finding = instruction, ptx_line, place, finding

    @property
    def repro_outcome(self) -> dict:
        outcome = self.kind if self.kind in ("trap", "deadlock") else "fault"
        file, line = (self.place.file, self.place.line) if self.place else (None, None)
        about = {"file": file, "line": line, "text": str(self), "finding": self.finding}
        return {"outcome": outcome, "kind": self.kind} | about


class KernelWarning(UserWarning):
    """A finding of the level "warning": the launch goes on, and no claim fails."""


class KernelNote(UserWarning):
    """A finding of the level "note"."""


class SameValueRace(KernelWarning):
    """Two threads write the same value to one place, from one line, and nothing orders them."""
