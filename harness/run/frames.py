"""Frames: how the processes of a run speak with each other, also over SSH. Standard library only.

A frame is `RPR1`, the length of the header (u32, little endian), a JSON header, then the raw buffers whose sizes in
bytes the header lists under `buffers`.
"""

from __future__ import annotations

import json
import os
import signal
import struct
from collections.abc import Callable, Sequence
from typing import Any

PROTOCOL = 2  # of the jobs and replies that frames carry
MAGIC = b"RPR1"
HEADER_LIMIT_BYTES = 32 << 20
STRUCTURE_LIMIT_BYTES = 8 << 20  # of a header without its texts: what Python makes of it is some twenty times larger
TEXT_LIMIT_BYTES = 256 << 10  # of stdout and of stderr that is kept; the rest is counted and dropped
MOST_INPUT_BYTES = 64 << 10  # of a piece of what a live program reads
FAILED = 70  # the exit status of a runner that failed itself
STOP_SIGNAL = signal.SIGALRM  # a repro's time is over: its process prints where it is, in the author's terms
DUMP_SIGNAL = signal.SIGUSR2  # makes a repro write where it is


class BadFrame(Exception):
    """The other side sent bytes that are not a frame, or a frame over the limit."""


def pack_frame(header: dict[str, Any], buffers: Sequence[bytes | memoryview] = ()) -> list[bytes | memoryview]:
    """The pieces of a frame, in order."""
    views = [memoryview(buffer).cast("B") for buffer in buffers]
    text = json.dumps(dict(header, buffers=[view.nbytes for view in views])).encode()
    return [MAGIC + struct.pack("<I", len(text)) + text, *views]


def write_frame(fd: int, header: dict[str, Any], buffers: Sequence[bytes | memoryview] = ()) -> None:
    """Write a whole frame. Raises OSError (BrokenPipeError when the reader is gone)."""
    for piece in pack_frame(header, buffers):
        view = memoryview(piece).cast("B")
        while view:
            view = view[os.write(fd, view) :]


def read_frame(read: Callable[[int], bytes], limit_bytes: int) -> tuple[dict[str, Any], list[bytes]] | None:
    """Read one frame with `read(n)`, which returns exactly n bytes or fewer at the end; None at a clean end.

    Raises BadFrame. The buffers together may hold at most `limit_bytes`.
    """
    start = read(8)
    if not start:
        return None
    if len(start) < 8 or start[:4] != MAGIC:
        raise BadFrame(f"expected a frame, got {start!r}")
    (length,) = struct.unpack("<I", start[4:])
    if length > HEADER_LIMIT_BYTES:
        raise BadFrame(f"a header of {length} bytes is over the limit of {HEADER_LIMIT_BYTES}")
    text = read(length)
    if length > STRUCTURE_LIMIT_BYTES and _structure_bytes(text) > STRUCTURE_LIMIT_BYTES:
        raise BadFrame(f"a header of more than {STRUCTURE_LIMIT_BYTES} bytes besides its texts is over the limit")
    try:
        header = json.loads(text)
        sizes = header["buffers"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadFrame(f"the header of a frame is broken ({type(error).__name__})") from None
    if not isinstance(header, dict) or not isinstance(sizes, list) or any(type(size) is not int for size in sizes):
        raise BadFrame("the header of a frame is broken (it lists no buffers)")
    if any(not 0 <= size <= limit_bytes for size in sizes) or sum(sizes) > limit_bytes:
        raise BadFrame(f"the arrays are over the limit of {limit_bytes} bytes")
    buffers = [read(size) for size in sizes]
    if [len(buffer) for buffer in buffers] != sizes:
        raise BadFrame("the stream ended within a frame")
    return header, buffers


def _structure_bytes(text: bytes) -> int:
    """The number of bytes of JSON outside of its texts, each of which counts for four."""
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    quotes = plain.count(b'"')
    if 2 * quotes > STRUCTURE_LIMIT_BYTES:
        return 2 * quotes
    return 2 * quotes + sum(map(len, plain.split(b'"')[::2]))


def read_exactly(fd: int) -> Callable[[int], bytes]:
    """A `read` for read_frame that blocks on a file descriptor."""

    def read(count: int) -> bytes:
        pieces = []
        while count and (piece := os.read(fd, min(count, 1 << 20))):
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)

    return read


def read_from(data: bytes) -> Callable[[int], bytes]:
    """A `read` for read_frame over bytes already here."""
    position = 0

    def read(count: int) -> bytes:
        nonlocal position
        piece = data[position : position + count]
        position += len(piece)
        return piece

    return read
