"""Launches that are kept ready to be made again: of a shape that came before, of a kernel that does little.

Python makes one again through `take`; machine code does so alone, by the handle that `handle` gives (relaunch.cc). A
launch is used by one thread at a time: whoever takes it gives it back or closes it.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dsl.emulator.execute import slots
from dsl.emulator.machine import context, native
from dsl.emulator.machine.numbers import Repeat, relaunch

if TYPE_CHECKING:
    from dsl.emulator.execute.program import Program
    from dsl.emulator.machine.memory import Memory

MOST = 64  # launches that are kept
EVERY = 256  # launches, of which Python sees one
_FRAMES, _FRAMES_BYTES = context.offset("frames"), 16  # where the coroutines' memory is, and how much

_kept: dict[tuple, Kept] = {}  # by program and shape; the last that Python used last
_numbered: weakref.WeakValueDictionary[int, Kept] = weakref.WeakValueDictionary()
_numbers = itertools.count(1)


class Kept:
    """A launch whose slot is ready for the next one of its shape."""

    def __init__(self, launch, key: tuple):
        self.launch, self.key = launch, key
        self.repeat: Any = None  # a Repeat, once others can find it

    def first(self) -> None:
        """Run it, and keep it."""
        launch = self.launch
        try:
            slot = launch.add_slot()
            self._head = ctypes.create_string_buffer(ctypes.string_at(slot.address, slots.HEAD_BYTES), slots.HEAD_BYTES)
            self._grid = context.Grid.from_buffer_copy(launch.shared)
            launch.run_blocks(slot)
        except BaseException:
            launch.close()
            raise
        ctypes.memmove(ctypes.addressof(self._head) + _FRAMES, slot.address + _FRAMES, _FRAMES_BYTES)
        if _kept.setdefault(self.key, self) is not self:  # another thread was first
            launch.close()
            return
        self._publish(slot)
        _drop_oldest()

    def _publish(self, slot: slots.Slot) -> None:
        launch = self.launch
        program, shape = self.key
        repeat = program.repeats.setdefault((shape, launch.memory.number), Repeat(state=relaunch.CLOSED))
        sizes = [param.size_bytes for param in program.entries[launch.entry_name].params]
        rows = [each for pair in zip(launch.param_offsets, sizes) for each in pair]
        self._rows = (ctypes.c_uint32 * max(len(rows), 1))(*rows)
        repeat.call, repeat.number, repeat.times, repeat.left = _native()[1], next(_numbers), 0, EVERY
        repeat.shape[:] = (*launch.grid, *launch.block, launch.smem_dynamic)
        repeat.signature_at, repeat.watched_at = launch.memory.addresses
        repeat.signature, repeat.code = launch.ranges, launch.code.block
        repeat.slot, repeat.slot_head = slot.address, ctypes.addressof(self._head)
        repeat.grid, repeat.grid_head = ctypes.addressof(launch.shared), ctypes.addressof(self._grid)
        repeat.params, repeat.rows, repeat.row_count = launch.param_address, ctypes.addressof(self._rows), len(sizes)
        self.repeat, _numbered[repeat.number] = repeat, self
        repeat.state = relaunch.READY

    def fits(self, memory: Memory) -> bool:
        """Whether what was prepared for the last launch is right for one now."""
        launch, repeat = self.launch, self.repeat
        code = launch.code
        code.ran_s += code.last_s * repeat.times
        repeat.times, repeat.left = 0, EVERY
        return (
            memory is launch.memory
            and memory.signature == launch.ranges
            and launch.program.code(launch.entry_name, launch.blocks * launch.threads) is code
        )

    def again(self, params: list[bytes], announce: Callable[[str], None] | None) -> None:
        """Run it with other parameters, and give it back."""
        launch = self.launch
        launch.announce, slot = announce, launch.slots[0]
        for offset, data in zip(launch.param_offsets, params):
            ctypes.memmove(launch.param_address + offset, data, len(data))
        ctypes.memmove(slot.address, self._head, slots.HEAD_BYTES)
        ctypes.memmove(ctypes.addressof(launch.shared), ctypes.addressof(self._grid), ctypes.sizeof(self._grid))
        try:
            launch.run_blocks(slot)
        except BaseException:
            self.close()
            raise
        del _kept[self.key]
        _kept[self.key] = self
        self.repeat.state = relaunch.READY

    def close(self) -> None:
        """Give back what it holds; the caller has taken it."""
        self.repeat.state = relaunch.CLOSED
        if _kept.get(self.key) is self:
            del _kept[self.key]
        self.launch.close()


def take(program: Program, shape: tuple) -> Kept | None:
    """The launch of a shape that is kept; None where there is none, or somebody uses it."""
    kept = _kept.get((program, shape))
    if kept is None or kept.repeat is None:
        return None
    repeat = kept.repeat
    if not _native()[0](ctypes.addressof(repeat)):
        return None
    if _kept.get((program, shape)) is not kept:  # it was another's by now
        repeat.state = relaunch.READY
        return None
    return kept


def handle(program: Program, shape: tuple, memory: Memory) -> int:
    """The handle for launches of this shape by machine code (first 8 bytes: the function's address); 0: none.

    It is valid as long as the program.
    """
    kept = _kept.get((program, shape))
    if kept is None or kept.launch.memory is not memory or kept.repeat is None:
        return 0
    return ctypes.addressof(kept.repeat)


def failure_of(number: int) -> BaseException:
    """The exception of a launch that machine code made and that ended badly; `number` is its answer."""
    kept = _numbered[number]
    try:
        kept.launch.raise_failure()
    except BaseException as error:
        return error
    finally:
        kept.close()
    raise AssertionError(f"launch {number} did not fail")


def _drop_oldest() -> None:
    """Close launches beyond MOST, but none that is in use."""
    for key, kept in list(_kept.items())[: max(len(_kept) - MOST, 0)]:
        if take(*key) is kept:
            kept.close()


@functools.cache
def _native() -> tuple[Callable, int]:
    """`emu_take`, and the address of `emu_relaunch`."""
    emu_take = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(native.address("emu_take"))
    return emu_take, native.address("emu_relaunch")
