"""The printed text of blocks, written in the order of the blocks however many run at once."""

from __future__ import annotations

import ctypes
import threading

from dsl.emulator.execute.print_format import BadPointer
from dsl.emulator.machine import context
from dsl.emulator.machine.memory import Allocation


class DeviceMemory:
    """Memory as a kernel sees it. Both raise BadPointer outside every allocation."""

    def __init__(self, allocations: list[Allocation]):
        self._allocations = allocations

    def bytes(self, address: int, nbytes: int) -> bytes:
        for each in self._allocations:
            if each.address <= address and address + nbytes <= each.end:
                return ctypes.string_at(address, nbytes)
        raise BadPointer(address, nbytes)

    def string(self, address: int) -> str:
        """A C string, without its end."""
        for each in self._allocations:
            if each.address <= address < each.end:
                data = ctypes.string_at(address, each.end - address)
                end = data.find(b"\0")
                if end < 0:
                    raise BadPointer(each.end, 1)
                return data[:end].decode("utf-8", "replace")
        raise BadPointer(address, 1)


class PrintOrder:
    """Writes through `launch.write`: at once what the lowest running block prints, later what others print."""

    def __init__(self, launch):
        self._launch = launch
        self._held: dict[int, list[str]] = {}
        self._lock = threading.Lock()

    def write(self, block: int, text: str) -> None:
        """One printf of a block. Raises what `launch.write` raises."""
        with self._lock:
            self._held.setdefault(block, []).append(text)
            # Blocks are begun in order: none below the lowest that a slot is at will print any more.
            lowest = min(slot.ctx.block for slot in self._launch.slots if slot.ctx.state != context.DEAD)
            if min(self._held) <= lowest:
                self._flush(lowest)

    def finish(self, last: int) -> None:
        """The launch is over: what blocks up to `last` printed, the first that ended badly."""
        self._flush(last)

    def _flush(self, last: int) -> None:
        for block in sorted(each for each in self._held if each <= last):
            for text in self._held.pop(block):
                self._launch.write(text)
