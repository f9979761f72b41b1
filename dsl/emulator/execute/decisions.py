"""Schedules: which of a seed's decisions about who runs next are kept; in the place of the others threads run in turn.
Or the turns at which a warp pauses, until nothing else can move.

7                   all decisions of the seed 7
7: 0-4 19           six of them; they are numbered over all launches of a program
7:                  none: as without a seed, but threads give way before they touch memory that others see
pauses: 12 40       two pauses; turns of warps are numbered over all launches too
"""

from __future__ import annotations

import ctypes
import re
from typing import Any

from dsl.emulator.machine.numbers import DecisionList

MOST = 1 << 22  # decisions that a schedule can name
PAUSES = "pauses"
_TEXT = re.compile(r"\s*(\d+|pauses(?=:))\s*(?:(:)((?:\s+\d+(?:-\d+)?)*))?\s*\Z")


class BadSchedule(ValueError):
    """The text is not a schedule."""


class Decisions:
    """Native code and Python count decisions in the memory at `address`: see random.h."""

    def __init__(self, seed: int, kept: frozenset[int] | None = None, pauses: bool = False):
        """`kept`: the numbers of those that count; None: all. `pauses`: the seed chooses nothing then."""
        self.seed, self.kept, self.pauses = seed, kept, pauses
        size = MOST if kept is None else max(kept, default=-1) + 1
        head_bytes = ctypes.sizeof(DecisionList)
        self._memory = (ctypes.c_uint8 * (head_bytes + size))()
        self._head = DecisionList.from_buffer(self._memory)
        self._head.limit, self._head.pauses = size, pauses
        self._flags: Any = (ctypes.c_uint8 * size).from_buffer(self._memory, head_bytes) if size else b""
        if kept is None:
            ctypes.memset(self._flags, 1, size)
        for number in kept or ():
            self._flags[number] = 1
        self.address = ctypes.addressof(self._memory)

    @classmethod
    def of(cls, text: str) -> Decisions:
        """Those that a text names. Raises BadSchedule."""
        match = _TEXT.match(text)
        if match is not None and match[1] == PAUSES:
            return cls(1, frozenset(listed(match[3])), pauses=True)
        if match is None or not int(match[1]):
            raise BadSchedule(
                f"a schedule must be like `7`, `7: 0-4 19` or `pauses: 3`, with a seed above 0, got `{text.strip()}`"
            )
        if match[2] is None:
            return cls(int(match[1]))
        return cls(int(match[1]), frozenset(listed(match[3])))

    @property
    def taken(self) -> int:
        """How many decisions there were so far."""
        return self._head.taken

    def take(self) -> bool:
        """Whether the next decision of a seed counts; Python makes it."""
        if self.pauses:
            return False
        number = self._head.taken
        self._head.taken += 1
        return number < self._head.limit and bool(self._flags[number])

    def __str__(self) -> str:
        """The schedule with the numbers of the decisions that were taken."""
        kept = range(min(self.taken, MOST)) if self.kept is None else self.kept
        return f"{self.head}{spelled(kept)}".rstrip(" ")

    @property
    def head(self) -> str:
        """The text before the list."""
        return f"{PAUSES if self.pauses else self.seed}: "


def listed(text: str) -> set[int]:
    """The numbers of `0-4 19`. Raises BadSchedule for one that is too large."""
    kept: set[int] = set()
    for part in text.split():
        first, _, last = part.partition("-")
        if int(last or first) >= MOST:
            raise BadSchedule(f"a schedule must name decisions below {MOST}, got {part}")
        kept.update(range(int(first), int(last or first) + 1))
    return kept


def spelled(numbers) -> str:
    """Numbers as `0-4 19`."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)
