"""Slots, and where they come from. A slot is a place where one case runs at a time: a GPU of a host.

A provider brings slots up (a host over SSH one for each GPU that was named, a cluster one for each GPU that it lends)
and offers them to a desk. The desk (engine.py) gives every slot a thread and hands it cases. A slot's transport
reports a failure by the exception that it raises:

    LinkDown                the slot is lost, with whatever ran. The case goes to a slot of another place; one that
                            was running in two losses is not run a third time
    Recalled                the slot was taken back by who lends it. The case is not to blame, and runs elsewhere
    Declined, not started   this place cannot run the case (no environment, no disk). It goes to another place
    Declined, started       the case was begun, and its supervisor ended: infra, not tried again
    GpuBusy                 another run holds the GPU. The case goes back; the slot asks again a little later
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from harness.host.hosts import Host
from harness.run.transport import LinkDown, Transport


class Recalled(LinkDown):
    """The slot was taken back: a time limit, a preemption. The text names the cause."""


class GpuBusy(Exception):
    """Another run holds the slot's GPU; the text names that run."""


def _gone() -> None:
    raise LinkDown("it does not come back")


@dataclass(eq=False)
class Slot:
    """A place where one case runs at a time.

    `name` is for people (`p1:3`) and in no id. `place` is what is lost together: a host, an allocation. `host` is for
    the record: its name, and in its device_facts the GPU with its UUID. `revive` brings a lost slot back, or raises
    LinkDown if it is gone for good.
    """

    name: str
    place: str
    host: Host
    transport: Transport
    revive: Callable[[], None] = _gone


class Desk(Protocol):
    """Who takes slots. Every method may be called from any thread."""

    def offer(self, slot: Slot) -> None:
        """Hand the slot cases from now on, until its transport reports that it is lost."""

    def withdraw(self, slot: Slot) -> None:
        """The slot is handed no further case; one that it runs now goes on."""

    def unfinished(self) -> int:
        """How many cases wait or run: more slots than that are of no use."""
        ...

    def note(self, text: str) -> None:
        """Tell a person; a transport.Progress only replaces the one before."""


class Provider(Protocol):
    """A source of slots. `name` is how it was asked for: `p1:0-7`."""

    name: str

    def open(self, desk: Desk) -> None:
        """Bring slots up and offer them, in a separate thread; return when no more will come.

        Raises LinkDown if there are none: the text names the reason, and what to do.
        """

    def close(self) -> None:
        """Let go of everything at once: connections, jobs, what runs. From another thread; may be called twice."""
