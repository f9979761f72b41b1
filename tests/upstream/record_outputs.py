"""Run a program and write down what each of its kernel launches left in device memory, a JSON line a launch.

    python -m dsl --compiler COMPILER record_outputs.py RESULT PROGRAM ARGUMENTS

A line holds (bytes, digest) of every allocation that the launch changed: whole allocations, in no order of addresses,
without the addresses in them and without the second half of tensor maps, which holds nothing: NVIDIA's compiler copies
64 bytes of a map, this one 128. So two processes can be compared. Random numbers are seeded, and fresh memory is filled
the same way.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import random
import runpy
import sys
from typing import TextIO

import numpy as np

from dsl import emulator
from dsl.emulator.families.tensor_map import numbers, tensor_map
from dsl.emulator.machine.memory import Allocation
from dsl.launch import session
from dsl.launch.devices.emulated import Emulated
from dsl.launch.devices.torch_mapping.torch_memory import Places

_M_PERTURB, _FILL = -6, 0x5A
_WORDS = tensor_map.BYTES // 8
_OF_ALL_MAPS = tensor_map.TILED | tensor_map.ALWAYS  # of maps of tiles; maps of im2col have all their bytes
_FLAGS = 0xF | tensor_map.ALWAYS | numbers.tensor_map.UNKNOWN


def ranges(allocations: list[Allocation]) -> list[tuple[int, int]]:
    """(address, bytes) of memory in `allocations`; views of one array are one."""
    found: list[list[int]] = []
    for each in allocations:
        if found and each.address < found[-1][1]:
            found[-1][1] = max(found[-1][1], each.end)
        else:
            found.append([each.address, each.end])
    return [(start, end - start) for start, end in found]


def digests(places: list[tuple[int, int]]) -> list[str]:
    return [hashlib.blake2b(_view(*place), digest_size=8).hexdigest() for place in places]


def comparable(address: int, size_bytes: int, places: list[tuple[int, int]]) -> bytes:
    """Memory in which words that are addresses of device memory are 0, and so is the second half of tensor maps."""
    words = np.frombuffer(_view(address, size_bytes), np.uint8, size_bytes - size_bytes % 8).view(np.uint64).copy()
    starts = np.array([start for start, _ in places], np.uint64)
    ends = np.array([start + size for start, size in places], np.uint64)
    place = np.searchsorted(starts, words, "right").astype(np.int64) - 1
    is_address = (place >= 0) & (words < ends[place])
    first = -address % tensor_map.BYTES // 8
    whole = (len(words) - first) // _WORDS * _WORDS
    maps = words[first : first + whole].reshape(-1, _WORDS)
    is_map = is_address[first : first + whole : _WORDS] & ((maps[:, 1] & np.uint64(_FLAGS)) == _OF_ALL_MAPS)
    maps[is_map, _WORDS // 2 :] = 0
    words[is_address] = 0
    rest = bytes(_view(address + words.nbytes, size_bytes % 8)) if size_bytes % 8 else b""
    return words.tobytes() + rest


def _digest(*place) -> str:
    return hashlib.blake2b(comparable(*place), digest_size=8).hexdigest()


def _view(address: int, size_bytes: int) -> memoryview:
    return memoryview((ctypes.c_char * size_bytes).from_address(address))


def record(device: Emulated, out: TextIO) -> None:
    """From now on write a line for each launch that this device makes."""
    make = emulator.launch

    def launch(program, entry, grid, block, params, memory, **options) -> None:
        places = ranges(memory.allocations())
        before = digests(places)
        make(program, entry, grid, block, params, memory, **options)
        after = digests(places)
        written = [place for place, old, new in zip(places, before, after, strict=True) if old != new]
        changed = [(size, _digest(address, size, places)) for address, size in written]
        row = {"grid": list(grid), "block": list(block), "changed": sorted(changed)}
        print(json.dumps(row), file=out, flush=True)

    emulator.launch = launch
    Emulated._is_watched = property(lambda self: True)  # no launch is made by machine code alone
    device.memory.watch(True)


def _same_start() -> None:
    import torch

    ctypes.CDLL(None).mallopt(_M_PERTURB, _FILL)
    new = Places._new

    def filled(self, nbytes: int):
        """numpy keeps small memory that is given back, which malloc then does not fill."""
        storage = new(self, nbytes)
        ctypes.memset(storage.data_ptr(), ~_FILL & 0xFF, nbytes)
        return storage

    Places._new = filled
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


def main(result: str, program: str, arguments: list[str]) -> None:
    device = session.current().device
    assert isinstance(device, Emulated)
    _same_start()
    sys.argv = [program, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(program))
    with open(result, "w", encoding="utf-8") as out:
        record(device, out)
        runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
