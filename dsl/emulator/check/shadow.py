"""The memory of cells, see shadow.cc, and the footprint of a launch that has ended."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dsl.emulator.check.numbers import Cell, CellEntry, access
from dsl.emulator.machine import context

_KIND_SHIFT, _PLACE_BITS = 36, 5  # of an entry: check/check.h
_ENTRY = np.dtype([("meta", "u8"), ("label", "u4"), ("lanes", "u4")])
_CELL = np.dtype([("count", "u4"), ("unused", "u4"), ("beyond", "u8"), ("first", _ENTRY, 2)])
assert _CELL.itemsize == ctypes.sizeof(Cell) and _ENTRY.itemsize == ctypes.sizeof(CellEntry)
READ, WRITTEN = 1, 2


class Pages:
    """Zeroed host memory of which only touched pages take room."""

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


@dataclass(frozen=True)
class Footprint:
    """The accesses of a launch of the entry `name` to global memory, which a launch that may overlap it has to wait for
    (PTX ISA 9.7.13.13, griddepcontrol): for each allocation, (first address, end), a byte for each of its bytes, READ,
    WRITTEN or 0."""

    name: str
    touched: dict[tuple[int, int], np.ndarray]

    def put(self, lo: int, hi: int, cells: int, shift: int) -> None:
        """Fill the empty cells of an allocation at an address, each of 1 << `shift` bytes, with the accesses to it."""
        touched = self.touched.get((lo, hi))
        if touched is None:
            return
        rows, width = _cells(lo, hi, cells, shift), 1 << shift
        padded = np.zeros(len(rows) * width, np.uint8)
        padded[: len(touched)] = touched
        what = padded.reshape(-1, width).max(axis=1)
        for mark, kind in (
            (READ, 0),
            (WRITTEN, access.WRITE | access.CTA),
        ):  # CTA: unlike a plain write of the same value
            at = np.flatnonzero(what == mark)
            rows["count"][at] = 1
            meta = context.EARLIER_GRID << _PLACE_BITS | kind << _KIND_SHIFT
            rows["first"][at, 0] = np.array((meta, 1, 1), _ENTRY)


def footprint(name: str, cells: Mapping[tuple[int, int], int], shift: int) -> Footprint:
    """The footprint of a launch that has ended: `cells` has the address of the cells of each allocation."""
    touched = {}
    for (lo, hi), address in cells.items():
        rows = _cells(lo, hi, address, shift)
        writes = rows["first"]["meta"] >> _KIND_SHIFT & access.WRITE
        is_written = (rows["count"] > 0) & (writes[:, 0] == 1) | (rows["count"] > 1) & (writes[:, 1] == 1)
        what = np.where(is_written, WRITTEN, np.where(rows["count"] > 0, READ, 0)).astype(np.uint8)
        if what.any():
            touched[lo, hi] = np.repeat(what, 1 << shift)[: hi - lo]
    return Footprint(name, touched)


def _cells(lo: int, hi: int, address: int, shift: int) -> np.ndarray:
    count = (hi - lo + (1 << shift) - 1) >> shift
    return np.frombuffer(memoryview((ctypes.c_uint8 * (count * _CELL.itemsize)).from_address(address)), _CELL)
