"""Threads for launches: some run native code in addition to the thread that launches, and one keeps time.

A launch runs in the thread that makes it, which hears no signal meanwhile. So that Ctrl-C is heard in every kernel, a
thread that keeps time has it ask Python every few milliseconds. Threads wait for the next launch instead of ending.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

VARIABLE = "GPU_REPRO_WORKERS"
MANY = 1 << 20  # PTX instructions, loops run once, of a launch whose other workers begin at once
LONG_S = 400e-6  # if the last launch of a kernel took this long, the other workers of the next begin at once too
TICK_S = 2e-3  # a launch is long from its second tick on
IDLE_TICKS = 50  # without a launch, and then time is no longer kept


def count() -> int:
    """How many threads may run the blocks of one launch: GPU_REPRO_WORKERS, or the CPUs of this process.

    Raises ValueError where the variable is not a whole number from 1 on.
    """
    text = os.environ.get(VARIABLE, "")
    if not text:
        return len(os.sched_getaffinity(0))
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{VARIABLE}={text}: expected a number of threads, 1 or more")
    return int(text)


class _Worker:
    def __init__(self) -> None:
        self._wake = threading.Lock()
        self._wake.acquire()
        self._job: Any = None  # a Callable[[], None] while there is one
        threading.Thread(target=self._serve, name="emulator", daemon=True).start()

    def begin(self, job: Callable[[], None]) -> None:
        self._job = job
        self._wake.release()

    def _serve(self) -> None:
        while True:
            self._wake.acquire()
            job, self._job = self._job, None
            job()
            del job
            _idle.append(self)


_idle: list[_Worker] = []


def begin(job: Callable[[], None]) -> None:
    """Run `job` in a separate thread. It must not raise."""
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    worker.begin(job)


class Crew:
    """Jobs of one launch in separate threads."""

    def __init__(self) -> None:
        self.begun: list[threading.Lock] = []  # of each job; released when it has ended

    def begin(self, job: Callable[[], None]) -> None:
        """Run one more. It must not raise."""
        ended = threading.Lock()
        ended.acquire()

        def work() -> None:
            job()
            ended.release()

        self.begun.append(ended)
        begin(work)

    def wait(self) -> None:
        """Until all that began have ended. Signals are heard."""
        for ended in list(self.begun):
            with ended:
                pass


class _Clock:
    """The thread that keeps time while there are launches."""

    def __init__(self) -> None:
        self.launches: dict[int, Any] = {}
        self._asleep, self._wake, self._started = False, threading.Lock(), False
        self._wake.acquire()

    def add(self, launch) -> None:
        self.launches[id(launch)] = launch
        if not self._started:
            self._started = True
            threading.Thread(target=self._keep_time, name="emulator clock", daemon=True).start()
        elif self._asleep:
            self._asleep = False
            try:
                self._wake.release()
            except RuntimeError:  # another launch has
                pass

    def remove(self, launch) -> None:
        self.launches.pop(id(launch), None)

    def _keep_time(self) -> None:
        idle, before = 0, set()
        while True:
            time.sleep(TICK_S)
            now = set(self.launches.values())
            for launch in now & before:
                launch.tick()
            idle, before = 0 if now else idle + 1, now
            if idle > IDLE_TICKS:
                self._asleep = True
                if self.launches:
                    self._asleep = False
                else:
                    self._wake.acquire()
                idle = 0


_clock = _Clock()


def watch(launch) -> None:
    """Until `unwatch`, `launch.tick()` is called every few milliseconds from another thread."""
    _clock.add(launch)


def unwatch(launch) -> None:
    """Take `watch` back; of a launch that is not watched, nothing."""
    _clock.remove(launch)


def _after_fork() -> None:
    global _clock
    _idle.clear()  # the threads exist only in the parent
    _clock = _Clock()


os.register_at_fork(after_in_child=_after_fork)
