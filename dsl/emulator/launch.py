"""One launch: arguments and memory into the context, the native run in a thread, a fault or Ctrl-C out of it."""

from __future__ import annotations

import ctypes
import itertools
import sys
import threading

import numpy as np

from . import context, native, print_format, report
from .memory import Allocation, Memory, Window, interval_table
from .program import Code, Program
from .queue import Queues

MAX_SMEM_BYTES = 227 * 1024  # a block on sm_90; PTX ISA and CUDA guide, compute capabilities
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)
PRINT_SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64
)


def launch(
    program: Program,
    entry_name: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    params: list[bytes],
    memory: Memory,
    smem_bytes: int = 0,
    cluster: tuple[int, int, int] = (1, 1, 1),
    write=None,
) -> None:
    """Run a kernel to its end. `params` holds one bytes object a .param, exactly as long as it.

    `write(str)` gets printf text (default: standard output). Raises Fault; ValueError for a launch that no GPU would
    accept; KeyboardInterrupt at once on SIGINT.
    """
    if entry_name not in program.entries:
        raise ValueError(f"the PTX has no entry `{entry_name}`; it has {', '.join(program.entries) or 'none'}")
    _check_shape(program.entries[entry_name], grid, block, cluster, params, smem_bytes)
    _Launch(program, entry_name, grid, block, params, memory, smem_bytes, write or sys.stdout.write).run()


def _check_shape(entry, grid, block, cluster, params, smem_bytes) -> None:
    for name, value, most in (("grid", grid, MAX_GRID), ("block", block, MAX_BLOCK)):
        if len(value) != 3 or any(not 1 <= v <= m for v, m in zip(value, most)):
            raise ValueError(f"{name}={tuple(value)} is outside (1, 1, 1) to {most}")
    if int(np.prod(block)) > context.MAX_THREADS:
        raise ValueError(f"block={tuple(block)} has {int(np.prod(block))} threads; a block has at most 1024")
    if tuple(cluster) != (1, 1, 1):
        raise ValueError(f"cluster={tuple(cluster)}: clusters of more than one block are not emulated yet")
    if entry.reqntid is not None and tuple(block) != tuple(entry.reqntid):
        raise ValueError(f"block={tuple(block)}, but `{entry.name}` requires {entry.reqntid} (.reqntid)")
    if entry.static_smem_bytes + smem_bytes > MAX_SMEM_BYTES:
        raise ValueError(
            f"{entry.static_smem_bytes} static + {smem_bytes} dynamic bytes of shared memory; "
            f"a block has at most {MAX_SMEM_BYTES}"
        )
    sizes = [p.size_bytes for p in entry.params]
    if [len(p) for p in params] != sizes:
        raise ValueError(f"`{entry.name}` takes parameters of {sizes} bytes, got {[len(p) for p in params]}")


class _Launch:
    def __init__(self, program, entry_name, grid, block, params, memory, smem_bytes, write):
        self.program, self.entry_name, self.write = program, entry_name, write
        self.grid, self.block = grid, block
        self.code: Code = program.code(entry_name, int(np.prod(grid)) * int(np.prod(block)))
        self.failure: BaseException | None = None
        self.assertion: str | None = None
        self.queues: Queues | None = None
        self._keep: list = []
        self.ctx = context.Context()
        places = self.code.places
        threads = int(np.prod(block))
        self.window = Window(places.smem_static + smem_bytes)
        self._fill_shape(threads, places.smem_static, smem_bytes)
        self.allocations = memory.allocations() + program.allocations()
        self._fill_memory(places, threads, params)

    def _fill_shape(self, threads: int, smem_static: int, smem_dynamic: int) -> None:
        ctx = self.ctx
        ctx.grid[:], ctx.block_dim[:], ctx.cluster[:] = self.grid, self.block, (1, 1, 1)
        ctx.threads, ctx.warps = threads, -(-threads // 32)
        ctx.smem_static, ctx.smem_dynamic = smem_static, smem_dynamic
        ctx.smem, ctx.smem_bytes = self.window.address, smem_static + smem_dynamic

    def _fill_memory(self, places, threads: int, params: list[bytes]) -> None:
        ctx = self.ctx
        param_address = self._aligned_buffer(max(places.param_bytes, 1))
        for offset, data in zip(places.param_offsets, params):
            ctypes.memmove(param_address + offset, data, len(data))
        ctx.params, ctx.variables = param_address, self.program.variables_address
        ctx.local_bytes = places.local_bytes
        ctx.local = self._aligned_buffer(max(places.local_bytes * threads, 1))
        ctypes.memset(ctx.local, 0xFF, places.local_bytes * threads)
        own = [
            Allocation(self.window.address, ctx.smem_bytes, "shared memory", context.SHARED),
            Allocation(ctx.local, places.local_bytes * threads, "local memory", context.LOCAL),
            Allocation(param_address, places.param_bytes, "kernel parameters", context.PARAM),
        ]
        table = interval_table(self.allocations + [a for a in own if a.size_bytes])
        sites = np.zeros(2 * len(self.code.sites) + 2, dtype=np.uint64)
        self._keep += [table, sites]
        ctx.intervals, ctx.interval_count, ctx.sites = table.ctypes.data, len(table), sites.ctypes.data
        self.all_allocations = sorted(self.allocations + own, key=lambda a: a.address)
        if "cp.async" in self.code.uses:
            self.queues = Queues(threads)
            ctx.queues = self.queues.address
        callback = PRINT_SIGNATURE(self._from_device)
        self._keep.append(callback)
        ctx.print = ctypes.cast(callback, ctypes.c_void_p).value

    def _aligned_buffer(self, nbytes: int) -> int:
        buffer = (ctypes.c_char * (nbytes + 256))()
        self._keep.append(buffer)
        return (ctypes.addressof(buffer) + 255) // 256 * 256

    # ** the run

    def run(self) -> None:
        try:
            self._run_interruptibly()
            if self.failure is not None:
                raise self.failure
            if self.ctx.status == context.INTERRUPTED:
                raise KeyboardInterrupt
            if self.ctx.status:
                raise report.fault_of(self)
        finally:
            self._close()

    def _run_interruptibly(self) -> None:
        """The kernel runs in a thread of its own so that the main one can hear SIGINT."""
        run_grid = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(native.runtime()["emu_run_grid"])
        done = threading.Event()

        def work() -> None:
            try:
                run_grid(ctypes.addressof(self.ctx), self.code.block)
            finally:
                done.set()

        threading.Thread(target=work, name="emulator", daemon=True).start()
        try:
            done.wait()  # not Thread.join: interrupted, Python 3.11 takes a running thread for a finished one
        except BaseException:
            self._stop(done)
            raise

    def _stop(self, done: threading.Event) -> None:
        """Memory may only be given back once native code has left it, however often Ctrl-C is pressed."""
        self.ctx.stop = 1
        while not done.is_set():
            try:
                done.wait()
            except KeyboardInterrupt:
                continue

    def _close(self) -> None:
        self.window.close()
        if self.queues is not None:
            self.queues.close()
        if self.ctx.frames:
            free = ctypes.CDLL(None).free
            free.argtypes = [ctypes.c_void_p]
            free(self.ctx.frames)

    # ** calls from the device

    def _from_device(self, which: int, site: int, thread: int, first: int, second: int) -> int:
        """vprintf (0) or __assertfail (1); a negative answer ends the launch. Never raises: native code called."""
        try:
            if which == 0:
                text, count = print_format.render(self.read_string, self.read_bytes, first, second)
                self.write(text)
                return count
            self.assertion = self.read_string(first)
            return 0
        except print_format.BadPointer as bad:
            ctx = self.ctx
            ctx.status, ctx.site, ctx.thread = context.OUT_OF_BOUNDS, site, thread
            ctx.address, ctx.access_bytes = bad.address, bad.nbytes
            return -1
        except BaseException as error:  # noqa: BLE001 - kept for the launching thread
            self.failure = error
            self.ctx.status = context.CALLBACK
            return -1

    def read_bytes(self, address: int, nbytes: int) -> bytes:
        """Device memory as the kernel sees it. Raises BadPointer outside every allocation."""
        for each in self.all_allocations:
            if each.address <= address and address + nbytes <= each.end:
                return ctypes.string_at(address, nbytes)
        raise print_format.BadPointer(address, nbytes)

    def read_string(self, address: int) -> str:
        for each in self.all_allocations:
            if each.address <= address < each.end:
                data = ctypes.string_at(address, each.end - address)
                end = data.find(b"\0")
                if end < 0:
                    raise print_format.BadPointer(each.end, 1)
                return data[:end].decode("utf-8", "replace")
        raise print_format.BadPointer(address, 1)

    # ** for reports

    def thread_index(self, linear: int) -> tuple[int, int, int]:
        x, y, _ = self.block
        return linear % x, linear // x % y, linear // (x * y)

    def lanes(self, name: str) -> list[int]:
        """Linear thread numbers set in one of the scheduler's bit masks."""
        masks = getattr(self.ctx, name)
        return [
            32 * w + lane
            for w, lane in itertools.product(range(self.ctx.warps), range(32))
            if masks[w] >> lane & 1 and 32 * w + lane < self.ctx.threads
        ]
