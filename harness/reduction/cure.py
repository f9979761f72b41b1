"""A property that also asks for the cause: an edit, which cures the start, must cure each smaller program too."""

from __future__ import annotations

from dataclasses import dataclass

from harness.errors import UsageError
from harness.reduction.candidates import python_shape
from harness.reduction.properties import Command, Property, Seen

CURED_S = 60.0  # a program that fails early may take longer where it does not fail


@dataclass(frozen=True)
class SeenOf(Seen):
    """The observation of the text `program`; `is_full`: with nothing left out."""

    program: str = ""
    is_full: bool = False


class Cured:
    """That a program has a property, and does nothing wrong if each `old` in it becomes `new`.

    The second is tested if the first was confirmed, with all checks: an edit that ends a deadlock and leaves a race
    is not a cure.
    """

    def __init__(self, kept: Property, edit: str) -> None:
        """`edit`: `OLD => NEW`. Raises UsageError."""
        self.kept, (old, arrow, new) = kept, edit.partition("=>")
        self.old, self.new = old.strip(), new.strip()
        if not arrow or not self.old:
            raise UsageError(f'--cured-by "{edit}" is not an edit\nfix: write --cured-by "OLD => NEW"')
        if isinstance(kept, Command):
            raise UsageError("--cured-by does not go with --keep command\nfix: let the command make the edit too")
        self.about, self.timeout_s = kept.about, kept.timeout_s

    def shape(self, text: str) -> str:
        """As of Candidates: parentheses that mean nothing may be a part of `old`."""
        return f"{text.count(self.old)} {python_shape(text)}"

    def see(self, text: str) -> Seen:
        self.kept.timeout_s = self.timeout_s
        return self._of(text, self.kept.see(text), False)

    def hurry(self, start: Seen | None) -> None:
        self.kept.hurry(start)

    def confirm(self, text: str, seen: Seen | None = None) -> Seen:
        return self._of(text, self.kept.confirm(text, seen), True)

    def executed(self, text: str) -> frozenset[int]:
        """Also what runs where the edit is made: it must go on to run."""
        return self.kept.executed(text) | self.kept.executed(text.replace(self.old, self.new))

    def refuse(self, start: Seen) -> str:
        return self.kept.refuse(start) or self._uncured(start)

    def differs(self, seen: Seen, before: Seen) -> str:
        assert isinstance(seen, SeenOf)
        return self.kept.differs(seen, before) or (self._uncured(seen) if seen.is_full else "")

    def _of(self, text: str, seen: Seen, is_full: bool) -> SeenOf:
        return SeenOf(seen.about, seen.problem, seen.seconds, seen.text, seen.is_stopped, seen.lines, text, is_full)

    def _uncured(self, seen: Seen) -> str:
        """Why the edit does not cure the program, or ''."""
        assert isinstance(seen, SeenOf)
        if self.old not in seen.program:
            return f"it has not `{self.old}`"
        self.kept.timeout_s = max(self.timeout_s, CURED_S)
        cured = self.kept.confirm(seen.program.replace(self.old, self.new))
        self.kept.timeout_s = self.timeout_s
        return "the edit does not cure it" if cured.problem or not self.kept.refuse(cured) else ""

    def close(self) -> None:
        self.kept.close()
