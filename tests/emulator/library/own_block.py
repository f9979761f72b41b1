"""Blocks of a test's own, for calling the functions of the emulator's C++ without PTX.

A thread is a Python generator: it calls what the code of a kernel would call, and yields where that code gives way or
waits.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Generator
from typing import Any

from dsl.emulator.families.cp_async.numbers import CopyQueue
from dsl.emulator.families.mbarrier.emit import State
from dsl.emulator.machine import context, functions, native
from dsl.emulator.machine.memory import Window

NO_VOTE = 2


class Pair(ctypes.Structure):
    _fields_ = [("first", ctypes.c_uint64), ("second", ctypes.c_uint64)]


_TYPES = {
    "void": None, "ptr": ctypes.c_void_p, "i64": ctypes.c_uint64, "i32": ctypes.c_uint32, "i1": ctypes.c_bool,
    "{ i64, i64 }": Pair,
}  # fmt: skip


@functools.cache
def function(name: str):
    """A function of the table, to be called from Python."""
    result, arguments = functions.signatures()[name].replace(" captures(none)", "").split(" (", 1)
    types = [_TYPES[each] for each in arguments.partition(")")[0].split(", ")]
    return ctypes.CFUNCTYPE(_TYPES[result], *types)(native.address(name))


START = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32)
CALLED = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
MORE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
ORDERED = ctypes.CFUNCTYPE(
    ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64
)
LANDED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32)
Body = Callable[["Thread"], Generator[None, None, None]]


class Thread:
    """One thread of a block, for the body of a test."""

    def __init__(self, block: Block, tid: int):
        self.block, self.tid = block, tid

    @property
    def out(self) -> tuple[int, bool]:
        """The result that a meeting gave this thread."""
        return self.block.ctx.out[self.tid], bool(self.block.ctx.out_pred[self.tid])

    def sync(self, barrier: int = 0, count: int = 0, vote: int = NO_VOTE, site: int = 0):
        """bar.sync, or bar.red with a vote."""
        self.block.wait_barrier(self.tid, barrier, count, vote, site)
        yield

    def arrive(self, barrier: int = 0, count: int = 0, site: int = 0) -> None:
        """bar.arrive."""
        self.block.arrive(self.tid, barrier, count, site)

    def cluster_sync(self, site: int = 0):
        """barrier.cluster.arrive, then .wait."""
        self.block.arrive_cluster(self.tid, site)
        yield from self.cluster_wait(site)

    def cluster_wait(self, site: int = 0):
        if self.block.wait_cluster(self.tid, site) != 1:  # it waits, or it was a fault
            yield

    def meet(self, key: int, mask: int, a: int = 0, b: int = 0, c: int = 0, site: int = 0):
        """An instruction of the lanes of a warp."""
        self.block.wait_warp(self.tid, key, mask, a, b, c, site)
        yield


class Block:
    """A slot for the blocks of a launch of a test; its fields are the fields of `ctx`. A function `emu_x` of C++ is the
    method `x`."""

    def __init__(self, threads: int = 32, smem_bytes: int = 0, grid: Grid | None = None, address: int | None = None):
        self.ctx = ctx = context.Context()
        self.address = ctypes.addressof(ctx)
        self.grid = grid or Grid()
        ctx.threads, ctx.warps = threads, -(-threads // 32)
        ctx.block_dim[:], ctx.grid[:], ctx.cluster[:] = (threads, 1, 1), (self.grid.fields.blocks, 1, 1), (1, 1, 1)
        ctx.mate = ctx.leader = ctx.next = self.address
        ctx.cluster_blocks, ctx.absent, ctx.patience = 1, 2**64 - 4, 256
        ctx.shared_grid = ctypes.addressof(self.grid.fields)
        ctx.every, self.grid.fields.slots = self.grid.fields.slots, self.address
        self._memory: list[Any] = []
        self._window = None
        if address is None and smem_bytes:
            self._window = Window(smem_bytes)
            address = self._window.address
        ctx.smem, ctx.smem_bytes = address or 0, smem_bytes
        ctx.queues, ctx.bulk = self.zeros(ctypes.sizeof(CopyQueue) * threads), self.zeros(16 + 4 * context.MAX_THREADS)
        ctx.sites_bytes = 16 * 64
        ctx.sites = self.zeros(ctx.sites_bytes)
        ctx.mbarrier_log, ctx.mbarrier_serial = self.zeros(72 * (smem_bytes // 8 + 1)), 7
        self.body: Body | None = None
        self.generators: dict[int, Generator] = {}
        self.failure: BaseException | None = None
        self._start, self._resume = START(self._begin_thread), CALLED(self._go_on)
        if smem_bytes:
            self.allocate((ctx.smem, smem_bytes, context.SHARED))

    def __getattr__(self, name: str):
        called = function(f"emu_{name}")
        return lambda *arguments: called(self.address, *arguments)

    def zeros(self, nbytes: int) -> int:
        """The address of cleared memory that belongs to the block."""
        self._memory.append((ctypes.c_uint64 * (nbytes // 8 + 1))())
        return ctypes.addressof(self._memory[-1])

    def allocate(self, *rows: tuple[int, int, int]) -> None:
        """Set the memory that accesses may touch: address, bytes, kind."""
        table = sorted((address, address + nbytes, kind) for address, nbytes, kind in rows)
        flat = [each for row in table for each in row]
        self._memory.append((ctypes.c_uint64 * len(flat))(*flat))
        self.ctx.intervals, self.ctx.interval_count = ctypes.addressof(self._memory[-1]), len(table)

    @property
    def record(self) -> tuple[int, int, int, int, int, int]:
        """Status, site, thread, address, bytes, detail."""
        ctx = self.ctx
        return ctx.status, ctx.site, ctx.thread, ctx.address, ctx.access_bytes, ctx.detail

    # ** threads

    def run(self, body: Body | None = None) -> Block:
        """One turn of the block: each thread runs `body`."""
        self.body = body or self.body
        self.run_block(ctypes.cast(self._start, ctypes.c_void_p).value)
        if self.failure is not None:
            raise self.failure
        return self

    def _begin_thread(self, _: int, tid: int) -> int:
        assert self.body is not None
        self.generators[tid] = self.body(Thread(self, tid))
        handle = (ctypes.c_uint64 * 2)(ctypes.cast(self._resume, ctypes.c_void_p).value, tid)
        self._memory.append(handle)
        self._step(tid)
        return ctypes.addressof(handle)

    def _go_on(self, handle: int) -> None:
        self._step((ctypes.c_uint64 * 2).from_address(handle)[1])

    def _step(self, tid: int) -> None:
        try:
            next(self.generators[tid])
        except StopIteration:
            self.exit(tid)
        except BaseException as error:  # native code called
            self.failure, self.ctx.status = error, context.CALLBACK


# Bits of what is noted of an mbarrier.
INIT, ARRIVE, EXPECT, WAIT, COPY, INVAL = 1, 2, 4, 8, 16, 32


class Mbarriers:
    """A block whose threads do things at mbarriers: `note` at one at a byte of shared memory."""

    def __init__(self, block: Block | None = None):
        self.block = block or Block(threads=96, smem_bytes=256)

    def at(self, offset: int) -> int:
        return self.block.ctx.smem + offset

    def note(self, what: int, offset: int, tid: int = 0, site: int = 0, amount: int = 0) -> int:
        return getattr(self.block, f"note_{what}")(tid, site, self.at(offset), amount)

    def init(self, offset: int = 8, count: int = 1, tid: int = 0, site: int = 0) -> int:
        """As mbarrier.init: the note, then the 64 bits that families/mbarrier/emit.py writes."""
        if not self.note(INIT, offset, tid, site, count):
            return 0
        ctypes.c_uint64.from_address(self.at(offset)).value = count | count << 20
        return 1

    def state(self, offset: int = 8) -> State:
        return State.of(ctypes.c_uint64.from_address(self.at(offset)).value)

    @property
    def record(self):
        return self.block.record


class Grid:
    """The state that the blocks of a launch share; `run` is the loop of one worker."""

    def __init__(self, blocks: int = 1, chunk: int = 1):
        self.fields = context.Grid(first_fault=context.NO_FAULT, blocks=blocks, chunk=chunk)
        self.more(lambda: None)

    def more(self, make: Callable[[], Block | None]) -> None:
        """Set the function that makes another slot for blocks."""

        def answer(worker: int) -> int:
            block = make()
            if block is None:
                return 0
            first = context.Context.from_address(worker)
            block.ctx.next, first.next = first.next, block.address
            return block.address

        self._more = MORE(answer)
        self.fields.more = ctypes.cast(self._more, ctypes.c_void_p).value

    def run(self, first: Block, run: Callable[[context.Context], None], clusters: bool = False) -> None:
        """Blocks from the grid, as a worker takes them: `run` has the context of a slot. Raises what `run` raised."""
        failures = []

        def called(address: int) -> None:
            try:
                run(context.Context.from_address(address))
            except BaseException as error:  # native code called
                failures.append(error)
                self.fields.halt = 1

        callback = CALLED(called)
        name = "emu_run_clusters" if clusters else "emu_run_grid"
        function(name)(first.address, ctypes.cast(callback, ctypes.c_void_p).value)
        if failures:
            raise failures[0]


def bytes_at(address: int, nbytes: int) -> bytes:
    return ctypes.string_at(address, nbytes)


def cluster(count: int, threads: int = 32, smem_bytes: int = 256, grid: Grid | None = None) -> list[Block]:
    """The blocks of a cluster along x, with a window of shared memory. The grid is counted in clusters."""
    window = Window(count + 1 << context.RANK_SHIFT)
    grid = grid or Grid()
    blocks = []
    for rank in range(count):
        block = Block(threads, smem_bytes, grid, window.address + (rank + 1 << context.RANK_SHIFT))
        ctx = block.ctx
        ctx.cluster_rank, ctx.cluster_blocks = rank, count
        ctx.cluster[0], ctx.grid[0] = count, count * grid.fields.blocks
        ctx.cluster_base, ctx.absent = window.address, 2**64 - (2 << count)
        blocks.append(block)
    for block, mate in zip(blocks, [*blocks[1:], blocks[0]]):
        block.ctx.mate, block.ctx.leader = mate.address, blocks[0].address
        block.allocate(*((each.ctx.smem, smem_bytes, context.SHARED) for each in blocks if smem_bytes))
    return blocks
