"""This side of a program that is run live: what it prints comes out here as it comes, what is typed here goes there.

Ctrl-C interrupts the program and lets it end by itself; a second one ends it at once. Standard library only.
"""

from __future__ import annotations

import codecs
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from harness.run.frames import MOST_INPUT_BYTES
from harness.terminal import OutputFailed, printable_with_colours, put

Send = Callable[[dict[str, Any], Sequence[bytes]], None]
STDOUT, STDERR = 1, 2


class OutputGone(Exception):
    """Nothing takes the program's output here; the cause is the OutputFailed or the BrokenPipeError.

    It is not an OSError, because a transport takes an OSError for a link that is down.
    """


class Console:
    """Prints and reads for one program after another. `stdin`: a file descriptor; None: there is nothing to read.

    Use it as a context manager in the main thread: inside, Ctrl-C goes to the program.
    """

    def __init__(self, stdin: int | None, stdout: TextIO | None = None, stderr: TextIO | None = None) -> None:
        self._outs = {STDOUT: stdout or sys.stdout, STDERR: stderr or sys.stderr}
        self._decoders = {number: codecs.getincrementaldecoder("utf-8")("replace") for number in self._outs}
        self._stdin = stdin
        self._send: Send | None = None
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        self._may_send = threading.Event()
        self._interrupts, self._is_closed, self._is_gone = 0, False, False
        self._handler: Any = None
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> Console:
        self._handler = signal.signal(signal.SIGINT, self._on_ctrl_c)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._handler)
        self._is_closed = True
        self._wake()

    @property
    def was_interrupted(self) -> bool:
        return self._interrupts > 0

    # --- what a transport calls ---------------------------------------------------------------------------------

    def begin(self, send: Send) -> None:
        """A program starts; `send` takes frames for it."""
        self._send = send
        self.more()

    def take(self, header: dict[str, Any], buffers: list[bytes]) -> bool:
        """Whether the frame was about what the program prints or reads."""
        kind = header.get("kind")
        if kind == "output":
            for data in buffers:
                self._print(STDERR if header.get("fd") == STDERR else STDOUT, data)
        elif kind == "more":
            self.more()
        return kind in ("output", "more")

    def more(self) -> None:
        """The program has taken what was sent."""
        self._may_send.set()
        self._wake()

    def end(self) -> None:
        """The program has ended."""
        self._send = None
        self._may_send.clear()
        for number in self._outs:
            self._print(number, b"", final=True)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _print(self, number: int, data: bytes, final: bool = False) -> None:
        """Print it, unless that failed before. Raises OutputGone."""
        if self._is_gone:
            return
        try:
            self._put(number, data, final)
        except (OutputFailed, BrokenPipeError) as error:
            self._is_gone = True
            raise OutputGone from error

    def _put(self, number: int, data: bytes, final: bool) -> None:
        out, plain = self._outs[number], getattr(self._outs[number], "buffer", None)
        if plain is not None and not out.isatty():
            if data:
                put("", out)
                put(data, plain)
            return
        text = printable_with_colours(self._decoders[number].decode(data, final))
        encoding = getattr(out, "encoding", None) or "utf-8"
        put(text.encode(encoding, "replace").decode(encoding), out)

    def _on_ctrl_c(self, *_: object) -> None:
        self._interrupts += 1
        if self._send is None or self._interrupts > 1:
            raise KeyboardInterrupt
        self._wake()

    def _wake(self) -> None:
        try:
            os.write(self._wake_write, b".")
        except OSError:
            pass  # it is awake already

    def _serve(self) -> None:
        """Send what is typed here, a piece whenever the last was taken, and Ctrl-C. Runs in a thread."""
        told = 0
        while not self._is_closed:
            may_send = self._send is not None and self._may_send.is_set()
            wants = [self._stdin] if may_send and self._stdin is not None else []
            ready = select.select([self._wake_read, *wants], [], [])[0]
            if self._wake_read in ready:
                os.read(self._wake_read, 4096)
            send = self._send
            if send is None:
                continue
            try:
                if self._interrupts > told:
                    told = self._interrupts
                    send({"kind": "interrupt"}, ())
                elif self._may_send.is_set() and (self._stdin is None or self._stdin in ready):
                    piece = os.read(self._stdin, MOST_INPUT_BYTES) if self._stdin is not None else b""
                    self._may_send.clear()
                    if not piece:
                        self._stdin = None  # its end, also for the programs that follow
                    send({"kind": "input"}, [piece])
            except (OSError, ValueError):  # it has ended
                self._send = None  # the transport tells
