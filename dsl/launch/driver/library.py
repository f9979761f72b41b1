"""Let the real cuda.bindings use the embedded device: its driver, and the CUDA runtime on top of it.

`dlopen("libcuda.so.1")` gives a library that is already in the process, so ours is loaded before anybody calls one. The
runtime inside cuda.bindings is linked into it and wants NVIDIA's driver. Its Cython modules keep pointers to the
functions that they import from each other; in the module that all calls go through these become the device's. torch
imports cuda.bindings and calls nothing, so the functions themselves are made when the first of them is called.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.util
import struct
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dsl.launch.devices.torch_mapping.torch_cuda import AfterImport
from dsl.launch.driver import current, shared_object

SONAME = "libcuda.so.1"
EXPORTS = "exports.txt"  # the names of driver.functions(), which take long to make
_RUNTIME_SONAME = "libcudart-of-the-device.so"
_OWNERS = ("cuda.bindings._internal.runtime", "cuda.bindings._bindings.cyruntime")  # since 13.1, before
_READER = "cuda.bindings.cyruntime"
_NO_LOAD = 4  # RTLD_NOLOAD
_LOAD, _WRITES = 1, 2  # p_type, p_flags


@functools.cache
def load() -> bool:
    """Load the library into this process; False where this machine cannot have it, or NVIDIA's is here already: then
    cuda.bindings stay as they are."""
    if _is_loaded():
        return False
    names = Path(__file__).with_name(EXPORTS).read_text().split()
    try:
        shared_object.load(shared_object.path_of(SONAME, names), names, _driver_function)
    except shared_object.NoSharedObject:
        return False
    if _READER in sys.modules:
        _replace(sys.modules[_READER])
    else:
        sys.meta_path.insert(0, AfterImport(_READER, _replace))
    return True


def install(device: Any) -> Callable[[], None]:
    """Answer cuda.bindings with `device` from now on; returns what ends that."""
    if not load():
        return lambda: None
    return current.use_made_by(lambda: _driver_of(device))


def _driver_of(device: Any) -> Any:
    from dsl.launch.driver import driver, runtime  # noqa: PLC0415

    own = driver.Driver(device)
    own.runtime = runtime.Runtime(own)
    return own


def _driver_function(name: str) -> Any:
    from dsl.launch.driver import driver  # noqa: PLC0415

    return driver.functions()[name]


def _runtime_function(name: str) -> Any:
    """The device's function of this name in cuda.bindings; one that it lacks says so."""
    from dsl.launch.driver import runtime  # noqa: PLC0415

    return runtime.functions().get(name.removeprefix("_")) or _refusing(name.removeprefix("_"))


def _is_loaded() -> bool:
    """Whether the process has a libcuda.so.1."""
    try:
        ctypes.CDLL(SONAME, mode=ctypes.DEFAULT_MODE | _NO_LOAD)
    except OSError:
        return False
    return True


def _replace(reader: Any) -> None:
    """Point what `reader` imported of the runtime at the device's functions."""
    owner = next((name for name in _OWNERS if importlib.util.find_spec(name) is not None), None)
    if owner is None:
        return
    exported: dict[str, Any] = importlib.import_module(owner).__pyx_capi__
    names = [name for name in exported if name.startswith("_cuda")]
    own = shared_object.load(shared_object.path_of(_RUNTIME_SONAME, names), names, _runtime_function).addresses
    target_of = {_pointer(exported[name], _capsule_name(exported[name])): own[name] for name in names}
    old = np.array(sorted(target_of), dtype=np.uint64)
    for start, end in _writable(reader.__file__):
        memory = (ctypes.c_uint64 * ((end - start) // 8)).from_address(start)
        words = np.frombuffer(memoryview(memory), np.uint64).copy()  # other threads go on
        nearest = old[np.minimum(np.searchsorted(old, words), len(old) - 1)]
        for index in np.flatnonzero(nearest == words):
            ctypes.c_uint64.from_address(start + 8 * int(index)).value = target_of[int(words[index])]


def _writable(path: str) -> list[tuple[int, int]]:
    """Where the data of a loaded library lies: its writable segments.  System V ABI, program headers."""
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


@functools.cache
def _refusing(name: str) -> Any:
    """A function that the device lacks: it says so."""

    def refuse() -> int:
        warnings.warn(f"the embedded device has no {name}", RuntimeWarning, stacklevel=2)
        return 801  # cudaErrorNotSupported

    return ctypes.CFUNCTYPE(ctypes.c_int)(refuse)
