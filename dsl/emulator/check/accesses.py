"""The global memory that a launch accessed, as other launches and copies see it: read off its cells (accesses.cc)."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from dsl.emulator.check.numbers import AccessRun, AccessRuns, Cell, access
from dsl.emulator.machine import native
from dsl.emulator.ptx.syntax import Instr

RUN = np.dtype([("lo", "u8"), ("hi", "u8"), ("site", "u4"), ("kind", "u4")])
assert RUN.itemsize == ctypes.sizeof(AccessRun)
KINDS = (0, access.WRITE, access.STRONG, access.WRITE | access.STRONG)
_CELL_BYTES = ctypes.sizeof(Cell)
_IN_USE = np.uint64(3 << 62)  # of a row of /proc/self/pagemap: in memory, or swapped out (proc(5))


class Accesses(NamedTuple):
    """`runs`: by kind (KINDS), RUN rows in the order of their addresses, without overlaps. `sites`: the instruction of
    each run. `meets`: whether its threads may wait for threads of other launches, by releases and acquires."""

    runs: Mapping[int, np.ndarray]
    sites: tuple[Instr, ...] = ()
    meets: bool = False


def accesses(cells: Mapping[tuple[int, int], int], shift: int) -> dict[int, np.ndarray]:
    """The runs of a launch that has ended: `cells` has the address of the cells of each allocation (first byte, end),
    each of 1 << `shift` bytes."""
    found = AccessRuns()
    add = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_uint64] * 2, ctypes.c_uint32)(
        native.address("emu_access_runs")
    )
    for (lo, hi), address in sorted(cells.items()):
        for first, end in _touched(address, ((hi - lo) >> shift) + 1):
            add(ctypes.addressof(found), address + first * _CELL_BYTES, end - first, lo + (first << shift), shift)
    if not found.count:
        return {}
    rows = np.frombuffer(ctypes.string_at(found.runs, found.count * RUN.itemsize), RUN)
    ctypes.CDLL(None).free(ctypes.c_void_p(found.runs))
    return {kind: of for kind in KINDS if len(of := rows[rows["kind"] == kind])}


def _touched(address: int, count: int) -> Iterator[tuple[int, int]]:
    """The ranges of cells that are in pages which some kernel has touched; all where the system does not tell."""
    first = address // mmap.PAGESIZE
    pages = -(-(address + count * _CELL_BYTES) // mmap.PAGESIZE) - first
    edges = np.flatnonzero(np.diff(_in_use(first, pages), prepend=False, append=False))
    done = 0
    for start, stop in edges.reshape(-1, 2).tolist():
        lo = max(((first + start) * mmap.PAGESIZE - address) // _CELL_BYTES, done)
        done = min(-(-((first + stop) * mmap.PAGESIZE - address) // _CELL_BYTES), count)
        if lo < done:
            yield lo, done


def _in_use(first: int, pages: int) -> np.ndarray:
    try:
        file = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return np.ones(pages, bool)
    try:
        rows = np.frombuffer(os.pread(file, 8 * pages, 8 * first), np.uint64)
    except OSError:
        return np.ones(pages, bool)
    finally:
        os.close(file)
    return (rows & _IN_USE) != 0 if len(rows) == pages else np.ones(pages, bool)
