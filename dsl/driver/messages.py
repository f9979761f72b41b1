"""The messages between the driver and its helper; helper.h has the other side.

A message is a head (what, bytes) and bytes. The program asks; the helper answers with a result (CUresult) and more, and
may send before that what a kernel prints, and reports.
"""

from __future__ import annotations

import io
import socket
import struct
import threading

ANSWER, OUTPUT, REPORT = range(3)
_HEAD = struct.Struct("<II")


class Ended(Exception):
    """The program has ended."""


class Channel:
    """The helper's end. Any thread may send."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def receive(self) -> tuple[int, bytes]:
        """The next message: what is asked, and with what. Raises Ended."""
        what, nbytes = _HEAD.unpack(self._exactly(_HEAD.size))
        return what, self._exactly(nbytes)

    def _exactly(self, nbytes: int) -> bytes:
        parts = bytearray()
        while len(parts) < nbytes:
            part = self._connection.recv(nbytes - len(parts))
            if not part:
                raise Ended
            parts += part
        return bytes(parts)

    def send(self, what: int, data: bytes) -> None:
        """Raises Ended."""
        with self._lock:
            try:
                self._connection.sendall(_HEAD.pack(what, len(data)) + data)
            except OSError:
                raise Ended from None

    def answer(self, result: int, data: bytes = b"") -> None:
        self.send(ANSWER, struct.pack("<I", result) + data)


class Output(io.TextIOBase):
    """A text file whose text the program writes: what kernels print, or reports."""

    def __init__(self, channel: Channel, what: int) -> None:
        self._channel, self._what = channel, what

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._channel.send(self._what, text.encode("utf-8", "surrogateescape"))
        return len(text)
