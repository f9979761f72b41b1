"""Make environments and worktrees in separate processes, while another version runs.

`python -m harness.bisection.preparation` makes one: it reads the answer of Runs.preparation from standard input.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from harness.bisection import commits
from harness.host.environment import releases

ENDS_S = 10.0  # for a process to remove what it has half made
_MODULE = "harness.bisection.preparation"


class Preparations:
    """Processes by the label of their version."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._begun: set[str] = set()

    def begin(self, label: str, job: dict[str, Any] | None) -> None:
        """Make it in the background; nothing happens the second time."""
        if job is None or label in self._begun:
            return
        self._begun.add(label)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        )  # fmt: skip
        self._running[label] = process
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(job))
            process.stdin.close()
        except BrokenPipeError:
            pass  # the run of the version reports why it cannot be made

    def wait(self, label: str) -> None:
        """Return when the process of this version has ended. Whether it succeeded shows when the version runs."""
        process = self._running.pop(label, None)
        if process is None:
            return
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            self._note(f"{label}: its environment is being made")
            process.wait()

    def close(self) -> None:
        """End every process; each removes what it has half made."""
        for process in self._running.values():
            _signal(process, signal.SIGINT)
        for process in self._running.values():
            try:
                process.wait(ENDS_S)
            except subprocess.TimeoutExpired:
                _signal(process, signal.SIGKILL)
                process.wait()
        self._running.clear()


def _signal(process: subprocess.Popen[str], number: int) -> None:
    if process.poll() is None:
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass


def make(job: dict[str, Any]) -> None:
    """Make the environment or the worktree. Raises LinkDown, OSError."""
    if "tree" in job:
        commits.Tree(**job["tree"]).start()
        return
    released = releases.Released(job["compiler"], None, job["pins"])
    released.start(released.needs(job["needs"]))


def main() -> int:
    """Make what standard input describes."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background process ignores it
    try:
        make(json.load(sys.stdin))
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
