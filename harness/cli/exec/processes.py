"""A program and all that it starts: run, waited for, and ended with it."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from harness.run.supervisor import kill_descendants

TIME_IS_OVER, INTERRUPTED, BY_SIGNAL = 124, 130, 128
_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE_S = 5.0  # after Ctrl-C, for the program to end by itself


def run(command: Sequence[str], environment: Mapping[str, str], timeout_s: float | None, output: int | None) -> int:
    """The exit status of a program: its own, 128 and the number of a signal that ended it, 124 after the timeout, 130
    after Ctrl-C, which the program gets too. `output`: a file descriptor in place of standard output.

    Processes that it started and that still run are killed.
    """
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    process = subprocess.Popen(command, env=dict(environment), stdout=output)
    try:
        status = process.wait(timeout_s)
        return BY_SIGNAL - status if status < 0 else status
    except subprocess.TimeoutExpired:
        print(f"repro: stopped after {timeout_s:g} s (--timeout)", file=sys.stderr)
        return TIME_IS_OVER
    except KeyboardInterrupt:
        _wait_for_end(process)
        return INTERRUPTED
    finally:
        kill_descendants()


def _wait_for_end(process: subprocess.Popen) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    end = time.monotonic() + _PATIENCE_S
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    signal.signal(signal.SIGINT, before)
