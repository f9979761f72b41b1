"""The memory beside memory where checkers keep what they know: cells of accesses, and bytes of what was written.

Shared and local memory have theirs in the slot, forgotten when a block begins; each allocation that kernels may touch
has its own for the time of a launch (races), or as long as it lives (what was written). Pages that no kernel touches
cost nothing.
"""

from __future__ import annotations

import ctypes
import mmap

from dsl.emulator.builder import Builder, mates

SIGNATURES = {"emu_near": "void (ptr, i64)", "emu_begin_checks": "void (ptr)"}


def functions() -> list[str]:
    """The IR text."""
    return [_near(), _begin(), _owner()]


def _near() -> str:
    """Remember the allocation that holds an address, and what lies beside it."""
    f = Builder()
    rows = f.cast("inttoptr", f.load("intervals"), "i64", "ptr")
    low, high = f.alloca("i64"), f.alloca("i64")
    f.put(low, 0, "i64")
    f.put(high, f.load("interval_count"), "i64")

    def row(table: str, index: str, columns: int, column: int) -> str:
        cell = f.add(f.mul(index, columns, "i64"), column, "i64")
        return f.get(f.op(f"getelementptr i64, ptr {table}, i64 {cell}"), "i64")

    with f.loop() as done:
        a, b = f.get(low, "i64"), f.get(high, "i64")
        f.break_if(f.cmp("uge", a, b, "i64"), done)
        middle = f.lshr(f.add(a, b, "i64"), 1, "i64")
        above = f.cmp("ugt", row(rows, middle, 3, 0), "%address", "i64")
        f.put(low, f.select(above, a, f.add(middle, 1, "i64"), "i64"), "i64")
        f.put(high, f.select(above, middle, b, "i64"), "i64")
    for name, value in (("near_lo", "%address"), ("near_bytes", "0"), ("near_cells", "0"), ("near_valid", "0")):
        f.store(name, value)
    below = f.get(low, "i64")
    f.return_if(f.cmp("eq", below, 0, "i64"), "void")
    index = f.sub(below, 1, "i64")
    lo, hi = row(rows, index, 3, 0), row(rows, index, 3, 1)
    f.return_if(f.cmp("uge", "%address", hi, "i64"), "void")
    shadows = f.cast("inttoptr", f.load("shadows"), "i64", "ptr")
    f.store("near_lo", lo)
    f.store("near_bytes", f.sub(hi, lo, "i64"))
    f.store("near_cells", row(shadows, index, 2, 0))
    f.store("near_valid", row(shadows, index, 2, 1))
    f.do("ret void")
    return f.function("define void @emu_near(ptr %ctx, i64 %address)")


def _owner() -> str:
    """The slot of the cluster in whose shared memory an address is, or null."""
    f = Builder()
    with mates(f, "%ctx") as slot:
        offset = f.sub("%address", f.load("smem", of=slot), "i64")
        f.return_if(f.cmp("ult", offset, f.load("smem_bytes", of=slot), "i64"), f"ptr {slot}")
    f.do("ret ptr null")
    return f.function("define internal ptr @owner(ptr %ctx, i64 %address)")


def _begin() -> str:
    """A block begins: nobody has met, nothing is written."""
    f = Builder()
    threads = f.cast("zext", f.load("threads"), "i32", "i64")
    f.store("now", "1")
    f.store("epoch", "1")
    f.store("partial_barriers", "0")
    row = f.mul(threads, 4, "i64")
    sizes = {
        "labels": row, "known": f.mul(row, threads, "i64"), "smem_valid": f.load("smem_bytes"),
        "local_valid": f.mul(f.load("local_bytes"), threads, "i64"), "proxied": row,
        "matrix_reads": f.mul(f.load("smem_bytes"), 2, "i64"),
    }  # fmt: skip
    for name, size in sizes.items():
        address = f.load(name)
        with f.if_(f.cmp("ne", address, 0, "i64")):
            start = f.cast("inttoptr", address, "i64", "ptr")
            f.do(f"call void @llvm.memset.p0.i64(ptr {start}, i8 0, i64 {size}, i1 false)")
    f.do("call void @begin_trail(ptr %ctx)")
    f.do("ret void")
    return f.function("define void @emu_begin_checks(ptr %ctx)")


class Pages:
    """Zeroed host memory that takes room only where it is touched."""

    def __init__(self, nbytes: int):
        self._map = mmap.mmap(-1, max(nbytes, mmap.PAGESIZE), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
        self.size_bytes = nbytes
        anchor = ctypes.c_char.from_buffer(self._map)
        self.address = ctypes.addressof(anchor)
        del anchor

    def close(self) -> None:
        """Give it back."""
        self._map.close()


_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)
