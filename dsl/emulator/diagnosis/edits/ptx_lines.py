"""The spots between two lines of a PTX text, by its labels and the branches to them."""

from __future__ import annotations

import re

from dsl.emulator.diagnosis.edits.statements import Spot

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LABEL = re.compile(r"([\w$%]+)\s*:(?!:)")
_BRANCH = re.compile(r"\bbra(?:\.uni)?\s+([\w$%]+)")


class PtxLines:
    """The branches of a text as (line, line of the label)."""

    def __init__(self, text: str):
        plain = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
        self.lines = plain.splitlines()
        places = [(number, line) for number, line in enumerate(self.lines, 1) if not line.lstrip().startswith(".")]
        self._labels = {match[1]: number for number, line in places for match in _LABEL.finditer(line)}
        self._branches = [
            (number, self._labels[match[1]])
            for number, line in places
            for match in _BRANCH.finditer(line)
            if match[1] in self._labels
        ]

    def after(self, first: int, second: int) -> Spot | None:
        """After the line `first` and before the line `second`, where all threads come by if there is such a line."""
        spots = range(first, second)
        found = next((line for line in spots if not self._is_jumped_over(line)), first)
        return self._spot(found) if spots else None

    def before(self, first: int, second: int) -> Spot | None:
        """Right before the line `second`, if no branch leads to it."""
        return None if first == second or second in self._labels.values() else self._spot(second - 1)

    def end_of_round(self, first: int, second: int) -> Spot | None:
        """After the lower one of both lines, before the innermost loop that has them goes back."""
        low, high = min(first, second), max(first, second)
        back = min((line for line, label in self._branches if label <= low and line > high), default=0)
        return self.after(high, back) if back else None

    def at_statement(self, line: int, is_before: bool) -> Spot | None:
        """Right before, or right after, a line."""
        return self.before(0, line) if is_before else self._spot(line)

    def end_of_function(self, line: int) -> Spot | None:
        """Before the first return after a line that all threads come to."""
        ends = (number for number in range(line + 1, len(self.lines) + 1) if "ret;" in self.lines[number - 1])
        end = next(ends, None)
        if end is None:
            return None
        return self.before(line, end) if end not in self._labels.values() else None

    def _spot(self, line: int) -> Spot:
        return Spot(line, False, line, self._is_jumped_over(line))

    def _is_jumped_over(self, spot: int) -> bool:
        """Whether a branch goes from before the end of a line to a later one."""
        return any(line <= spot < label for line, label in self._branches)
