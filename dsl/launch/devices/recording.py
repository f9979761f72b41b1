"""The recording device: the emulator, which writes down what a GPU needs to repeat each launch.

A recording is a folder: `launches.jsonl`, a line a launch, and files of bytes named by their sha256. A line holds

    delays      [[offset in the PTX, what a GPU's PTX gets there], ...], of a recording under delays
    ptx, entry, grid, block, cluster, smem_bytes, flags      ptx is the name of a file
    params      [{"bytes": hex, "pointers": [[offset, region, offset in it], ...]}, ...]   pointers are zero in `bytes`
    regions     {id: {"size_bytes", "residue", "label"}}: the memory a launch can reach; the residue is modulo 4096
    writes      {id: [row, ...]}: what the host wrote since the last launch, all of it where a region is new
    pointers    [[region, offset, region, offset in it], ...]: pointers stored in memory
    tensor_maps [{"param": index or "region": id, "at", "mode": "tiled", "im2col" or "im2col_wide",
                "arguments": {...}}, ...]: maps for TMA, whose bytes are the driver's own: a GPU's driver makes them
                again from these arguments
    predicted   {id: [row, ...]}: what the kernel changed; absent where it did not end

and a row is {"at", "size"} with "fill" (one byte's value), or "bytes" (a file), and where not all bytes of it were
written "mask" (a file: one bit a byte, lowest first). Memory is reached through pointers in parameters, and in memory.
"""

from __future__ import annotations

import bisect
import ctypes
import dataclasses
import hashlib
import json
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dsl.emulator.families.tensor_map.tensor_map import ALIGNMENT_BYTES, BYTES as MAP_BYTES, MAP_MODES, decode
from dsl.launch.devices.emulated import Emulated
from dsl.launch.devices.protocol import DeviceError, Launch
from dsl.lower.ptx_identity import without_folders

if TYPE_CHECKING:
    from dsl.perturbation.insertion import Insertion
    from dsl.perturbation.perturbation import Perturbation

CHUNK_BYTES = 1 << 20
PAGE_BYTES = 4096
Content = list[int | bytes]  # of each chunk: one byte's value, or all bytes


class Recording(Emulated):
    """The emulator with a notebook. Kernels are compiled for `arch`."""

    def __init__(self, arch: str, folder: str):
        super().__init__()
        self.arch, self.folder = arch, Path(folder)
        self._ids: dict[tuple[int, int], int] = {}  # address, bytes -> region
        self._delays: Perturbation | None = None
        self._content: dict[int, Content] = {}  # of each region, after the last launch

    def perturb(self, perturbation: Perturbation) -> None:
        """Note the delays for the GPU; the emulator's own run has none, so that it predicts what is right."""
        self._delays = perturbation

    def load(self, ptx: str) -> tuple[Any, str]:
        return super().load(ptx), ptx

    def param_bytes(self, program: tuple[Any, str], entry: str) -> list[int]:
        return super().param_bytes(program[0], entry)

    def launch(self, program: tuple[Any, str], entry: str, launch: Launch, params: Sequence[bytes]) -> None:
        memory = Regions(self.memory.allocations())
        ptx = without_folders(program[1])
        line = {
            "ptx": self._save(ptx.encode()),
            "entry": entry,
            "grid": launch.grid,
            "block": launch.block,
            "cluster": launch.cluster,
            "smem_bytes": launch.smem_bytes,
            "flags": launch.flags,
        }
        if self._delays is not None:
            line["delays"] = self._insertions(ptx)
        reached, pointers = memory.reached_from(params)
        ids = {index: self._id(memory, index) for index in reached}
        line["params"] = [_param(param, memory, ids) for param in params]
        line["regions"] = {
            ids[index]: {
                "size_bytes": memory.size_bytes(index),
                "residue": memory.starts[index] % PAGE_BYTES,
                "label": memory.labels[index],
            }
            for index in reached
        }
        line["pointers"] = [[ids[a], at, ids[b], to] for a, at, b, to in pointers]
        line["tensor_maps"] = [*_maps_of_params(params, memory), *_maps_in_memory(pointers, memory, ids)]
        before = {index: content(memory.array(index)) for index in reached}
        line["writes"] = {
            ids[index]: self._rows(self._content.get(ids[index]), before[index], memory.size_bytes(index))
            for index in reached
        }
        try:
            super().launch(program[0], entry, launch, params)
            after = {index: content(memory.array(index)) for index in reached}
            line["predicted"] = {
                ids[index]: self._rows(before[index], after[index], memory.size_bytes(index)) for index in reached
            }
            self._content |= {ids[index]: contents for index, contents in after.items()}
        finally:
            with open(self.folder / "launches.jsonl", "a") as file:
                file.write(json.dumps(line) + "\n")

    def _insertions(self, ptx: str) -> list[Insertion]:
        """The insertions that a GPU's PTX gets. Raises DeviceError for PTX that takes no delays."""
        assert self._delays is not None
        try:
            return self._delays.insertions(ptx)
        except ValueError as error:
            raise DeviceError("DELAYS", str(error), {"outcome": "infra"}) from None

    def _id(self, memory: Regions, index: int) -> int:
        return self._ids.setdefault((memory.starts[index], memory.size_bytes(index)), len(self._ids))

    def _rows(self, before: Content | None, after: Content, size_bytes: int) -> list[dict]:
        return [
            {name: self._save(value) if isinstance(value, bytes) else value for name, value in row.items()}
            for row in changes(before, after, size_bytes)
        ]

    def _save(self, data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()
        if not (self.folder / name).exists():
            (self.folder / name).write_bytes(data)
        return name


class Regions:
    """The allocations of a device, those that overlap as one."""

    def __init__(self, allocations: Sequence[Any]):
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.labels: list[str] = []
        for each in allocations:
            if self.ends and each.address < self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], each.end)
            else:
                self.starts.append(each.address)
                self.ends.append(each.end)
                self.labels.append(each.label)

    def size_bytes(self, index: int) -> int:
        return self.ends[index] - self.starts[index]

    def array(self, index: int) -> np.ndarray:
        """The bytes of a region, in place."""
        return bytes_at(self.starts[index], self.size_bytes(index))

    def find(self, address: int) -> tuple[int, int] | None:
        """The region an address points into, or just past, and how far."""
        index = bisect.bisect_right(self.starts, address) - 1
        if index < 0 or address > self.ends[index]:
            return None
        return index, address - self.starts[index]

    def pointers(self, data: np.ndarray) -> Iterator[tuple[int, int, int]]:
        """(offset, region, offset in it) of each aligned 8-byte word that is a pointer."""
        if not self.starts or data.size < 8:
            return
        words = data[: data.size // 8 * 8].view("<u8")
        for word in np.flatnonzero((words >= np.uint64(self.starts[0])) & (words <= np.uint64(self.ends[-1]))):
            region = self.find(int(words[word]))
            if region:
                yield 8 * int(word), *region

    def reached_from(self, params: Sequence[bytes]) -> tuple[list[int], list[tuple[int, int, int, int]]]:
        """Regions that parameters point to, directly or through memory, and the pointers stored in memory."""
        todo = [index for param in params for _, index, _ in self.pointers(np.frombuffer(param, np.uint8))]
        reached: list[int] = []
        links = []
        while todo:
            index = todo.pop(0)
            if index in reached:
                continue
            reached.append(index)
            skip = -self.starts[index] % 8
            for at, to, offset in self.pointers(self.array(index)[skip:]):
                links.append((index, at + skip, to, offset))
                todo.append(to)
        return reached, links


def _param(param: bytes, memory: Regions, ids: dict[int, int]) -> dict:
    data, pointers = bytearray(param), []
    for at, index, offset in memory.pointers(np.frombuffer(param, np.uint8)):
        struct.pack_into("<Q", data, at, 0)
        pointers.append([at, ids[index], offset])
    return {"bytes": data.hex(), "pointers": pointers}


def tensor_map(form: bytes) -> dict | None:
    """How the driver is asked for a tensor map of these bytes; None where they are none."""
    arguments = decode(form)
    if arguments is None:
        return None
    fields = {name: value for name, value in dataclasses.asdict(arguments).items() if name != "address"}
    return {"mode": MAP_MODES[type(arguments)], "arguments": fields}


def _maps_of_params(params: Sequence[bytes], memory: Regions) -> Iterator[dict]:
    for index, param in enumerate(params):
        for at, _, _ in memory.pointers(np.frombuffer(param, np.uint8)):
            form = param[at : at + MAP_BYTES]
            described = tensor_map(form) if len(form) == MAP_BYTES else None
            if described:
                yield {"param": index, "at": at} | described


def _maps_in_memory(pointers: list[tuple[int, int, int, int]], memory: Regions, ids: dict[int, int]) -> Iterator[dict]:
    for index, at, _, _ in pointers:
        if (memory.starts[index] + at) % ALIGNMENT_BYTES or at + MAP_BYTES > memory.size_bytes(index):
            continue
        described = tensor_map(memory.array(index)[at : at + MAP_BYTES].tobytes())
        if described:
            yield {"region": ids[index], "at": at} | described


def bytes_at(address: int, size_bytes: int) -> np.ndarray:
    """Host memory as an array, in place."""
    return np.frombuffer(memoryview((ctypes.c_uint8 * size_bytes).from_address(address)), np.uint8)


def content(data: np.ndarray) -> Content:
    """A copy of memory, chunk by chunk."""
    chunks = (data[at : at + CHUNK_BYTES] for at in range(0, data.size, CHUNK_BYTES))
    return [int(chunk[0]) if (chunk == chunk[0]).all() else chunk.tobytes() for chunk in chunks]


def changes(before: Content | None, after: Content, size_bytes: int) -> Iterator[dict]:
    """Rows that lead from one content to another; from nothing, all of it. Neighbouring fills become one row."""
    pending = None
    for number, chunk in enumerate(after):
        at, old = number * CHUNK_BYTES, None if before is None else before[number]
        if old == chunk:
            continue
        row = _change(old, chunk, at, min(CHUNK_BYTES, size_bytes - at))
        if pending and "fill" in row and pending.get("fill") == row["fill"] and pending["at"] + pending["size"] == at:
            pending["size"] += row["size"]
            continue
        if pending:
            yield pending
        pending = row
    if pending:
        yield pending


def _change(old: int | bytes | None, new: int | bytes, at: int, size: int) -> dict:
    if isinstance(new, int) and not isinstance(old, bytes):
        return {"at": at, "size": size, "fill": new}
    data = _bytes(new, size)
    if old is None:
        return {"at": at, "size": size, "bytes": data.tobytes()}
    differs = data != _bytes(old, size)
    first, last = np.flatnonzero(differs)[[0, -1]]
    row = {"at": at + int(first), "size": int(last - first + 1), "bytes": data[first : last + 1].tobytes()}
    if not differs[first : last + 1].all():
        row["mask"] = np.packbits(differs[first : last + 1], bitorder="little").tobytes()
    return row


def _bytes(chunk: int | bytes, size: int) -> np.ndarray:
    return np.frombuffer(chunk, np.uint8) if isinstance(chunk, bytes) else np.full(size, chunk, np.uint8)
