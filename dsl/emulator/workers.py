"""Threads that run native code for launches. They wait for the next launch instead of ending."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

VARIABLE = "GPU_REPRO_WORKERS"
GRACE_S = 200e-6  # a launch that is over by then wakes no second worker


def count() -> int:
    """How many threads may run the blocks of one launch: GPU_REPRO_WORKERS, or the CPUs of this process.

    Raises ValueError where the variable is no whole number from 1 on.
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
        self._job: Callable[[], None] | None = None
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
os.register_at_fork(after_in_child=_idle.clear)  # threads stay behind in the parent


def begin(job: Callable[[], None]) -> None:
    """Run `job` in a thread of its own. It must not raise."""
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    worker.begin(job)
