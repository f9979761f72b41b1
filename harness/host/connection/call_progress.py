"""The progress of a call, reported after two seconds, and then every ten."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from harness.run.transport import Progress
from harness.terminal import say

TELL_AFTER_S, TELL_EVERY_S = 2.0, 10.0
Note = Callable[[str], None] | None
_PHASES = {"job": "starting", "put": "checking what was copied", "device": "asking for its GPU", "doctor": "looking"}


class Clock:
    """Tells what lasts: after TELL_AFTER_S, and then every TELL_EVERY_S. `text` takes the seconds."""

    def __init__(self, text: Callable[[float], str], name: str, note: Note) -> None:
        self._text, self._name, self._note = text, name, note
        self.restart()

    def restart(self, is_talking: bool = False) -> None:
        """`is_talking`: something else has just reported, and does so every TELL_EVERY_S while it lasts."""
        self._began = time.monotonic()
        self._next = self._began + TELL_AFTER_S + (TELL_EVERY_S if is_talking else 0)

    def wait_s(self) -> float:
        """The time until the next report is due."""
        return max(self._next - time.monotonic(), 0.01)

    def tell(self) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + TELL_EVERY_S
            if self._note:
                self._note(Progress(f"{self._name}: {self._text(now - self._began)}"))


@contextlib.contextmanager
def telling(name: str, about: str) -> Iterator[None]:
    """Print on standard error how long this lasts. `name`: the file; `about`: what is done with it."""
    clock = Clock(lambda seconds: f"{about} ({seconds:.0f} s)", name, lambda line: say(line, file=sys.stderr))
    is_over = threading.Event()

    def tell() -> None:
        while not is_over.wait(clock.wait_s()):
            clock.tell()

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        is_over.set()
        teller.join()


class Talk:
    """The reports of one call while it lasts."""

    def __init__(self, header: dict[str, Any], name: str, note: Note) -> None:
        self.is_running = False
        self.started: Callable[[], None] = lambda: None  # called when the repro's process is there
        self._name, self._note, self._phase = name, note, _PHASES.get(str(header.get("kind")), "at work")
        self.clock = Clock(lambda seconds: f"{self._phase} ({seconds:.0f} s)", name, note)

    def tell(self, text: str) -> None:
        if self._note:
            self._note(f"{self._name}: {text}")
        self.clock.restart(is_talking=True)

    def start(self) -> None:
        """The repro's process is there."""
        self.is_running, self._phase = True, "running"
        self.clock.restart()
        self.started()
