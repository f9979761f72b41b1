"""Why a script is not adopted."""

from __future__ import annotations

from harness.errors import UsageError


class NotAdopted(UsageError):
    """The script cannot become a repro as it is; the text names the reason and the fix."""


def at(path: object, line: int, why: str, fix: str) -> NotAdopted:
    """The refusal of something at a line of the script."""
    return NotAdopted(f"{path}:{line}: {why}\nfix: {fix}")
