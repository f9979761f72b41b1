"""setmaxnreg: who changes the registers of a warpgroup, when, and whether a block has as many. PTX ISA 9.7.19.5.

Nothing waits for registers here: a request for more than the others can give back before it is found at the end of the
block. Who knows that a warp has passed its request comes after it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from dsl.emulator.machine import context
from dsl.emulator.ptx.syntax import Function, Instr, Module

if TYPE_CHECKING:
    import numpy as np

LEAST, MOST, STEP = 24, 256, 8
OF_A_BLOCK = 1 << 16  # registers of a multiprocessor
IS_INC, ENTRY_SHIFT = 1 << 16, 20  # of the event: above the count whether it asks for more; registers at entry
GROUP, WARP = 128, 32


def limit_of(function: Function) -> int:
    """The most registers with which a thread of a kernel begins; 0 where ptxas cannot tell."""
    if function.maxnreg is not None:
        return _up(function.maxnreg, STEP)
    shape = function.reqntid or function.maxntid
    if shape is None or not function.minnctapersm:
        return 0
    threads = _up(_up(math.prod(shape), WARP) * function.minnctapersm, GROUP)
    return min(OF_A_BLOCK // threads // STEP * STEP, MOST)


def at_entry(module: Module, function: Function) -> int:
    """The registers with which each thread begins, as ptxas gives them: no more than some setmaxnreg names. 0 where it
    ignores setmaxnreg."""
    bodies = [each for each in module.functions.values() if each is function or not each.is_entry]
    items = (item for each in bodies for item in each.items if isinstance(item, Instr) and item.opcode == "setmaxnreg")
    return min(limit_of(function), max((item.operands[0].value for item in items), default=MOST))


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


class Change(NamedTuple):
    """Registers a thread from there on; `label`: of what follows; `seen`, of lane 0: how far all threads had come."""

    site: int
    count: int
    is_inc: bool
    label: int
    seen: np.ndarray


class Ignored:
    """The first setmaxnreg of a launch that does nothing: (block, thread, site)."""

    def __init__(self, order):
        self.order, self.first = order, None

    def change(self, slot, thread: int, site: int, what: int) -> None:
        """A thread executes a setmaxnreg."""
        if not what >> ENTRY_SHIFT:
            self.first = self.first or (slot.block, thread, site)
        _change(slot, thread, site, what)


class Registers:
    """The changes of each thread of the block that runs in a slot."""

    def __init__(self, slot):
        self.of: dict[int, list[Change]] = {}
        self.entry = 0


def _change(slot, thread: int, site: int, what: int) -> None:
    mine = slot.of(Registers)
    mine.entry = what >> ENTRY_SHIFT
    count, is_inc, seen = what & IS_INC - 1, bool(what & IS_INC), slot.seen(thread)[slot.threads :]
    before = mine.of.setdefault(thread, [])
    held = before[-1].count if before else mine.entry
    if held and (count < held if is_inc else count > held):
        slot.report(context.ILLEGAL, thread, held, site, context.WRONG_WAY)
    for other in _group(slot, thread)[::WARP]:
        theirs = mine.of.get(other, [])
        if other // WARP == thread // WARP:  # .sync waits for the lanes
            continue
        if before and held != count and (len(theirs) < len(before) or seen[other] < theirs[len(before) - 1].label):
            _report(slot, context.NO_SYNC, thread, site, other, before[-1].site)
        elif len(theirs) > len(before) and theirs[len(before)][1:3] != (count, is_inc):
            _report(slot, context.OTHER_COUNT, thread, site, other, theirs[len(before)].site)
    slot.step(thread)
    before.append(Change(site, count, is_inc, slot.label(thread), seen if thread % WARP == 0 else seen[:0]))


def end(slot, *_: int) -> None:
    """The block has ended."""
    if slot.ctx.status or not slot.of(Registers).of:
        return
    of = slot.of(Registers).of
    for first in range(0, slot.threads, GROUP):
        done = {thread: len(of.get(thread, ())) for thread in _group(slot, first)}
        most, least = max(done, key=done.__getitem__), min(done, key=done.__getitem__)
        if done[least] < done[most]:
            site = of[most][done[least]].site
            _report(slot, context.NOT_ALL, most, site, least, site)
    if slot.of(Registers).entry and not slot.ctx.status:
        _look_for_enough(slot, slot.of(Registers))


def _look_for_enough(slot, mine: Registers) -> None:
    """Whether the registers that each request asks for can come."""
    warps = range(0, slot.threads, WARP)
    total = mine.entry * len(warps)
    of = {warp: mine.of.get(warp, []) for warp in warps}
    last = sum(changes[-1].count if changes else mine.entry for changes in of.values())
    requests = [(one.label, warp, one) for warp, changes in of.items() for one in changes if one.is_inc]
    for label, warp, one in sorted(requests, key=lambda each: each[0]):
        least = sum(
            min([mine.entry, *(each.count for each in of[other] if each.seen[warp] < label)])
            for other in warps if other != warp
        )  # fmt: skip
        if least + one.count > total or (last > total and label == max(requests, key=lambda each: each[0])[0]):
            slot.ctx.other_label = WARP * total
            slot.report(context.ILLEGAL, warp, WARP * max(least + one.count, last), one.site, context.NO_REGISTERS)
            return


def _group(slot, thread: int) -> range:
    first = thread // GROUP * GROUP
    return range(first, min(first + GROUP, slot.threads))


def _report(slot, detail: int, thread: int, site: int, other: int, other_site: int) -> None:
    if not slot.ctx.status:
        slot.ctx.other_thread, slot.ctx.other_site = other, other_site
    slot.report(context.ILLEGAL, thread, 0, site, detail)
