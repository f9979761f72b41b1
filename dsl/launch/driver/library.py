"""Let the real cuda.bindings use the embedded device: its driver, and the CUDA runtime on top of it.

`dlopen("libcuda.so.1")` gives a library that is already in the process, so ours is loaded before anybody calls one. The
runtime inside cuda.bindings is linked into it and wants NVIDIA's driver, so its functions are replaced
(imported_functions). torch imports cuda.bindings and calls nothing, so the functions themselves are made when the first
of them is called.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dsl.launch.devices.torch_mapping.torch_cuda import AfterImport
from dsl.launch.driver import current, imported_functions, shared_object

SONAME = "libcuda.so.1"
EXPORTS = "exports.txt"  # the names of driver.functions(), which take long to make
_RUNTIME_SONAME = "libcudart-of-the-device.so"
_NO_LOAD = 4  # RTLD_NOLOAD


@functools.cache
def load() -> bool:
    """Load the library into this process; False if this machine cannot have it, or NVIDIA's library is here already:
    then cuda.bindings stay as they are."""
    if _is_loaded():
        return False
    names = Path(__file__).with_name(EXPORTS).read_text().split()
    try:
        shared_object.load(shared_object.path_of(SONAME, names), names, _driver_function, ctypes.RTLD_GLOBAL)
    except shared_object.NoSharedObject:
        return False
    if imported_functions.READER in sys.modules:
        _replace_runtime(sys.modules[imported_functions.READER])
    else:
        sys.meta_path.insert(0, AfterImport(imported_functions.READER, _replace_runtime))
    return True


def _replace_runtime(reader: Any) -> None:
    """Let the module that all calls of the runtime go through call the device's functions."""

    def addresses(names: list[str]) -> dict[str, int]:
        return shared_object.load(shared_object.path_of(_RUNTIME_SONAME, names), names, _runtime_function).addresses

    imported_functions.replace(reader, addresses)


def install(device: Any) -> Callable[[], None]:
    """Answer cuda.bindings with `device` from now on; returns what ends that."""
    if not load():
        return lambda: None
    return current.use_made_by(lambda: _driver_of(device))


def _driver_of(device: Any) -> Any:
    from dsl.launch.driver import driver, runtime  # noqa: PLC0415

    own = driver.Driver(device)
    own.runtime, own.launched = runtime.Runtime(own), device.hears
    return own


def _driver_function(name: str) -> Any:
    from dsl.launch.driver import driver  # noqa: PLC0415

    return driver.functions()[name]


def _runtime_function(name: str) -> Any:
    """The device's function of this name in cuda.bindings; one that it lacks warns."""
    from dsl.launch.driver import runtime  # noqa: PLC0415

    return runtime.functions().get(name.removeprefix("_")) or _refusing(name.removeprefix("_"))


def _is_loaded() -> bool:
    """Whether the process has a libcuda.so.1."""
    try:
        ctypes.CDLL(SONAME, mode=ctypes.DEFAULT_MODE | _NO_LOAD)
    except OSError:
        return False
    return True


@functools.cache
def _refusing(name: str) -> Any:
    """A function that the device lacks: it warns."""

    def refuse() -> int:
        warnings.warn(f"the embedded device has no {name}", RuntimeWarning, stacklevel=2)
        return 801  # cudaErrorNotSupported

    return ctypes.CFUNCTYPE(ctypes.c_int)(refuse)
