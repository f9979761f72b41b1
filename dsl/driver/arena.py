"""Device memory in the helper process: the program's file in memory, mapped where the program has it."""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from typing import Any

BYTES = 192 << 30  # as arena.h has it, and what follows
CONTROL_BYTES = 1 << 20
VARIABLES_BYTES = 4 << 30
WRITTEN_AFTER = BYTES
_ALIGNMENT_BYTES = 256
_NO_RESERVE, _FIXED, _FIXED_NO_REPLACE = 0x4000, 0x10, 0x100000  # MAP_...

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]


class Mapped:
    """The file, mapped. Raises MemoryError where these addresses are taken in this process."""

    def __init__(self, address: int, file: int) -> None:
        self._address, self._file = address, file
        self._nbytes = os.fstat(file).st_size  # with a byte for each byte, if the program keeps what was written
        self._map(address, self._nbytes, 0, _FIXED_NO_REPLACE)

    def _map(self, address: int, nbytes: int, offset: int, fixed: int) -> None:
        access, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | _NO_RESERVE | fixed
        if _libc.mmap(address, nbytes, access, flags, self._file, offset) != address:
            raise MemoryError(f"the addresses of device memory from 0x{address:x} on are taken in the helper process")

    def show(self, address: int, nbytes: int, source: int) -> None:
        """Show the pages at `source` at an address; also the bytes about them."""
        for more in range(0, self._nbytes, WRITTEN_AFTER):
            self._map(address + more, nbytes, source - self._address + more, _FIXED)


class VariableMemory:
    """Gives out the part of it that the variables of modules are in: the program reaches them there."""

    def __init__(self, address: int) -> None:
        self._next, self._end = address + CONTROL_BYTES, address + CONTROL_BYTES + VARIABLES_BYTES
        self._free: dict[int, list[int]] = {}  # by size

    def allocate(self, nbytes: int) -> Any:
        """A cleared ctypes array, whose memory is used again when nobody has it any more. Raises MemoryError."""
        room = -(-nbytes // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
        again = self._free.get(room)
        if again:
            start = again.pop()
        else:
            start, self._next = self._next, self._next + room
            if self._next > self._end:
                raise MemoryError(f"the variables of all modules have more than {VARIABLES_BYTES >> 30} GiB")
        array = (ctypes.c_char * nbytes).from_address(start)
        ctypes.memset(start, 0, nbytes)
        weakref.finalize(array, self._free.setdefault(room, []).append, start)
        return array
