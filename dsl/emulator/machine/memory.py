"""Which host address ranges are device allocations, and host memory for those the emulator makes itself."""

from __future__ import annotations

import bisect
import ctypes
import itertools
import mmap
import operator
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dsl.emulator.machine import context

_numbers = itertools.count()
_FREED = 256  # allocations remembered for reports
_ALIGNMENT_BYTES = 512  # what cudaMalloc gives at least is 256


@dataclass(frozen=True, slots=True)
class Allocation:
    """`size_bytes` at host `address`; `kind` is a bit of context.GENERIC, or MULTIMEM for addresses that only multimem
    instructions take: then the memory is at `target`."""

    address: int
    size_bytes: int
    label: str
    kind: int = context.GLOBAL
    target: int = 0

    @property
    def end(self) -> int:
        return self.address + self.size_bytes

    @property
    def row_kind(self) -> int:
        """Its kind in a row of the interval table, with the distance to its memory."""
        if self.kind != context.MULTIMEM:
            return self.kind
        return (self.target - self.address << context.DISTANCE_SHIFT | self.kind) & (1 << 64) - 1


_ADDRESS = operator.attrgetter("address")


class Memory:
    """The device allocations of a program. Ranges may overlap (views of one array)."""

    def __init__(self) -> None:
        self._by_address: dict[int, list[Allocation]] = {}
        self._owned: dict[int, ctypes.Array] = {}
        self._written: dict[int, int] = {}  # by address of an allocation
        self._freed: deque[Allocation] = deque(maxlen=_FREED)
        self.number = next(_numbers)
        self._signature, self._watched = ctypes.c_int64(), ctypes.c_int32()
        self.addresses = ctypes.addressof(self._signature), ctypes.addressof(self._watched)  # for machine code

    @property
    def signature(self) -> int:
        """A sum over the ranges, of 64 bits: the same for the same ranges, whatever their order."""
        return self._signature.value

    def watch(self, is_watched: bool) -> None:
        """Whether launches are checked or have a seed: then Python makes each."""
        self._watched.value = is_watched

    def register(self, address: int, nbytes: int, label: str) -> None:
        """Make `nbytes` at a host address device memory; `label` names it in reports. Balance with unregister."""
        self._add(Allocation(address, nbytes, label))

    def register_multimem(self, address: int, nbytes: int, label: str, target: int) -> None:
        """Make addresses multimem addresses of the memory at `target`. Balance with unregister."""
        self._add(Allocation(address, nbytes, label, context.MULTIMEM, target))

    def _add(self, new: Allocation) -> None:
        if new.size_bytes > 0:
            self._by_address.setdefault(new.address, []).append(new)
            self._signature.value += hash((new.address, new.size_bytes))

    def relabel(self, address: int, label: str) -> bool:
        """Call the memory that begins at an address, or was there last, by another name; whether there is some."""
        stack: Any = self._by_address.get(address) or self._freed
        for at in reversed(range(len(stack))):
            if stack[at].address == address:
                stack[at] = replace(stack[at], label=label)
                return True
        return False

    def unregister(self, address: int) -> None:
        """Undo the last `register` of this address; unknown addresses are ignored."""
        stack = self._by_address.get(address)
        if stack:
            gone = stack.pop()
            self._signature.value -= hash((gone.address, gone.size_bytes))
            if not stack:
                del self._by_address[address]
                self._written.pop(address, None)
                self._freed.append(gone)

    def holds(self, address: int) -> bool:
        """Whether the address is in a range."""
        return address in self._by_address or any(each.address <= address < each.end for each in self.allocations())

    def freed(self, address: int) -> Allocation | None:
        """The allocation, no longer one, that had this address last."""
        return next((each for each in reversed(self._freed) if each.address <= address < each.end), None)

    def alloc(self, nbytes: int, label: str) -> int:
        """New device memory, as hardware gives it: not cleared by contract. Returns its host address."""
        buffer = (ctypes.c_char * (nbytes + _ALIGNMENT_BYTES))()
        start = ctypes.addressof(buffer)
        address = (start + _ALIGNMENT_BYTES - 1) // _ALIGNMENT_BYTES * _ALIGNMENT_BYTES
        self._owned[address] = buffer
        self.register(address, nbytes, label)
        return address

    def free(self, address: int) -> None:
        """Give back what `alloc` gave. Raises ValueError for any other address."""
        if address not in self._owned:
            raise ValueError(f"0x{address:x} is not the start of an allocation made here")
        self.unregister(address)
        del self._owned[address]

    def validity(self, lo: int, hi: int) -> int:
        """The address of a byte for each byte of the host addresses from `lo` to `hi`, 1 once it is written; 0 where
        nothing is known of them."""
        return self._written.get(lo, 0) if len(self._by_address.get(lo, ())) == 1 else 0

    def follow(self, address: int, written: int) -> None:
        """The allocation to be registered at `address` has a byte for each byte at `written`, 1 once it is written."""
        self._written[address] = written

    def allocations(self) -> list[Allocation]:
        """All registered ranges in address order."""
        # other threads add
        return sorted((a for stack in list(self._by_address.values()) for a in stack), key=_ADDRESS)


def interval_table(allocations: list[Allocation], own: Sequence[Allocation] = ()) -> ctypes.Array:
    """Rows lo, hi, kind (u64 each, one after another); overlapping ranges become one of both kinds."""
    rows: list[int] = []
    end = 0
    for each in sorted([*allocations, *own], key=_ADDRESS):
        if each.address < end:
            rows[-2] = end = max(end, each.end)
            rows[-1] |= each.row_kind
        else:
            end = each.end
            rows += (each.address, end, each.row_kind)
    return (ctypes.c_uint64 * len(rows))(*rows)


def nearest(allocations: list[Allocation], address: int) -> tuple[Allocation, int] | None:
    """The allocation nearest to an address and the signed distance: negative before its start, else from its start.
    The last one counts if several begin at one address."""
    best = None
    starts = [a.address for a in allocations]
    at = bisect.bisect_right(starts, address)
    for each in allocations[max(0, at - 8) : at + 1]:
        gap = each.address - address if address < each.address else max(0, address - each.end + 1)
        if best is None or gap < best[0] or (gap == best[0] and each.address == best[1].address):
            best = (gap, each)
    return (best[1], address - best[1].address) if best else None


class Window:
    """Host memory for shared memory: it starts at a multiple of 4 GiB where the kernel allows it.

    So the low 32 bits of a generic address are the offset, as on hardware, for code that truncates one to the other.
    """

    def __init__(self, nbytes: int):
        self.size_bytes = nbytes
        length = max(mmap.PAGESIZE, nbytes)
        self._address, self._length = _map_aligned(length)
        self.address = self._address

    def close(self) -> None:
        _libc.munmap(ctypes.c_void_p(self._address), ctypes.c_size_t(self._length))


_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_MAP_FIXED_NOREPLACE, _MAP_PRIVATE, _MAP_ANONYMOUS, _MAP_NORESERVE = 0x100000, 0x02, 0x20, 0x4000
_FAILED = ctypes.c_void_p(-1).value


_next_window = itertools.count()
_WINDOWS = 0x2000  # from 0x100 << 32 on: below where Linux puts heaps, libraries and stacks


def _map_aligned(length: int) -> tuple[int, int]:
    for _ in range(64):
        high = 0x100 + next(_next_window) % _WINDOWS
        flags = _MAP_PRIVATE | _MAP_ANONYMOUS | _MAP_FIXED_NOREPLACE | _MAP_NORESERVE
        address = _libc.mmap(high << 32, length, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
        if address == high << 32:
            return address, length
        if address not in (None, _FAILED):
            _libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(length))
    address = _libc.mmap(None, length, mmap.PROT_READ | mmap.PROT_WRITE, _MAP_PRIVATE | _MAP_ANONYMOUS, -1, 0)
    if address in (None, _FAILED):
        raise MemoryError(f"no {length} bytes of host memory for shared memory")
    return address, length


# ** what native code keeps of a block

free = ctypes.CDLL(None).free
free.argtypes, free.restype = [ctypes.c_void_p], None


class Buffer:
    """Host memory of at least the bytes asked for, aligned to 256, kept while large enough."""

    def __init__(self) -> None:
        self._memory, self._bytes, self.address = None, 0, 0

    def of(self, nbytes: int) -> int:
        """Its address. The bytes are what they were."""
        if nbytes > self._bytes or self._memory is None:
            self._memory, self._bytes = (ctypes.c_char * (nbytes + 256))(), nbytes
            self.address = (ctypes.addressof(self._memory) + 255) // 256 * 256
        return self.address

    def close(self) -> None:
        """Give it back."""
        self._memory, self._bytes, self.address = None, 0, 0


class Queues:
    """Queues of copies on their way; native code allocates what they hold. `entries`: the field that has it."""

    def __init__(self, kind: Any, entries: str, count: int) -> None:
        self._queues, self._entries = (kind * count)(), entries
        self.address = ctypes.addressof(self._queues)

    def close(self) -> None:
        """Free what native code allocated."""
        for queue in self._queues:
            free(getattr(queue, self._entries))
