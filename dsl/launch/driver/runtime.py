"""The CUDA runtime API on the driver: what cuda.bindings.runtime and compiled host functions call.

CUDA runtime API. A call that fails returns a cudaError_t, whose numbers are the driver's where both have one, and is
remembered for cudaGetLastError.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Annotated, Any

from dsl.interrupts import called_by_machine_code
from dsl.launch.driver import attributes, calls
from dsl.launch.driver.calls import Int, Long, Pointer, Unsigned, put, refuse_if
from dsl.launch.driver.current import current
from dsl.launch.driver.device_properties import DeviceProperties, properties
from dsl.launch.driver.driver import Driver, guarded
from dsl.launch.driver.kernels import Kernel
from dsl.launch.driver.launch_config import LaunchConfig, launch_of

_INT, _POINTER = ctypes.c_int, ctypes.c_void_p
_RUNTIME_VERSION = attributes.DRIVER_VERSION
_INVALID_DIRECTION = 21  # cudaErrorInvalidMemcpyDirection
_TO_HOST, _TO_DEVICE, _WITHIN, _ANY = 2, 1, 3, 4  # cudaMemcpyKind; 0: host to host
Words = Annotated[bytes, ctypes.c_char_p]  # the result of a function that returns text

# cudaX is the driver's function: the same arguments, with the primary context current.
_SAME = {
    "cudaDriverGetVersion": "cuDriverGetVersion",
    "cudaMalloc": "cuMemAlloc", "cudaMallocAsync": "cuMemAllocAsync", "cudaMallocHost": "cuMemAllocHost",
    "cudaHostAlloc": "cuMemHostAlloc", "cudaMallocManaged": "cuMemAllocManaged",
    "cudaFree": "cuMemFree", "cudaFreeAsync": "cuMemFreeAsync", "cudaFreeHost": "cuMemFreeHost",
    "cudaHostRegister": "cuMemHostRegister", "cudaHostUnregister": "cuMemHostUnregister",
    "cudaHostGetDevicePointer": "cuMemHostGetDevicePointer", "cudaMemGetInfo": "cuMemGetInfo",
    "cudaStreamCreateWithFlags": "cuStreamCreate", "cudaStreamCreateWithPriority": "cuStreamCreateWithPriority",
    "cudaStreamDestroy": "cuStreamDestroy", "cudaStreamSynchronize": "cuStreamSynchronize",
    "cudaStreamQuery": "cuStreamQuery", "cudaStreamWaitEvent": "cuStreamWaitEvent",
    "cudaStreamGetFlags": "cuStreamGetFlags", "cudaStreamGetPriority": "cuStreamGetPriority",
    "cudaStreamGetDevice": "cuStreamGetDevice", "cudaStreamGetId": "cuStreamGetId",
    "cudaStreamIsCapturing": "cuStreamIsCapturing", "cudaStreamAddCallback": "cuStreamAddCallback",
    "cudaLaunchHostFunc": "cuLaunchHostFunc",
    "cudaEventCreateWithFlags": "cuEventCreate", "cudaEventDestroy": "cuEventDestroy",
    "cudaEventRecord": "cuEventRecord", "cudaEventRecordWithFlags": "cuEventRecordWithFlags",
    "cudaEventQuery": "cuEventQuery", "cudaEventSynchronize": "cuEventSynchronize",
    "cudaEventElapsedTime": "cuEventElapsedTime",
    "cudaDeviceSynchronize": "cuCtxSynchronize", "cudaDeviceGetStreamPriorityRange": "cuCtxGetStreamPriorityRange",
    "cudaDeviceGetLimit": "cuCtxGetLimit", "cudaDeviceSetLimit": "cuCtxSetLimit",
    "cudaDeviceGetAttribute": "cuDeviceGetAttribute", "cudaDeviceCanAccessPeer": "cuDeviceCanAccessPeer",
    "cudaGetDeviceCount": "cuDeviceGetCount", "cudaGetDevice": "cuCtxGetDevice",
    "cudaLibraryLoadData": "cuLibraryLoadData", "cudaLibraryLoadFromFile": "cuLibraryLoadFromFile",
    "cudaLibraryUnload": "cuLibraryUnload", "cudaLibraryGetKernel": "cuLibraryGetKernel",
    "cudaLibraryGetGlobal": "cuLibraryGetGlobal", "cudaLibraryGetKernelCount": "cuLibraryGetKernelCount",
    "cudaLibraryEnumerateKernels": "cuLibraryEnumerateKernels",
    "cudaFuncSetAttribute": "cuFuncSetAttribute", "cudaFuncSetCacheConfig": "cuFuncSetCacheConfig",
    "cudaFuncGetName": None, "cudaKernelSetAttributeForDevice": None,
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor": "cuOccupancyMaxActiveBlocksPerMultiprocessor",
    "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags": "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "cudaOccupancyAvailableDynamicSMemPerBlock": "cuOccupancyAvailableDynamicSMemPerBlock",
    "cudaProfilerStart": "cuProfilerStart", "cudaProfilerStop": "cuProfilerStop",
}  # fmt: skip
_SAME = {name: same for name, same in _SAME.items() if same}


class Runtime:
    """The runtime over a driver; its calls make the primary context current."""

    def __init__(self, driver: Driver):
        self.driver = driver
        self.last_error = calls.SUCCESS

    def begin(self) -> Driver:
        """The driver, begun."""
        self.driver.initialized = self.driver.uses_primary = True
        return self.driver

    # ** errors

    def cudaGetLastError(self) -> None:
        code, self.last_error = self.last_error, calls.SUCCESS
        refuse_if(code, code)

    def cudaPeekAtLastError(self) -> None:
        refuse_if(self.last_error, self.last_error)

    def cudaRuntimeGetVersion(self, version: Pointer) -> None:
        put(version, _INT, _RUNTIME_VERSION)

    # ** the device

    def cudaSetDevice(self, device: Int) -> None:
        refuse_if(device != 0, calls.INVALID_DEVICE)
        self.begin()

    def cudaInitDevice(self, device: Int, device_flags: Unsigned, flags: Unsigned) -> None:
        self.cudaSetDevice(device)

    def cudaDeviceReset(self) -> None:
        self.begin()

    def cudaGetDeviceProperties(self, out: Pointer, device: Int) -> None:
        refuse_if(device != 0, calls.INVALID_DEVICE)
        refuse_if(not out)
        ctypes.memmove(out or 0, ctypes.byref(properties()), ctypes.sizeof(DeviceProperties))

    # ** memory

    def cudaMemcpy(self, to: Pointer, source: Pointer, nbytes: Long, kind: Int) -> None:
        refuse_if(not 0 <= kind <= _ANY, _INVALID_DIRECTION)
        of_device = [each for each, kinds in ((to, (_TO_DEVICE, _WITHIN)), (source, (_TO_HOST, _WITHIN)))
                     if kind in kinds]  # fmt: skip
        self.begin()._copy(to, source, nbytes, *of_device)

    def cudaMemcpyAsync(self, to: Pointer, source: Pointer, nbytes: Long, kind: Int, stream: Pointer) -> None:
        self.begin().stream(stream)
        self.cudaMemcpy(to, source, nbytes, kind)

    def cudaMemset(self, to: Pointer, value: Int, nbytes: Long) -> None:
        self.begin().cuMemsetD8(to, value & 0xFF, nbytes)

    def cudaMemsetAsync(self, to: Pointer, value: Int, nbytes: Long, stream: Pointer) -> None:
        self.begin().cuMemsetD8Async(to, value & 0xFF, nbytes, stream)

    # ** streams and events

    def cudaStreamCreate(self, stream: Pointer) -> None:
        self.begin().cuStreamCreate(stream, 0)

    def cudaEventCreate(self, event: Pointer) -> None:
        self.begin().cuEventCreate(event, 0)

    # ** kernels

    def cudaKernelSetAttributeForDevice(self, kernel: Pointer, attribute: Int, value: Int, device: Int) -> None:
        self.begin().cuFuncSetAttribute(kernel, attribute, value)

    def cudaLaunchKernelExC(self, config: Pointer, kernel: Pointer, arguments: Pointer) -> None:
        refuse_if(not config)
        self.begin().launch(kernel, launch_of(LaunchConfig.from_address(config or 0)), arguments)

    def cudaGetFuncBySymbol(self, function: Pointer, symbol: Pointer) -> None:
        self.begin().handles.get(symbol, Kernel)
        put(function, _POINTER, symbol)


def _same(name: str) -> Any:
    """A function of the driver, called with the driver begun."""
    of_driver = getattr(Driver, name)

    @functools.wraps(of_driver)
    def call(self: Runtime, *arguments) -> None:
        of_driver(self.begin(), *arguments)

    return call


for _name, _of_driver in _SAME.items():
    setattr(Runtime, _name, _same(_of_driver))


def _remembered(name: str) -> Any:
    """A C function whose error cudaGetLastError tells."""
    plain = guarded(name, Runtime)

    def call(*arguments) -> int:
        code = plain(*arguments)
        own = current()
        if code and own is not None:
            own.runtime.last_error = code
        return code

    return plain if name in ("cudaGetLastError", "cudaPeekAtLastError") else call


def _words(of: str) -> Any:
    """cudaGetErrorName and cudaGetErrorString: text by the number of an error."""
    kept: dict[int, Any] = {}

    @called_by_machine_code
    def call(code: int) -> int | None:
        from cuda.bindings.runtime import cudaError_t

        try:
            name = cudaError_t(code).name
        except ValueError:
            name = "unrecognized error code"
        text = name if of == "name" else name.removeprefix("cudaError")
        kept.setdefault(code, ctypes.create_string_buffer(text.encode()))
        return ctypes.addressof(kept[code])

    return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int)(call)


@functools.cache
def functions() -> dict[str, Any]:
    """The functions of ctypes by the names of the runtime."""
    own = [name for name in dir(Runtime) if name.startswith("cuda")]
    table = {name: calls.c_function(name, getattr(Runtime, name), _remembered(name)) for name in own}
    return table | {"cudaGetErrorName": _words("name"), "cudaGetErrorString": _words("text")}
