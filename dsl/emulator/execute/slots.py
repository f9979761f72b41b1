"""A slot: where one block at a time runs. Its context, shared and local memory, queues and coroutine frames.

Slots are kept between launches, so that a small launch maps and clears little.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from dsl.emulator import families
from dsl.emulator.machine import context
from dsl.emulator.machine.memory import Allocation, Buffer, Window, free, interval_table

KEPT = 16  # slots that wait for the next launch
# Rounds after which a block that does nothing but poll memory gives way to other blocks; the second while others of its
# cluster can run, or if its threads give way.
PATIENCE, CLUSTER_PATIENCE = 256, 2
PRINT_SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64
)
HEAD_BYTES = context.offset("live")  # a launch sets these bytes; the scheduler sets the rest


class Slot:
    """`launch` is the launch it serves now; `assertion` and `failure` are what the device's calls left."""

    def __init__(self) -> None:
        self.ctx = context.Context()
        self.address = ctypes.addressof(self.ctx)
        self._window: Window | None = None
        self._local, self._sites = Buffer(), Buffer()
        self._kept: dict[str, Any] = {}  # what native code of a family keeps of a block, by the name of its use
        self._callback = PRINT_SIGNATURE(self._from_device)
        self._callback_address = ctypes.cast(self._callback, ctypes.c_void_p).value
        self.launch: Any = None  # the Launch that has the slot
        self.assertion: str | None = None
        self.failure: BaseException | None = None
        self.own: list[Allocation] = []

    def prepare(self, launch, cluster: Cluster | None = None, rank: int = 0) -> None:
        """Make it ready for the blocks of `launch`: nothing of an earlier one is left in it.

        With a `cluster` for its blocks of a `rank` alone.
        """
        self.launch, self.assertion, self.failure = launch, None, None
        ctx, code, threads = self.ctx, launch.code, launch.threads
        smem_bytes, local_bytes = launch.smem_static + launch.smem_dynamic, code.places.local_bytes
        frames, frame_bytes = ctx.frames, ctx.frame_bytes
        ctypes.memset(self.address, 0, HEAD_BYTES)
        ctx.frames, ctx.frame_bytes = frames, frame_bytes
        ctx.smem = cluster.smem_of(rank) if cluster is not None else self._smem_of(smem_bytes)
        ctx.next, ctx.shared_grid = self.address, ctypes.addressof(launch.shared)
        ctx.grid[:], ctx.block_dim[:], ctx.cluster[:] = launch.grid, launch.block, launch.cluster
        ctx.threads, ctx.warps = threads, -(-threads // 32)
        ctx.smem_static, ctx.smem_dynamic = launch.smem_static, launch.smem_dynamic
        ctx.smem_bytes, ctx.multiprocessors = smem_bytes, launch.program.limits.multiprocessors
        ctx.patience = PATIENCE if cluster is None and not launch.gives_way else CLUSTER_PATIENCE
        ctx.gives_way = int(launch.gives_way)
        ctx.cluster_rank, ctx.cluster_blocks = rank, 1 if cluster is None else cluster.blocks
        ctx.cluster_base = ctx.smem - (rank + 1 << context.RANK_SHIFT)
        ctx.absent = 2**64 - (2 << ctx.cluster_blocks)
        ctx.leader = ctx.mate = self.address
        ctx.local, ctx.local_bytes = self._local.of(local_bytes * threads), local_bytes
        ctx.params, ctx.variables = launch.param_address, launch.program.variables_address
        ctx.grid_workspace = launch.workspace.address if launch.workspace else 0
        ctx.print = self._callback_address
        sites_bytes = 16 * len(code.sites) + 16
        ctx.sites, ctx.sites_bytes = self._sites.of(sites_bytes), sites_bytes
        ctypes.memset(ctx.sites, 0, sites_bytes)
        for use, kind in _kinds_kept().items():
            if use in code.uses:
                if use not in self._kept:
                    self._kept[use] = kind()
                self._kept[use].attach(ctx)
        own = (
            Allocation(ctx.smem, smem_bytes, "shared memory", context.SHARED),
            Allocation(ctx.local, local_bytes * threads, "local memory", context.LOCAL),
            Allocation(ctx.params, code.places.param_bytes, "kernel parameters", context.PARAM),
        )
        self.own = [each for each in own if each.size_bytes]
        if cluster is not None:
            self.own += cluster.others(rank, smem_bytes)
        self.interval_rows = interval_table(launch.allocations, self.own)
        ctx.intervals, ctx.interval_count = ctypes.addressof(self.interval_rows), len(self.interval_rows) // 3

    def _smem_of(self, smem_bytes: int) -> int:
        """The address of the slot's own memory."""
        if self._window is None or self._window.size_bytes < smem_bytes:
            if self._window is not None:
                self._window.close()
            self._window = Window(smem_bytes)
        return self._window.address

    def _from_device(self, *call: int) -> int:
        return self.launch.from_device(self, *call)

    def close(self) -> None:
        """Give its memory back."""
        if self._window is not None:
            self._window.close()
        for each in self._kept.values():
            each.close()
        free(self.ctx.frames)


class Workspace:
    """The barrier of the blocks of a cooperative launch, as CUDA's header cooperative_groups has it: two u32, the size
    and the state."""

    SIZE_BYTES = 8

    def __init__(self) -> None:
        self._memory = (ctypes.c_uint32 * 4)(self.SIZE_BYTES)
        self.address = ctypes.addressof(self._memory)
        self.allocation = Allocation(self.address, self.SIZE_BYTES, "the barrier of the grid", context.GLOBAL)

    def arrived(self, blocks: int) -> int:
        """How many of the grid's blocks have come in this round: each adds 1, and the first block what is missing to
        2 ** 31 besides."""
        state = self._memory[1] & 0x7FFFFFFF
        return state if state < blocks else state - (1 << 31) + blocks


class Cluster:
    """The slots of a launch for the blocks of one cluster at a time, and the window in which their shared memory lies.

    The memory of a block begins at its rank + 1 in bits 24 and up of the address. `close` gives the window back.
    """

    def __init__(self, launch, blocks: int):
        self.blocks = blocks
        self._window = _windows.pop() if _windows else Window(context.MAX_CLUSTER + 1 << context.RANK_SHIFT)
        self.slots = []
        try:
            for rank in range(blocks):
                self.slots.append(take())
                self.slots[-1].prepare(launch, self, rank)
        except BaseException:
            give_back(self.slots)
            self.close()
            raise
        for slot, mate in zip(self.slots, [*self.slots[1:], self.slots[0]]):
            slot.ctx.mate, slot.ctx.leader = mate.address, self.slots[0].address

    def smem_of(self, rank: int) -> int:
        """The address of the shared memory of the block of a rank."""
        return self._window.address + (rank + 1 << context.RANK_SHIFT)

    def others(self, rank: int, smem_bytes: int) -> list[Allocation]:
        """The shared memory of the blocks but one."""
        return [
            Allocation(self.smem_of(each), smem_bytes, f"shared memory of block {each} of the cluster", context.SHARED)
            for each in range(self.blocks)
            if each != rank and smem_bytes
        ]

    def close(self) -> None:
        _windows.append(self._window)


_windows: list[Window] = []  # of clusters, for the next launches
_kept: list[Slot] = []


@functools.cache
def _kinds_kept() -> dict[str, Any]:
    """By the name of a use of code: what native code needs for it in each slot."""
    return {use: kind for each in families.named("kept", "KEPT") for use, kind in each.items()}


def take() -> Slot:
    """A slot for a launch; call its `prepare`."""
    try:
        return _kept.pop()
    except IndexError:
        return Slot()


def give_back(slots: list[Slot]) -> None:
    """Give back the slots of a finished launch; none of its native code may run any more."""
    for slot in slots:
        slot.launch = slot.failure = None
        if len(_kept) < KEPT:
            _kept.append(slot)
        else:
            slot.close()
