"""A property that also asks for the cause: an edit, which cures the start, must cure each smaller program too."""

from __future__ import annotations

from dataclasses import dataclass

from harness.errors import UsageError
from harness.reduction.candidates import python_shape
from harness.reduction.properties import Command, Property, Seen

CURED_S = 60.0  # a program that fails early may take longer where it does not fail


@dataclass(frozen=True)
class SeenOf(Seen):
    """What was observed of the text `program`."""

    program: str = ""


class Cured:
    """That a program has a property, and has it no more where each `old` in it becomes `new`."""

    def __init__(self, kept: Property, edit: str) -> None:
        """`edit`: `OLD => NEW`. Raises UsageError."""
        self.kept, (old, arrow, new) = kept, edit.partition("=>")
        self.old, self.new = old.strip(), new.strip()
        if not arrow or not self.old:
            raise UsageError(f'--cured-by "{edit}" is no edit\nfix: write --cured-by "OLD => NEW"')
        if isinstance(kept, Command):
            raise UsageError("--cured-by does not go with --keep command\nfix: let the command make the edit too")
        self.about, self.timeout_s, self._cured = kept.about, kept.timeout_s, ""

    def shape(self, text: str) -> str:
        """As of Candidates: parentheses that mean nothing may be a part of `old`."""
        return f"{text.count(self.old)} {python_shape(text)}"

    def see(self, text: str) -> Seen:
        self.kept.timeout_s = self.timeout_s
        return self._of(text, self.kept.see(text))

    def hurry(self, start: Seen | None) -> None:
        self.kept.hurry(start)

    def confirm(self, text: str, seen: Seen) -> Seen:
        return self._of(text, self.kept.confirm(text, seen))

    def executed(self, text: str) -> frozenset[int]:
        """Also what runs where the edit is made: it must go on to run."""
        return self.kept.executed(text) | self.kept.executed(text.replace(self.old, self.new))

    def refuse(self, start: Seen) -> str:
        return self.kept.refuse(start) or self._uncured(start)

    def differs(self, seen: Seen, before: Seen) -> str:
        return self.kept.differs(seen, before) or self._uncured(seen)

    def _of(self, text: str, seen: Seen) -> SeenOf:
        return SeenOf(seen.about, seen.problem, seen.seconds, seen.text, seen.is_stopped, seen.lines, program=text)

    def _uncured(self, seen: Seen) -> str:
        """Why the edit does not cure the program, or ''."""
        assert isinstance(seen, SeenOf)
        if self.old not in seen.program:
            return f"it has not `{self.old}`"
        if self._cured != seen.program:  # asked twice of the same text: in a hurry, and to confirm it
            self.kept.timeout_s = max(self.timeout_s, CURED_S)
            cured = self.kept.see(seen.program.replace(self.old, self.new))
            self.kept.timeout_s = self.timeout_s
            if cured.problem or not self.kept.refuse(cured):
                return "the edit does not cure it"
            self._cured = seen.program
        return ""

    def close(self) -> None:
        self.kept.close()
