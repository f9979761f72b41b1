"""Let the real cuda.bindings use the emulator: its driver, and the CUDA runtime on top of it.

`dlopen("libcuda.so.1")` gives a library that is already in the process, so ours (dsl/driver) is loaded before anybody
calls one. The runtime inside cuda.bindings is linked into it and wants NVIDIA's driver, so functions of our
libcudart.so.13 replace its functions (imported_functions). Ours finds the driver by its name.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from dsl import native_library
from dsl.launch.devices.torch_mapping.torch_cuda import AfterImport
from dsl.launch.driver import imported_functions, in_process, shared_object

SONAME = "libcuda.so.1"
CUDA_MAJOR = 13  # of every cuda.bindings that is served
_LATER = "cudaOfALaterRelease"  # in the place of a name that our runtime does not know
_NO_LOAD = 4  # RTLD_NOLOAD
_LAST_CALLS_SECONDS = 0.02


@functools.cache
def load() -> in_process.Driver | None:
    """Load the library into this process; None if NVIDIA's library is here already: then cuda.bindings stay as they
    are. Raises native_library.BuildError."""
    if _is_loaded():
        return None
    driver = in_process.Driver(ctypes.CDLL(str(native_library.driver_file()), ctypes.RTLD_GLOBAL))
    if imported_functions.READER in sys.modules:
        _replace_runtime(sys.modules[imported_functions.READER])
    else:
        sys.meta_path.insert(0, AfterImport(imported_functions.READER, _replace_runtime))
    return driver


def end() -> None:
    """Let the libraries do without Python, because it ends."""
    if load.cache_info().currsize and (driver := load()) is not None:
        driver.end()
    shared_object.end()
    if threading.active_count() > 1:  # let the calls of daemon threads return
        time.sleep(_LAST_CALLS_SECONDS)


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
    driver = load()
    if driver is None:
        return lambda: None
    end_use = driver.use(in_process.InProcess(device))

    def done() -> None:
        if runtime.cache_info().currsize:
            runtime().cudaDeviceReset()  # with the error of a kernel, which stays till then
            runtime().cudaGetLastError()
        end_use()

    return done


def _is_loaded() -> bool:
    """Whether the process has a libcuda.so.1."""
    try:
        ctypes.CDLL(SONAME, mode=ctypes.DEFAULT_MODE | _NO_LOAD)
    except OSError:
        return False
    return True
