"""The cases that run now: on a terminal one live line for each slot, elsewhere a plain line now and then.

A slot is a place where one case runs at a time: this process, or one of its workers. The lines are below what pytest
prints, which goes through `Live.write`: it takes them away before and draws them again after.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

from harness.run.transport import Progress
from harness.terminal import one_line

REDRAW_S = 0.25
PLAIN_S = 30.0
NEWS_S = 15.0  # news of no slot is shown this long: what lasts is reported every ten seconds
_UNSEEN = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


class Live:
    """The lines of the slots. `fd` is the terminal or file itself, whatever captures standard output."""

    def __init__(self, fd: int, is_terminal: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._fd, self._is_terminal, self._clock = fd, is_terminal, clock
        self._lock = threading.RLock()
        self._slots: list[list[Any] | None] = []  # [name, phase, since, told at, slot's name] of each; None: free
        self.queues: Callable[[], list[str]] = list  # lines on what waits
        self._news, self._news_at = "", -NEWS_S  # of no slot: a job that waits, a copy to a host
        self._queues_told = clock()
        self._column = 0  # of the cursor in what pytest prints
        self._drawn = 0  # lines below it
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, name: str, slot: str = "") -> None:
        """A case begins in a free slot, or in the one of this name."""
        with self._lock:
            if None not in self._slots:
                self._slots.append(None)
            now = self._clock()
            self._slots[self._slots.index(None)] = [name, "", now, now, slot]
            self._begin()
            self._draw()

    def watch(self) -> None:
        """Show the queues from now on, also while no slot works."""
        with self._lock:
            self._begin()

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._tick, name="progress", daemon=True)
            self._thread.start()

    def phase(self, text: str) -> None:
        """Show the phase of the case in the slot that `text` begins with; a text without a slot has its own line.

        If slots have no names, it is the phase of the case that began last.
        """
        with self._lock:
            running = [slot for slot in self._slots if slot]
            named = [slot for slot in running if slot[4] and text.startswith(f"{slot[4]}: ")]
            if named:
                named[0][1] = text.removeprefix(f"{named[0][4]}: ")
            elif running and not any(slot[4] for slot in running):
                max(running, key=lambda slot: slot[2])[1] = text
            elif isinstance(text, Progress):  # anything else is printed
                self._news, self._news_at = text, self._clock()
            self._draw()

    def end(self, name: str) -> None:
        with self._lock:
            for number, slot in enumerate(self._slots):
                if slot and slot[0] == name:
                    self._slots[number] = None
                    break
            self._draw()

    def close(self) -> None:
        """Take the lines away; nothing is drawn any more."""
        self._end.set()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            self._clear()
            self._slots.clear()

    def write(self, text: str, file: TextIO) -> None:
        """Print what is not of this module."""
        with self._lock:
            self._clear()
            file.write(text)
            file.flush()
            shown = _UNSEEN.sub("", text)
            line = shown.rpartition("\n")[2]
            self._column = len(line.rpartition("\r")[2]) + (self._column if line == shown and "\r" not in line else 0)
            self._draw()

    def _tick(self) -> None:
        while not self._end.wait(REDRAW_S):
            with self._lock:
                self._draw()

    def _clear(self) -> None:
        if self._drawn:
            self._put("\x1b[J")  # all after the cursor
            self._drawn = 0

    def _draw(self) -> None:
        """Lines of the slots below the cursor, which stays where it is."""
        if not self._is_terminal:
            self._write_plain_lines()
            return
        self._clear()
        width, height = self._size()
        lines = [self._line(slot)[: width - 1] for slot in self._slots if slot]
        lines = [*(one_line(text)[: width - 1] for text in self._heads()), *lines][: height - 2]
        if lines and not self._end.is_set():
            column = min(self._column % width, self._column and width - 1)
            back = f"\x1b[{len(lines)}A\r" + (f"\x1b[{column}C" if column else "")
            self._put("".join(f"\r\n\x1b[2K{line}" for line in lines) + back)
            self._drawn = len(lines)

    def _heads(self) -> list[str]:
        """The lines above the lines of slots."""
        is_new = self._clock() - self._news_at < NEWS_S
        return [*self.queues(), *([f"    {self._news}"] if is_new else [])]

    def _write_plain_lines(self) -> None:
        """Write plain lines, one for each slot that has printed nothing for long."""
        now = self._clock()
        for slot in self._slots:
            if slot and now - slot[3] >= PLAIN_S:
                slot[3] = now
                self._put_line(self._line(slot))
        if now - self._queues_told >= PLAIN_S:
            self._queues_told = now
            for text in self._heads():
                self._put_line(one_line(text))

    def _put_line(self, text: str) -> None:
        self._put(("\n" if self._column else "") + text + "\n")
        self._column = 0

    def _line(self, slot: list[Any]) -> str:
        name, phase, since, *_ = slot
        return one_line(f"{self._clock() - since:6.0f} s  {name}" + (f"  {phase}" if phase else ""))

    def _size(self) -> tuple[int, int]:
        try:
            size = os.get_terminal_size(self._fd)
        except OSError:
            return 80, 24
        return max(size.columns, 20), max(size.lines, 3)

    def _put(self, text: str) -> None:
        try:
            os.write(self._fd, text.encode("utf-8", "replace"))
        except OSError:
            self._end.set()  # the terminal is gone


class Through:
    """A text file whose writing goes through a Live."""

    def __init__(self, file: TextIO, live: Live) -> None:
        self._file, self._live = file, live

    def write(self, text: str) -> int:
        self._live.write(text, self._file)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def of_pytest(config: Any, queues: Callable[[], list[str]]) -> Live | None:
    """The lines of what runs in pytest, unless the output is cut short (-q) or is not captured (-s)."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None or config.option.verbose < 0 or config.option.capture == "no":
        return None
    try:
        fd = os.dup(terminal._tw._file.fileno())
    except (AttributeError, OSError, ValueError):
        return None
    live = Live(fd, os.isatty(fd))
    live.queues = queues
    terminal._tw._file = Through(terminal._tw._file, live)
    config.add_cleanup(lambda: os.close(fd))
    config.add_cleanup(live.close)  # the last that is added is the first to run
    return live
