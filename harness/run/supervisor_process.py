"""A supervisor as a child process: starting it, its frames, ending it.

Agents on hosts use it too: standard library only, and Python 3.8.
"""

from __future__ import annotations

import selectors
import subprocess
import tempfile
import time
from typing import Any

from harness.run.frames import BadFrame, read_frame, write_frame

_END_S = 10.0
_SAID_BYTES = 4000


class SupervisorProcess:
    """A supervisor in a separate session, so that Ctrl-C reaches only this process. Messages call it `name`."""

    def __init__(
        self, argv: list, variables: dict[str, str], name: str, cwd: str | None = None, scratch: str | None = None
    ) -> None:
        self._name, self._ready = name, {}
        self._errors: Any = tempfile.TemporaryFile(dir=scratch)
        self._process: Any = subprocess.Popen(
            [*argv, "-P", "-m", "harness.run.supervisor"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._errors, bufsize=0, start_new_session=True, cwd=cwd, env=variables,
        )  # fmt: skip

    def ready(self, timeout_s: float | None = None) -> dict[str, Any]:
        """Its first frame, which tells its protocol. Raises as `read` does."""
        if not self._ready:
            self._ready = self.read(0, timeout_s)[0]
        return self._ready

    def write(self, header: dict[str, Any], buffers: Any = ()) -> None:
        """Send it a frame. Raises OSError."""
        write_frame(self._process.stdin.fileno(), header, buffers)

    def read(self, limit_bytes: int, timeout_s: float | None = None) -> tuple[dict[str, Any], list[bytes]]:
        """Its next frame. Raises BadFrame, also when it has ended, and TimeoutError after `timeout_s`."""
        stdout = self._process.stdout
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)

            def read(count: int) -> bytes:
                pieces = []
                while count:
                    if not selector.select(None if deadline is None else max(deadline - time.monotonic(), 0)):
                        raise TimeoutError(f"{self._name} did not answer within {timeout_s:g} s")
                    piece = stdout.read(min(count, 1 << 20))
                    if not piece:
                        break
                    pieces.append(piece)
                    count -= len(piece)
                return b"".join(pieces)

            frame = read_frame(read, limit_bytes)
        if frame is None:
            raise BadFrame(f"{self._name} ended")
        return frame

    def last_words(self) -> str:
        """Its stderr and how it ended, to append to an error."""
        try:
            ended = f" (exit status {self._process.wait(timeout=0.5)})"
        except subprocess.TimeoutExpired:
            ended = ""
        self._errors.seek(0)
        text = self._errors.read()[-_SAID_BYTES:].decode("utf-8", "replace").strip()
        return f"{ended}:\n{text}" if text else ended

    def close(self) -> None:
        """End it and all it started."""
        self._end()
        for file in (self._process.stdin, self._process.stdout, self._errors):
            file.close()

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
