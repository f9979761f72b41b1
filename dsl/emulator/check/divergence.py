"""Barriers and collectives that the threads of a warp, or a block, do not reach together.

PTX ISA, barrier: an aligned barrier (every `bar`) must be the same instruction for all threads of the warp. (So must
`mma` and its like: there the lanes wait for each other for ever.) A barrier waits for threads that have not exited; so
a thread that went past one, did something after it and then ended leaves no trace, although a GPU may have it wait. An
early return is correct: such a thread does nothing that could come after the barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dsl.emulator.check import trail
from dsl.emulator.machine import context
from dsl.emulator.ptx.basic_blocks import BasicBlocks
from dsl.emulator.ptx.syntax import Function, Instr
from dsl.emulator.ptx.traits import ALIGNED

APART, SKIPPED = 1, 2  # `detail` of a report


def is_aligned(instr: Instr) -> bool:
    """Whether all threads of a warp must execute this very instruction."""
    return bool(instr.traits & ALIGNED) or "aligned" in instr.mods


class Divergence:
    """The checks of one launch. `sites`: its instructions, which native code names by number."""

    def __init__(self, sites: list[Instr], functions: Callable[[], Iterable[Function]]) -> None:
        self.sites, self.functions = sites, functions
        self._places: dict[object, tuple[BasicBlocks, int]] | None = (
            None  # of instructions, and of their lines and text
        )
        self._passes: dict[tuple[int, int], bool] = {}

    def warp(self, slot, first: int, group: int, exited: int) -> None:
        """Lanes of a warp have met, `first` is a thread of it; some that the mask names may have exited."""
        base = first & ~31
        threads = [base + lane for lane in range(32) if group >> lane & 1]
        self._check_skipped(slot, threads, [base + lane for lane in range(32) if exited >> lane & 1])

    def block(self, slot, number: int) -> None:
        """A barrier of the block is complete."""
        ctx, base = slot.ctx, number * context.MAX_WARPS
        waiting: list[int] = []
        exited: list[int] = []
        for warp in range(ctx.warps):
            mask, gone = ctx.at_barrier[base + warp], ctx.exited[warp]
            threads = [32 * warp + lane for lane in range(32) if mask >> lane & 1]
            self._check_apart(slot, threads)
            waiting += threads
            if threads or not ctx.barrier_count[number]:
                exited += [32 * warp + lane for lane in range(32) if gone >> lane & 1]
        if waiting:
            self._check_skipped(slot, waiting, exited)

    def _check_apart(self, slot, threads: list[int]) -> None:
        ctx = slot.ctx
        by_site: dict[int, list[int]] = {}
        for thread in threads:
            by_site.setdefault(ctx.wait_site[thread], []).append(thread)
        if len(by_site) > 1:
            self.apart(slot, *list(by_site.items())[:2])

    def apart(self, slot, mine: tuple[int, list[int]], other: tuple[int, list[int]]) -> None:
        """Threads of a warp are at two instructions (their sites) of one barrier."""
        if is_aligned(self.sites[mine[0]]) or is_aligned(self.sites[other[0]]):
            self._report(slot, APART, mine, other)

    def _check_skipped(self, slot, threads: list[int], exited: list[int]) -> None:
        site = slot.ctx.wait_site[threads[0]]
        gone: dict[int, list[int]] = {}
        for thread in exited:
            last = trail.last_site(slot.ctx, thread)
            if last is not None and self._is_past(site, last):
                gone.setdefault(last, []).append(thread)
        if gone:
            last, others = next(iter(gone.items()))
            self._report(slot, SKIPPED, (site, threads), (last, others))

    def _is_past(self, barrier: int, other: int) -> bool:
        """Whether one instruction comes after another, and not before it: no loop has both."""
        key = barrier, other
        if key not in self._passes:
            one, two = self._place(barrier), self._place(other)
            if one is None or two is None or one[0] is not two[0]:
                self._passes[key] = False
            else:
                self._passes[key] = _leads(*one, two[1]) and not _leads(*two, one[1])
        return self._passes[key]

    def _place(self, site: int) -> tuple[BasicBlocks, int] | None:
        if self._places is None:
            self._places = {}
            for function in self.functions():
                blocks = BasicBlocks(function)
                for at, item in enumerate(function.items):
                    if isinstance(item, Instr):
                        self._places[id(item)] = self._places[item.line, item.text] = blocks, at
        instr = self.sites[site]
        return self._places.get(id(instr)) or self._places.get((instr.line, instr.text))

    def _report(self, slot, what: int, mine: tuple[int, list[int]], other: tuple[int, list[int]]) -> None:
        ctx = slot.ctx
        if ctx.status:
            return
        slot.met_apart = mine[1], other[1]
        ctx.other_site, ctx.other_thread, ctx.other_block = other[0], other[1][0], slot.block
        slot.report(context.DIVERGED, mine[1][0], 0, mine[0], what)


def _leads(blocks: BasicBlocks, start: int, end: int) -> bool:
    """Whether a thread that is at a position may come to another."""
    here, there = blocks.block_of[start], blocks.block_of[end]
    return (here == there and end > start) or there in blocks.reach(blocks.following[here])
