"""Memory where checkers keep what they know: see shadow.cc."""

from __future__ import annotations

import ctypes
import mmap


class Pages:
    """Zeroed host memory of which only touched pages take room."""

    def __init__(self, nbytes: int):
        self._map = mmap.mmap(-1, max(nbytes, mmap.PAGESIZE), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
        self.size_bytes = nbytes
        anchor = ctypes.c_char.from_buffer(self._map)
        self.address = ctypes.addressof(anchor)
        del anchor

    def close(self) -> None:
        """Give it back."""
        self._map.close()


_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)
