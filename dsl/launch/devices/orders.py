"""Why launches may do another thing in another order, by source line."""

from __future__ import annotations

from typing import Any

from dsl.core.trace import PROGRAMMATIC


class Orders:
    """Notes about the launches of a program; `reasons` are empty if one order speaks for all."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, str], dict[str, bool]] = {}  # by program and entry: sentences, and which are peeks
        self._streams: set[int] = set()
        self._others: dict[str, None] = {}
        self._has_variables = False
        self._failing: dict[str, Any] = {}  # programs whose peeks fail, by those they are made of
        self.peeks_fail = False

    def launch(self, program: Any, entry: str, launch: Any) -> None:
        """`program` is an emulator.Program, `launch` a protocol.Launch."""
        self._streams.add(launch.stream)
        self._has_variables |= bool(program.allocations())
        if launch.flags & PROGRAMMATIC:
            self._others[f"`{entry}` may begin before the launch ahead of it has ended"] = None
        if len(self._streams) == 2:
            self._others["launches are on several streams, whose order on a GPU is open"] = None
        if (program.sha256, entry) not in self._of:
            self._of[program.sha256, entry] = program.order_dependences(entry)

    @property
    def reasons(self) -> list[str]:
        """A sentence each."""
        return list(dict.fromkeys(each for rows in self._of.values() for each in rows) | self._others)

    @property
    def are_peeks(self) -> bool:
        """Whether all reasons are peeks at mbarriers, in programs without variables, which would start afresh."""
        is_plain = not self._others and not self._has_variables
        return is_plain and all(is_peek for rows in self._of.values() for is_peek in rows.values())

    def chosen(self, program: Any) -> Any:
        """The program to launch in place of one: while `peeks_fail`, one whose peeks at mbarriers fail."""
        if not self.peeks_fail:
            return program
        if program.sha256 not in self._failing:
            self._failing[program.sha256] = program.with_failing_peeks()
        return self._failing[program.sha256]
