"""Why launches may do another thing in another order, by source line."""

from __future__ import annotations

from typing import Any

from dsl.core.trace import PROGRAMMATIC
from dsl.launch.devices.protocol import Launch


class Orders:
    """What is noted of the launches of a program; `reasons` are empty if one order speaks for all."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, str], list[str]] = {}
        self._streams: set[int] = set()
        self._overlaps: dict[str, None] = {}

    def launch(self, program: Any, entry: str, launch: Launch) -> None:
        self._streams.add(launch.stream)
        if launch.flags & PROGRAMMATIC:
            self._overlaps[f"`{entry}` may begin before the launch ahead of it has ended"] = None
        if (program.sha256, entry) not in self._of:
            self._of[program.sha256, entry] = program.order_dependences(entry)

    @property
    def reasons(self) -> list[str]:
        """A sentence each."""
        rows = dict.fromkeys(each for rows in self._of.values() for each in rows) | self._overlaps
        if len(self._streams) > 1:
            rows[f"launches are on {len(self._streams)} streams, whose order on a GPU is open"] = None
        return list(rows)
