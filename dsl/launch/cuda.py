"""A CUDA GPU as a device, through the driver API. The only file that imports cuda-python."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from dsl.launch.device import DeviceError, DeviceMissing, Launch

# What a failed kernel was, by the driver's name. CUDA driver API: CUresult.
_OUTCOMES = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": ("fault", "out_of_bounds"),
    "CUDA_ERROR_MISALIGNED_ADDRESS": ("fault", "misaligned"),
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": ("fault", "illegal"),
    "CUDA_ERROR_INVALID_PC": ("fault", "illegal"),
    "CUDA_ERROR_HARDWARE_STACK_ERROR": ("fault", "illegal"),
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": ("trap", "trap"),
    "CUDA_ERROR_LAUNCH_FAILED": ("trap", "trap"),
    "CUDA_ERROR_ASSERT": ("trap", "assert"),
    "CUDA_ERROR_LAUNCH_TIMEOUT": ("deadlock", "deadlock"),
}
_DEFAULT_SMEM_BYTES = 48 * 1024              # a kernel must be told before it may have more
_TESTED_ARCH_SUFFIX_FROM = 90                # sm_90 and later have features under an `a` name only


def _driver():
    from cuda.bindings import driver
    return driver


def present() -> bool:
    """Whether this machine has a CUDA driver and a GPU (asks neither to start)."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    try:
        driver = _driver()
        return driver.cuInit(0)[0] == driver.CUresult.CUDA_SUCCESS and driver.cuDeviceGetCount()[1] > 0
    except (ImportError, RuntimeError):
        return False


class Cuda:
    """The first GPU CUDA sees, in its primary context (the one torch uses)."""

    kind = "cuda"

    def __init__(self):
        try:
            ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise DeviceMissing(f"no CUDA driver on this machine: {error}\nfix: use --device emulator") from None
        self.driver = _driver()
        try:
            self._call("cuInit", 0)
            self.device = self._call("cuDeviceGet", 0)
        except (DeviceError, RuntimeError) as error:
            raise DeviceMissing(f"no CUDA GPU on this machine: {error}\nfix: use --device emulator") from None
        self.context = self._call("cuDevicePrimaryCtxRetain", self.device)
        self._call("cuCtxSetCurrent", self.context)
        self.arch = self._arch()

    def _call(self, name: str, *arguments) -> Any:
        """Call the driver; its results without the return code, whose name and text an error carries."""
        code, *results = getattr(self.driver, name)(*arguments)
        if code != self.driver.CUresult.CUDA_SUCCESS:
            raise self._error(code, name)
        return results[0] if len(results) == 1 else tuple(results)

    def _error(self, code: Any, what: str) -> DeviceError:
        name, text = (self.driver.cuGetErrorName(code)[1] or b"").decode(), self.driver.cuGetErrorString(code)[1]
        outcome, kind = _OUTCOMES.get(name, (None, None))
        return DeviceError(name or f"CUDA error {int(code)}", f"{(text or b'').decode()} ({what})",
                           {"outcome": outcome, "kind": kind, "file": None, "line": None} if outcome else None)

    def _attribute(self, name: str) -> int:
        return self._call("cuDeviceGetAttribute", getattr(self.driver.CUdevice_attribute,
                                                          f"CU_DEVICE_ATTRIBUTE_{name}"), self.device)

    def _arch(self) -> str:
        number = 10 * self._attribute("COMPUTE_CAPABILITY_MAJOR") + self._attribute("COMPUTE_CAPABILITY_MINOR")
        return f"sm_{number}" + "a" * (number >= _TESTED_ARCH_SUFFIX_FROM)

    def facts(self) -> dict:
        name = self._call("cuDeviceGetName", 256, self.device).split(b"\0")[0].decode()
        version = self._call("cuDriverGetVersion")
        driver = f"{version // 1000}.{version % 1000 // 10}"
        return {"kind": self.kind, "name": name, "driver": driver, "arch": self.arch}

    def install(self) -> None:
        """Nothing to do: torch's cuda device is this one."""

    def uninstall(self) -> None:
        """Nothing to undo."""

    def alloc(self, nbytes: int, label: str) -> int:
        return int(self._call("cuMemAlloc", nbytes))

    def free(self, address: int) -> None:
        self._call("cuMemFree", address)

    def copy(self, destination: int, source: int, nbytes: int) -> None:
        self._call("cuMemcpy", destination, source, nbytes)

    def register(self, address: int, nbytes: int, label: str) -> None:
        """The driver knows its allocations."""

    def unregister(self, address: int) -> None:
        """See `register`."""

    def load(self, ptx: str) -> Any:
        """A module. Raises DeviceError with the JIT's own log."""
        log = bytearray(1 << 14)
        options = self.driver.CUjit_option
        code, module = self.driver.cuModuleLoadDataEx(
            ptx.encode() + b"\0", 2, [options.CU_JIT_ERROR_LOG_BUFFER, options.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES],
            [log, len(log)])
        if code != self.driver.CUresult.CUDA_SUCCESS:
            error = self._error(code, "cuModuleLoadDataEx")
            raise DeviceError(error.name, f"{error}\n{log.split(bytes(1))[0].decode(errors='replace')}")
        return module

    def launch(self, program: Any, entry: str, launch: Launch, params: Sequence[bytes]) -> None:
        self._call("cuCtxSetCurrent", self.context)
        function = self._call("cuModuleGetFunction", program, entry.encode())
        if launch.smem_bytes > _DEFAULT_SMEM_BYTES:
            self._call("cuFuncSetAttribute", function, self.driver.CUfunction_attribute
                       .CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, launch.smem_bytes)
        config = self._config(launch)
        cells = [ctypes.create_string_buffer(param, len(param)) for param in params]
        pointers = (ctypes.c_void_p * max(len(cells), 1))(*[ctypes.addressof(cell) for cell in cells])
        self._call("cuLaunchKernelEx", config, function, ctypes.addressof(pointers), 0)

    def _config(self, launch: Launch) -> Any:
        config = self.driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = launch.grid
        config.blockDimX, config.blockDimY, config.blockDimZ = launch.block
        config.sharedMemBytes, config.hStream = launch.smem_bytes, self.driver.CUstream(launch.stream)
        config.numAttrs, config.attrs = 0, []
        if launch.cluster != (1, 1, 1):
            attribute = self.driver.CUlaunchAttribute()
            attribute.id = self.driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            cluster = attribute.value.clusterDim
            cluster.x, cluster.y, cluster.z = launch.cluster
            config.numAttrs, config.attrs = 1, [attribute]
        return config

    def sync(self) -> None:
        self._call("cuCtxSynchronize")
