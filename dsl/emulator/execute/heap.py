"""The heap of device code: malloc and free. CUDA C++ guide, dynamic global memory allocation."""

from __future__ import annotations

import bisect
import ctypes
import mmap
import threading

from dsl.emulator.machine import context
from dsl.emulator.machine.memory import Allocation
from dsl.emulator.machine.numbers import calls

SIZE_BYTES = 8 << 20  # as of cudaLimitMallocHeapSize where nobody sets it
ALIGNMENT_BYTES = 16


class Heap:
    """First fit in one stretch of memory. Kernels of one process share it, and blocks outlive the kernel."""

    def __init__(self, size_bytes: int = SIZE_BYTES):
        self._memory = mmap.mmap(-1, size_bytes)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self.allocation = Allocation(self.address, size_bytes, "the heap of malloc")
        self._free = [(self.address, size_bytes)]  # by address; no two touch
        self._given: dict[int, int] = {}
        self._written: mmap.mmap | None = mmap.mmap(-1, size_bytes)  # a byte for each byte; None: that is not known
        self._lock = threading.Lock()

    def validity(self) -> int:
        """The address of a byte for each byte of the heap: 1 if it is of a block, and written. 0: that is not known."""
        return ctypes.addressof(ctypes.c_char.from_buffer(self._written)) if self._written is not None else 0

    def written_unseen(self) -> None:
        """A kernel whose writes nobody follows uses the heap."""
        self._written = None

    def is_given(self, address: int) -> bool:
        """Whether an address is in a block that is not freed."""
        with self._lock:
            return any(start <= address < start + size for start, size in self._given.items())

    def _forget_writes(self, address: int, size: int) -> None:
        if self._written is not None:
            self._written[address - self.address : address - self.address + size] = bytes(size)

    def malloc(self, nbytes: int) -> int:
        """The address of a new block; 0 for 0 bytes, and where the heap has no room."""
        size = -(-nbytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        with self._lock:
            place = next((place for place, (_, room) in enumerate(self._free) if room >= size > 0), None)
            if place is None:
                return 0
            address, room = self._free.pop(place)
            if room > size:
                self._free.insert(place, (address + size, room - size))
            self._given[address] = size
            self._forget_writes(address, size)
            return address

    def free(self, address: int) -> bool:
        """Take a block back; whether it was one. Null is nothing."""
        with self._lock:
            if address == 0:
                return True
            size = self._given.pop(address, 0)
            if not size:
                return False
            self._forget_writes(address, size)
            place = bisect.bisect(self._free, (address, 0))
            if place < len(self._free) and self._free[place][0] == address + size:
                size += self._free.pop(place)[1]
            if place and sum(self._free[place - 1]) == address:
                place -= 1
                address, before = self._free.pop(place)
                size += before
            self._free.insert(place, (address, size))
            return True


_heap: list[Heap] = []
_making = threading.Lock()


def of_process() -> Heap:
    """The heap, made when it is first asked for."""
    with _making:
        if not _heap:
            _heap.append(Heap())
        return _heap[0]


def allocations(needed: bool) -> list[Allocation]:
    """The memory of the heap, if there is one or it is needed."""
    return [of_process().allocation] if needed or _heap else []


def called(ctx: context.Context, which: int, site: int, thread: int, first: int, second: int) -> int:
    """malloc of `first` bytes, whose address goes to a word at `second`, or free of `first`: 0, or -1 with a fault."""
    if which == calls.MALLOC:
        ctypes.c_uint64.from_address(second).value = of_process().malloc(first)
        return 0
    if of_process().free(first):
        return 0
    ctx.status, ctx.site, ctx.thread, ctx.address = context.ILLEGAL, site, thread, first
    ctx.detail = context.BAD_FREE
    return -1
