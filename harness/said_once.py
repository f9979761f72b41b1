"""A reason that holds for all cases is printed once."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.verdict import Verdict


class SaidOnce:
    """The texts of verdicts of one run, as printed: the reason why cases could not be run is printed with the first."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}  # text -> the first case that had it

    def shown(self, verdict: Verdict, name: str) -> Verdict:
        """The verdict with the text that is printed for the case `name`; the verdict itself is left as it is."""
        if verdict.status != "infra":
            return verdict
        first = self._first.setdefault(verdict.text, name)
        if first == name:
            return verdict
        return dataclasses.replace(verdict, text=f"could not be run, for the reason given at {first}")
