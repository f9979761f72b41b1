"""A fix in words, with the edit that makes it where a single one is known."""

from __future__ import annotations

from typing import NamedTuple

INSERT_BEFORE, INSERT_AFTER, REPLACE = "insert_before", "insert_after", "replace"


class Edit(NamedTuple):
    """A change of one line. `file`: '' for the PTX text of the launch; `text`: whole lines with their indentation;
    `old`: what the line is now."""

    file: str
    line: int
    kind: str
    text: str
    old: str


class Fix(str):
    """The words of a fix; `edit` is None where no single edit is known."""

    edit: Edit | None

    def __new__(cls, words: str, edit: Edit | None = None) -> Fix:
        self = super().__new__(cls, words)
        self.edit = edit
        return self

    def more(self, words: str) -> Fix:
        """The fix with these words at its end, and the same edit."""
        return Fix(f"{self}{words}", self.edit)


def of(fix: str) -> Edit | None:
    """The edit of a fix."""
    return fix.edit if isinstance(fix, Fix) else None
