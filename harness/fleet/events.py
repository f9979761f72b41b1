"""What the engines of a run do, shown: lines of slots on a terminal, and what a person should know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.fleet.engine import Events, Task
from harness.fleet.slots import Slot

if TYPE_CHECKING:
    from harness.session import Session


class Shown(Events):
    """Tells the live lines of a session, where it has them."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def start(self, task: Task, slot: Slot) -> None:
        if self._session.live:
            self._session.live.start(_line(task, slot), slot.name)

    def end(self, task: Task, slot: Slot) -> None:
        if self._session.live:
            self._session.live.end(_line(task, slot))

    def note(self, text: str) -> None:
        self._session.notify(text)


def _line(task: Task, slot: Slot) -> str:
    """`p1:3  shuffle_width.py::width=8`"""
    name = str(task.key).rpartition("/")[2].removesuffix("::")
    return f"{slot.name}  {name}"
