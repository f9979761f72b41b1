"""The state that the checkers of one launch keep in addition to memory, and how slots find it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

from dsl.emulator import families
from dsl.emulator.check.access import is_volatile_shared
from dsl.emulator.check.accesses import Accesses, accesses
from dsl.emulator.check.divergence import Divergence
from dsl.emulator.check.numbers import Cell, Met, Shadow, Trail, orders, site_line, undefined
from dsl.emulator.check.order import Order, marked
from dsl.emulator.check.shadow import Footprint, Pages, footprint
from dsl.emulator.check.silenced import is_silenced
from dsl.emulator.execute import heap
from dsl.emulator.machine import context, native


class Checks:
    """For the slots of `launch`, one after another; `memory` knows which of its bytes were written."""

    def __init__(self, launch, memory):
        self.launch, self.memory, code = launch, memory, launch.code
        self.race, self.undefined = "race" in code.checks, "undefined" in code.checks
        self.pages: list[Pages] = []
        divergence = Divergence(code.sites, lambda: launch.program.module.functions.values())
        landed = native.address("emu_race_landed")
        self.order = Order(self._failed, code.sites, landed, divergence) if code.order_kinds else None
        self.slots: list = []
        self._cells: dict[tuple, int] = {}
        numbers: dict[Any, int] = {}
        lines = [
            numbers.setdefault(self._line(instr), len(numbers))
            | site_line.STEPS * is_volatile_shared(instr)
            | site_line.SILENCED * is_silenced(launch.program.frames_of(instr))
            for instr in code.sites
        ]
        self._lines = (ctypes.c_uint32 * (len(lines) + 1))(*lines)

    def _line(self, instr) -> Any:
        """The author's line of an instruction; where none is known the line of its PTX."""
        place = self.launch.program.place_of(instr.loc)
        return (place.file, place.line) if place else instr.line

    def attach(self, slot) -> None:
        """Once the slot is prepared."""
        ctx, code, threads = slot.ctx, self.launch.code, self.launch.threads
        self.slots.append(slot)
        ctx.race_shift, ctx.order_kinds = code.race_shift, code.order_kinds
        ctx.begin_checks, ctx.landed = native.address("emu_begin_checks"), native.address("emu_landed")
        if self.undefined:
            ctx.smem_valid = self._new(ctx.smem_bytes) if ctx.smem_bytes else 0
            ctx.local_valid = self._new(ctx.local_bytes * threads) if ctx.local_bytes else 0
        if self.race:
            ctx.site_lines = ctypes.addressof(self._lines)
            ctx.labels = self._new(4 * threads)
            ctx.met = self._new(ctypes.sizeof(Met) * ctx.warps)
            ctx.trail = self._new(ctypes.sizeof(Trail) * threads)
            ctx.smem_cells = self._new(((ctx.smem_bytes >> code.race_shift) + 1) * ctypes.sizeof(Cell))
            ctx.order_barrier = native.address("emu_order_barrier")
            if self.order is not None:
                # native code looks at whole warps
                ctx.known = self._new(4 * (2 * threads * threads + 32)) if code.order_kinds & orders.ANY else 0
                ctx.order_call = self.order.address
            if code.order_kinds & (orders.MATRICES | orders.BULK):
                ctx.proxied = self._new(4 * threads)
            for attach in families.named("check", "attach"):
                attach(ctx, self._new)
        table = slot.interval_rows
        rows = (Shadow * (ctx.interval_count + 1))()
        for i in range(ctx.interval_count):
            lo, hi, kind = table[3 * i : 3 * i + 3]
            if kind & context.GLOBAL:
                rows[i].cells = self._cells_of(lo, hi) if self.race else 0
                rows[i].valid = self._validity(lo, hi) if self.undefined else 0
        slot.shadows = rows
        ctx.shadows = ctypes.addressof(rows)

    def _validity(self, lo: int, hi: int) -> int:
        for each in heap.allocations(self.launch.program.uses_heap):
            if each.address == lo:
                return heap.of_process().validity()
        return self.memory.validity(lo, hi)

    def _cells_of(self, lo: int, hi: int) -> int:
        """One set of cells for all slots of the launch."""
        key = lo, hi
        if key not in self._cells:
            nbytes = (((hi - lo) >> self.launch.code.race_shift) + 1) * ctypes.sizeof(Cell)
            self._cells[key] = self._new(nbytes)
            if self.launch.earlier is not None:
                self.launch.earlier.put(lo, hi, self._cells[key], self.launch.code.race_shift)
        return self._cells[key]

    def forget(self, address: int, nbytes: int) -> None:
        """Take memory that malloc gives as new: threads that had it before are ordered before this one."""
        shift = self.launch.code.race_shift
        for (lo, hi), cells in self._cells.items():
            if lo <= address < hi:
                first, last = (address - lo) >> shift, (address + nbytes - 1 - lo) >> shift
                ctypes.memset(cells + first * ctypes.sizeof(Cell), 0, (last - first + 1) * ctypes.sizeof(Cell))

    def footprint(self) -> Footprint:
        """The global memory that the launch has touched."""
        return footprint(self.launch.entry_name, self._cells, self.launch.code.race_shift)

    def accesses(self) -> Accesses:
        """The same, with the instructions that did it. It is without the heap of device code and the workspace of a
        cooperative launch, which other launches use again."""
        launch, code = self.launch, self.launch.code
        workspace = [launch.workspace.allocation] if launch.workspace else []
        own = {each.address for each in (*heap.allocations(launch.program.uses_heap), *workspace)}
        meets = bool(code.order_kinds & orders.BLOCKS)
        cells = {(lo, hi): address for (lo, hi), address in self._cells.items() if lo not in own}
        return Accesses(accesses(cells, code.race_shift), tuple(code.sites), meets)

    def _new(self, nbytes: int) -> int:
        pages = Pages(nbytes)
        self.pages.append(pages)
        return pages.address

    def _failed(self, address: int, error: BaseException) -> None:
        for slot in self.slots:
            if slot.address == address:
                slot.failure = error
                slot.ctx.status = slot.ctx.status or context.CALLBACK

    def passed_on(self):
        """The slot whose block, the lowest one, passed an undefined value on, with that as its fault; None."""
        marked = min((s for s in self.slots if s.ctx.undefined_mark), key=lambda s: s.ctx.undefined_block, default=None)
        if marked is not None:
            ctx = marked.ctx
            ctx.status, ctx.site, ctx.thread = context.UNDEFINED, ctx.undefined_site, ctx.undefined_thread
            ctx.block, ctx.address = ctx.undefined_block, ctx.undefined_mark & undefined.ADDRESS_MASK
            ctx.other_site = ((ctx.undefined_mark & ~undefined.COMPUTED) >> undefined.SITE_SHIFT) - 1
            x, y, _ = self.launch.grid
            ctx.block_index[:] = ctx.block % x, ctx.block // x % y, ctx.block // (x * y)
        return marked

    def warnings(self) -> Iterator[tuple[str, Any]]:
        """The findings that end no launch, each with the slot that it is about."""
        yield from marked(self.slots, "note")
        yield from marked(self.slots, "step")
        if self.order is not None:
            for warnings in families.named("check", "warnings"):
                yield from warnings(self.order, self.slots)

    def close(self) -> None:
        """Give all of it back; no native code of the launch runs any more."""
        free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(native.address("emu_free_entries"))
        for slot in self.slots:
            free(slot.address)
        for each in self.pages:
            each.close()
        self.pages.clear()
