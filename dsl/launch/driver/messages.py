"""The questions of libcuda.so.1 to the device that runs its kernels, and how they and the answers are put into bytes.

dsl/driver/helper.h has the other side.
"""

from __future__ import annotations

import struct
from typing import Any

LOAD, UNLOAD, LAUNCH, MEMORY, TENSOR_MAP, PIECE, CHECK = range(1, 8)
# In a process that has the device.
IMAGE, ALLOCATE, FREE, RANGE, REGISTER, UNREGISTER, REFUSED, HAS_TORCH, FAILED = range(8, 17)


class Reader:
    """Takes a message apart."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, form: str) -> tuple[Any, ...]:
        """The numbers of a struct format, little-endian without gaps."""
        values = struct.unpack_from("<" + form, self._data, self._at)
        self._at += struct.calcsize("<" + form)
        return values

    def bytes(self, nbytes: int) -> bytes:
        part = self._data[self._at : self._at + nbytes]
        self._at += nbytes
        return part

    @property
    def left(self) -> int:
        """Bytes that were not taken."""
        return len(self._data) - self._at

    def rest(self) -> bytes:
        return self.bytes(self.left)


def text(value: str) -> bytes:
    """A text in an answer."""
    data = value.encode("utf-8", "replace")
    return struct.pack("<I", len(data)) + data
