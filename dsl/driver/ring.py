"""The helper's side of launches through shared memory; ring.h describes them."""

from __future__ import annotations

import ctypes
from pathlib import Path

from dsl.launch.driver.messages import Reader

MESSAGE, FOR_PYTHON, FAILED = range(3)  # what there is to do


class _Ring(ctypes.Structure):
    """The beginning of a Ring; ring.h has its members."""

    _fields_ = [
        ("state", ctypes.c_uint32),
        ("helper_sleeps", ctypes.c_uint32),
        ("result", ctypes.c_uint32),
        ("has_frame", ctypes.c_uint32),
        ("handle", ctypes.c_uint64),
        ("config", ctypes.c_uint32 * 7),
        ("param_count", ctypes.c_uint32),
        ("params_at", ctypes.c_uint32),
        ("message_bytes", ctypes.c_uint32),
        ("param_offsets", ctypes.c_uint32 * 512),
        ("message", ctypes.c_ubyte * 8192),
    ]


class Ring:
    """At the start of device memory. `library` is the one that the program has loaded."""

    def __init__(self, library: Path, address: int, socket: int, wake: int) -> None:
        self._files, self._number = (socket, wake), ctypes.c_uint32()
        self._ring = _Ring.from_address(address)
        self._pointer = ctypes.c_void_p(address)
        own = ctypes.CDLL(str(library))
        self._serve, self._finish = own.gpu_repro_serve, own.gpu_repro_finish

    def wait(self) -> tuple[int, int]:
        """Make launches in machine code until there is something else to do: what, and the number of a failure."""
        what = self._serve(self._pointer, *self._files, ctypes.byref(self._number))
        return what, self._number.value

    def launch(self) -> Reader:
        """The launch that was posted, as a message."""
        return Reader(bytes(self._ring.message[: self._ring.message_bytes]))

    def finish(self) -> None:
        """The answer to it comes as a frame."""
        self._finish(self._pointer, self._files[0], 0, 1)
