"""Display of the engines of a run: lines of slots on a terminal, and messages for a person."""

from __future__ import annotations

from typing import Any, Protocol

from harness.fleet.engine import Events, Task
from harness.fleet.slots import Slot


class Screen(Protocol):
    """Shows it: the live lines of a run, if it has them, and sentences for a person."""

    live: Any

    def notify(self, text: str) -> None: ...


class Shown(Events):
    """Tells a screen what the engines of a run do."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def start(self, task: Task, slot: Slot) -> None:
        if self._screen.live:
            self._screen.live.start(_line(task, slot), slot.name)

    def end(self, task: Task, slot: Slot) -> None:
        if self._screen.live:
            self._screen.live.end(_line(task, slot))

    def note(self, text: str) -> None:
        self._screen.notify(text)


def _line(task: Task, slot: Slot) -> str:
    """`p1:3  shuffle_width.py::width=8`"""
    name = str(task.key).rpartition("/")[2].removesuffix("::")
    return f"{slot.name}  {name}"
