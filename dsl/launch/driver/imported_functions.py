"""Replace the CUDA runtime inside cuda.bindings, which is linked into it and which no import can replace.

A Cython module keeps pointers to the functions that it imports from another one, in its writable data. The other module
exports the same pointers in `__pyx_capi__`. So each word of the data that is such a pointer is overwritten. Nothing in
cuda.bindings promises this: a slow test runs each release.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import struct
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

READER = "cuda.bindings.cyruntime"  # all calls of the runtime go through this module
_OWNERS = ("cuda.bindings._internal.runtime", "cuda.bindings._bindings.cyruntime")  # since 13.1, before
_LOAD, _WRITES = 1, 2  # p_type, p_flags


def replace(reader: ModuleType, addresses: Callable[[list[str]], dict[str, int]]) -> None:
    """Point what `reader` imported of the runtime at other functions: `addresses` of their names."""
    owner = next((name for name in _OWNERS if importlib.util.find_spec(name) is not None), None)
    if owner is None or reader.__file__ is None:
        return
    exported: dict[str, Any] = importlib.import_module(owner).__pyx_capi__
    names = [name for name in exported if name.startswith("_cuda")]
    new = addresses(names)
    target_of = {_pointer(exported[name], _capsule_name(exported[name])): new[name] for name in names}
    old = np.array(sorted(target_of), dtype=np.uint64)
    for start, end in _writable(reader.__file__):
        memory = (ctypes.c_uint64 * ((end - start) // 8)).from_address(start)
        words = np.frombuffer(memoryview(memory), np.uint64).copy()  # other threads go on
        nearest = old[np.minimum(np.searchsorted(old, words), len(old) - 1)]
        for index in np.flatnonzero(nearest == words):
            ctypes.c_uint64.from_address(start + 8 * int(index)).value = target_of[int(words[index])]


def _writable(path: str) -> list[tuple[int, int]]:
    """The writable segments of a loaded library.  System V ABI, program headers."""
    with open("/proc/self/maps") as file:
        base = min(int(line.split("-")[0], 16) for line in file if line.rstrip().endswith(path))
    header = ctypes.string_at(base, 64)
    at, entry_bytes, count = struct.unpack_from("<Q14xHH", header, 32)
    segments = []
    for index in range(count):
        kind, flags, _, address, _, _, nbytes = struct.unpack(
            "<IIQQQQQ", ctypes.string_at(base + at + index * entry_bytes, 48)
        )
        if kind == _LOAD and flags & _WRITES:
            first = -(-(base + address) // 8) * 8
            segments.append((first, base + address + nbytes))
    return segments


_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = ctypes.c_void_p, [ctypes.py_object]
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
