"""The driver API whole: the functions of libcuda.so.1 by name and version."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from dsl.interrupts import Rang, raise_in_caller
from dsl.launch.driver import calls, results, shared_object, tables
from dsl.launch.driver.calls import Int, Long, Pointer, Refused, Text, Unsigned, put, put_if, refuse_if
from dsl.launch.driver.current import current
from dsl.launch.driver.kernels import KernelCalls
from dsl.launch.driver.memory import MemoryCalls
from dsl.launch.driver.tensor_maps import TensorMapCalls

_SYMBOL_NOT_FOUND = 1  # CUdriverProcAddressQueryResult
# Methods that serve a second symbol: cuda.h renames the functions to them.
_SUFFIXED = {
    "_v2": ("cuCtxCreate", "cuCtxDestroy", "cuCtxPopCurrent", "cuCtxPushCurrent", "cuDevicePrimaryCtxRelease",
            "cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxSetFlags", "cuDeviceTotalMem", "cuDeviceGetUuid",
            "cuEventDestroy", "cuEventElapsedTime", "cuMemAlloc", "cuMemAllocHost",
            "cuMemAllocPitch", "cuMemFree", "cuMemGetAddressRange", "cuMemGetInfo", "cuMemHostGetDevicePointer",
            "cuMemHostRegister", "cuMemcpyDtoD", "cuMemcpyDtoDAsync", "cuMemcpyDtoH", "cuMemcpyDtoHAsync",
            "cuMemcpyHtoD", "cuMemcpyHtoDAsync", "cuMemsetD16", "cuMemsetD32", "cuMemsetD8", "cuModuleGetGlobal",
            "cuStreamDestroy"),
}  # fmt: skip


class Driver(MemoryCalls, KernelCalls, TensorMapCalls):
    """The driver of a device."""

    def __init__(self, device: Any):
        super().__init__(device)
        self.images: list[Callable[[int], str | None]] = []

    def cuGetProcAddress(self, name: Text, function: Pointer, version: Int, flags: Long) -> None:
        self.cuGetProcAddress_v2(name, function, version, flags, None)

    def cuGetProcAddress_v2(self, name: Text, function: Pointer, version: Int, flags: Long, status: Pointer) -> None:
        """The address of a function in the form of a CUDA release; none for what this driver lacks."""
        refuse_if(not function or name is None)
        address = address_of((name or b"").decode(), version)
        put_if(status, ctypes.c_int, _SYMBOL_NOT_FOUND if address is None else 0)
        put(function, ctypes.c_void_p, address)
        if address is None:
            raise Refused(results.NOT_FOUND)


class _NoDevice(Driver):
    """The driver of a machine without a device."""

    def ready(self) -> None:
        raise Refused(results.NO_DEVICE)

    def cuInit(self, flags: Unsigned) -> None:
        self.ready()


@functools.cache
def _no_device() -> Driver:
    return _NoDevice(None)


def guarded(name: str) -> Callable[..., int]:
    """The C function of a method: what it raises is its result."""

    def call(*arguments) -> int:
        driver = current() or _no_device()
        try:
            getattr(driver, name)(*arguments)
        except Refused as refused:
            return refused.code
        except Rang as rang:  # the signal's handler runs next
            driver.stopped(rang)
            return results.LAUNCH_FAILED
        except KeyboardInterrupt as error:
            raise_in_caller(error)
            return results.UNKNOWN
        except BaseException as error:
            driver.failed(error)
            return results.of(error)
        return results.SUCCESS

    return call


@functools.cache
def functions() -> dict[str, Any]:
    """The functions of ctypes for the exported names."""
    own = [name for name in dir(Driver) if name.startswith("cu") and name[2].isupper()]
    table = {name: calls.c_function(name, getattr(Driver, name), guarded(name)) for name in own}
    for suffix, names in _SUFFIXED.items():
        table |= {name + suffix: table[name] for name in names}
    return table


def address_of(name: str, release: int) -> int | None:
    """The address, in the library, of the last form of a function that a release has."""
    forms = [(since, symbol) for base, since, symbol in tables.functions() if base == name and since <= release]
    own = [symbol for symbol in (name, *(symbol for _, symbol in sorted(forms))) if symbol in functions()]
    return shared_object.address_of(own[-1]) if own else None
