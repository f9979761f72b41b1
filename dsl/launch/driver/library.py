"""Let the real cuda.bindings use the embedded device: its driver, and the CUDA runtime on top of it.

`dlopen("libcuda.so.1")` gives a library that is already in the process, so ours is loaded before anybody calls one. The
runtime inside cuda.bindings is linked into it and wants NVIDIA's driver, so functions of our libcudart.so.13 replace
its functions (imported_functions). Ours finds the driver by its name. torch imports cuda.bindings and calls nothing,
so the functions of the driver are made when the first of them is called.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any

from dsl import native_library
from dsl.launch.devices.torch_mapping.torch_cuda import AfterImport
from dsl.launch.driver import current, imported_functions, shared_object, tables

SONAME = "libcuda.so.1"
CUDA_MAJOR = 13  # of every cuda.bindings that is served
_LATER = "cudaOfALaterRelease"  # in the place of a name that our runtime does not know
_NO_LOAD = 4  # RTLD_NOLOAD


@functools.cache
def load() -> bool:
    """Load the library into this process; False if this machine cannot have it, or NVIDIA's library is here already:
    then cuda.bindings stay as they are."""
    if _is_loaded():
        return False
    names = tables.symbols()
    try:
        shared_object.load(shared_object.path_of(SONAME, names), names, _driver_function, ctypes.RTLD_GLOBAL)
    except shared_object.NoSharedObject:
        return False
    if imported_functions.READER in sys.modules:
        _replace_runtime(sys.modules[imported_functions.READER])
    else:
        sys.meta_path.insert(0, AfterImport(imported_functions.READER, _replace_runtime))
    return True


@functools.cache
def runtime() -> ctypes.CDLL:
    """The CUDA runtime, on whatever libcuda.so.1 the process has. Raises native_library.BuildError."""
    return ctypes.CDLL(str(native_library.cuda_runtime_file(CUDA_MAJOR)))


def address_in_runtime(name: str) -> int:
    """The address of a function of the runtime."""
    function = getattr(runtime(), name, None) or runtime()[_LATER]
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _replace_runtime(reader: Any) -> None:
    """Let the module that all calls of the runtime go through call ours."""
    imported_functions.replace(
        reader, lambda names: {name: address_in_runtime(name.removeprefix("_")) for name in names}
    )


def install(device: Any) -> Callable[[], None]:
    """Answer cuda.bindings with `device` from now on; returns what ends that."""
    if not load():
        return lambda: None
    end = current.use_made_by(lambda: _driver_of(device))

    def done() -> None:
        if current.is_made() and runtime.cache_info().currsize:
            runtime().cudaDeviceReset()  # with the error of a kernel, which stays till then
            runtime().cudaGetLastError()
        end()

    return done


def _driver_of(device: Any) -> Any:
    from dsl.launch.driver import driver  # noqa: PLC0415

    own = driver.Driver(device)
    own.launched = device.hears
    return own


def _driver_function(name: str) -> Any:
    """The device's function of this name; one that it lacks warns."""
    from dsl.launch.driver import driver  # noqa: PLC0415

    return driver.functions().get(name) or _refusing(name)


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
