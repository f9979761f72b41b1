"""A CUDA GPU as a device, through the driver API. The only file that imports cuda-python."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Sequence
from typing import Any

from dsl import gpu_models
from dsl.core.trace import COOPERATIVE, PROGRAMMATIC
from dsl.launch.devices import native_launch
from dsl.launch.devices.protocol import INVALID_LAUNCH, Device, DeviceError, DeviceMissing, Launch

# The outcome of a failed kernel by the driver's name. CUDA driver API: CUresult.
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
# These also lose the context, and are not about the program.
_BROKEN = {
    "CUDA_ERROR_ECC_UNCORRECTABLE",
    "CUDA_ERROR_NVLINK_UNCORRECTABLE",
    "CUDA_ERROR_CONTEXT_IS_DESTROYED",
    "CUDA_ERROR_CONTAINED",
    "CUDA_ERROR_EXTERNAL_DEVICE",
    "CUDA_ERROR_TENSOR_MEMORY_LEAK",
}
_REFUSED = {"CUDA_ERROR_INVALID_VALUE", "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "CUDA_ERROR_INVALID_CLUSTER_SIZE"}
_MEMORY_TYPE = 2  # CUpointer_attribute
_DEFAULT_SMEM_BYTES = 48 * 1024  # static and dynamic together; more must be allowed first
_PORTABLE_CLUSTER_BLOCKS = 8
_ARCH_SUFFIX_FROM = 90  # sm_90 and later have features under an `a` name only
_JIT_LOG_BYTES = 1 << 14
_DRIVER_VERSION_FILE = "/sys/module/nvidia/version"


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


def cuda_for_ptx(version: tuple[int, int]) -> tuple[int, int]:
    """The first CUDA release whose driver takes this PTX (7.0 and later).  PTX ISA, Release Notes."""
    major, minor = version
    return major + 4, minor + (major == 8 and minor >= 6)


def ptx_of_cuda(version: tuple[int, int]) -> tuple[int, int]:
    """The last PTX that a driver of this CUDA release takes (11.0 and later).  PTX ISA, Release Notes."""
    major, minor = version
    return major - 4, minor - (major == 12 and minor >= 6)


class Cuda(Device):
    """The first GPU CUDA sees, in its primary context (the one torch uses)."""

    kind = "cuda"
    wants_storages = False  # the driver knows what is on the GPU
    ends_launches_later = True

    def __init__(self):
        self._lost: str | None = None  # why the context is lost
        self._functions: dict[tuple[int, str], Any] = {}
        self._granted_smem_bytes: dict[tuple[int, str], int] = {}
        self._running: list[tuple[str, Launch]] = []  # launches whose end nobody has waited for
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
        self.name = self._call("cuDeviceGetName", 256, self.device).split(b"\0")[0].decode()
        self.uuid = bytes(self._call("cuDeviceGetUuid", self.device).bytes).hex()
        self.cuda_version = self._cuda_version()
        self.driver_version = self._driver_version()

    # --- errors -----------------------------------------------------------------------------------------------------

    def _call(self, name: str, *arguments) -> Any:
        """Call the driver; its results without the return code, whose name and text an error carries."""
        if self._lost:
            raise DeviceError(
                "CUDA_CONTEXT_LOST",
                f"{name} was not tried: an earlier kernel failed, so no kernel runs in this process any "
                f"more\nthe failure was {self._lost}",
            )
        code, *results = getattr(self.driver, name)(*arguments)
        if code != self.driver.CUresult.CUDA_SUCCESS:
            raise self._error(code, name)
        return results[0] if len(results) == 1 else tuple(results)

    def _error(self, code: Any, what: str) -> DeviceError:
        name, text = self._name(code), self.driver.cuGetErrorString(code)[1]
        message = f"{(text or b'').decode()} ({what})"
        outcome, kind = _OUTCOMES.get(name, (None, None))
        if outcome or name in _BROKEN:
            if self.unread is not None:
                self.unread.note()
            if self._running:
                first, *others = (_describe(*each) for each in reversed(self._running))
                message += f"\nin kernel {first}" + "".join(f"\nor in {other}" for other in others)
            self._lost = f"{name}: {message}"
        return DeviceError(
            name, message, {"outcome": outcome, "kind": kind, "file": None, "line": None} if outcome else None
        )

    def _name(self, code: Any) -> str:
        name = self.driver.cuGetErrorName(code)[1]
        return name.decode() if name else f"CUDA error {int(code)}"

    # --- what it is -------------------------------------------------------------------------------------------------

    def _attribute(self, name: str) -> int:
        return self._call(
            "cuDeviceGetAttribute", getattr(self.driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}"), self.device
        )

    def _arch(self) -> str:
        number = 10 * self._attribute("COMPUTE_CAPABILITY_MAJOR") + self._attribute("COMPUTE_CAPABILITY_MINOR")
        return f"sm_{number}" + "a" * (number >= _ARCH_SUFFIX_FROM)

    def multiprocessors(self) -> int:
        return self._attribute("MULTIPROCESSOR_COUNT")

    def l2_cache_bytes(self) -> int:
        return self._attribute("L2_CACHE_SIZE")

    def _cuda_version(self) -> tuple[int, int]:
        version = self._call("cuDriverGetVersion")
        return version // 1000, version % 1000 // 10

    def facts(self) -> dict:
        about = {"kind": self.kind, "name": self.name, "driver": self.driver_version, "arch": self.arch}
        return about | {"uuid": self.uuid}

    def _driver_version(self) -> str:
        """`570.86.15`, or `CUDA 12.8` where neither the kernel's module nor NVML tells."""
        try:
            with open(_DRIVER_VERSION_FILE) as file:
                return file.read().strip()
        except OSError:
            pass
        try:
            nvml, text = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.create_string_buffer(81)
            if nvml.nvmlInit_v2() == 0 and nvml.nvmlSystemGetDriverVersion(text, len(text)) == 0:
                return text.value.decode()
        except (OSError, AttributeError):
            pass
        return "CUDA {}.{}".format(*self.cuda_version)

    def install(self) -> None:
        """Nothing to do: torch's cuda device is this one."""

    def uninstall(self) -> None:
        """Nothing to undo."""

    # --- memory -----------------------------------------------------------------------------------------------------

    def alloc(self, nbytes: int, label: str) -> int:
        return int(self._call("cuMemAlloc", nbytes))

    def free(self, address: int) -> None:
        if not self._lost:  # memory goes with its context
            self._call("cuMemFree", address)

    def copy(self, destination: int, source: int, nbytes: int) -> None:
        self._call("cuMemcpy", destination, source, nbytes)

    def register(self, address: int, nbytes: int, label: str) -> None:
        """Nothing to do for memory of the GPU. Raises DeviceError for memory of the host that a GPU cannot reach."""
        if nbytes and not self._lost and not self._reaches_all_memory:
            kind = ctypes.c_uint()
            code = self._library.cuPointerGetAttribute(ctypes.byref(kind), _MEMORY_TYPE, ctypes.c_uint64(address))
            if code == self.driver.CUresult.CUDA_ERROR_INVALID_VALUE:
                raise DeviceError(
                    "HOST_MEMORY",
                    f"`{label}` is in the memory of the host, which this GPU cannot "
                    'reach\nfix: make it with device="cuda", or use --device emulator',
                )

    def unregister(self, address: int) -> None:
        """See `register`."""

    # --- programs ---------------------------------------------------------------------------------------------------

    def load(self, ptx: str) -> Any:
        """A module. Raises DeviceError with the JIT's own log."""
        ptx = self.delayed(ptx)
        self._call("cuCtxSetCurrent", self.context)
        log, options = bytearray(_JIT_LOG_BYTES), self.driver.CUjit_option
        code, module = self.driver.cuModuleLoadDataEx(
            ptx.encode() + b"\0",
            2,
            [options.CU_JIT_ERROR_LOG_BUFFER, options.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES],
            [log, len(log)],
        )
        if code != self.driver.CUresult.CUDA_SUCCESS:
            error = self._error(code, "cuModuleLoadDataEx")
            said = [log.split(bytes(1))[0].decode(errors="replace").rstrip(), *self._too_new(ptx)]
            raise DeviceError(
                error.name, "\n".join([str(error).partition(": ")[2], *filter(None, said)]), error.repro_outcome
            )
        return module

    def _too_new(self, ptx: str) -> list[str]:
        """Why this driver or this GPU cannot take the PTX, where versions tell."""
        messages = []
        version = re.search(r"^\.version\s+(\d+)\.(\d+)", ptx, re.MULTILINE)
        has = self.cuda_version
        if version and cuda_for_ptx(needs := (int(version[1]), int(version[2]))) > has:
            needs_cuda, last = cuda_for_ptx(needs), ptx_of_cuda(has)
            messages.append(
                "the PTX is version {}.{}, which takes a driver for CUDA {}.{}; this driver is for CUDA "
                "{}.{} and takes PTX up to {}.{}\nfix: update the NVIDIA driver, or compile for an older "
                "target: --gpu-arch".format(*needs, *needs_cuda, *has, *last)
            )
        return [*messages, *filter(None, [gpu_models.refusal(ptx, self.arch)])]

    def launch(self, program: Any, entry: str, launch: Launch, params: Sequence[bytes]) -> None:
        self.begin()
        cells = [ctypes.create_string_buffer(param, len(param)) for param in params]
        pointers = (ctypes.c_void_p * max(len(cells), 1))(*[ctypes.addressof(cell) for cell in cells])
        try:
            function = self._function(program, entry, launch)
            self._call("cuLaunchKernelEx", self._config(launch), function, ctypes.addressof(pointers), 0)
        except DeviceError as error:
            raise self._not_launched(error, _describe(entry, launch)) from None
        self.launched(entry, launch)

    @functools.cached_property
    def _library(self) -> ctypes.CDLL:
        return ctypes.CDLL("libcuda.so.1")

    @functools.cached_property
    def _reaches_all_memory(self) -> bool:
        return bool(self._attribute("PAGEABLE_MEMORY_ACCESS"))

    @functools.cached_property
    def launch_entry(self) -> int:
        """The address of machine code that launches; see native_launch."""
        self._native = native_launch.entry(self._address("cuLaunchKernelEx"))
        return self._native[0]

    @functools.cached_property
    def native_calls(self) -> tuple[int, int, int]:
        """The functions that machine code calls for `begin` (address and argument) and for `sync` (address)."""
        current, wait = self._address("cuCtxSetCurrent"), self._address("cuCtxSynchronize")
        return current, int(self.context), wait

    def _address(self, name: str) -> int:
        """The address of a function of the driver."""
        address = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
        assert address is not None  # the library has it
        return address

    def begin(self) -> None:
        """Raises DeviceError where the context is lost."""
        self._call("cuCtxSetCurrent", self.context)

    def launched(self, entry: str, launch: Launch) -> None:
        """Remember a launch until its end is waited for."""
        self._running.append((entry, launch))

    def refused(self, code: int) -> DeviceError:
        """The error of the last launch, which machine code made."""
        what = _describe(*self._running.pop())
        return self._not_launched(self._error(self.driver.CUresult(code), "cuLaunchKernelEx"), what)

    def _not_launched(self, error: DeviceError, what: str) -> DeviceError:
        if self._lost:
            return error
        return DeviceError(
            error.name,
            f"{str(error).partition(': ')[2]}\nlaunching {what}",
            INVALID_LAUNCH if error.name in _REFUSED else None,
        )

    def function(self, program: Any, entry: str, launch: Launch) -> tuple[int, int]:
        """The driver's handle of a kernel that was launched, and the dynamic shared memory it may have, in bytes."""
        key = int(program), entry
        return int(self._functions[key]), self._granted_smem_bytes.get(key, 0)

    def _function(self, program: Any, entry: str, launch: Launch) -> Any:
        """The entry, allowed as much shared memory and as large a cluster as this launch asks for."""
        key = int(program), entry
        if key not in self._functions:
            self._functions[key] = self._call("cuModuleGetFunction", program, entry.encode())
        function, names = self._functions[key], self.driver.CUfunction_attribute
        if launch.smem_bytes > self._granted_smem_bytes.get(key, 0):
            static = self._call("cuFuncGetAttribute", names.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function)
            if static + launch.smem_bytes > _DEFAULT_SMEM_BYTES:
                self._check_smem(entry, static, launch.smem_bytes)
                self._call(
                    "cuFuncSetAttribute",
                    function,
                    names.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                    launch.smem_bytes,
                )
            self._granted_smem_bytes[key] = launch.smem_bytes
        x, y, z = launch.cluster
        if x * y * z > _PORTABLE_CLUSTER_BLOCKS:
            self._call("cuFuncSetAttribute", function, names.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)
        return function

    def _check_smem(self, entry: str, static_bytes: int, dynamic_bytes: int) -> None:
        most = self._attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        if static_bytes + dynamic_bytes > most:
            raise DeviceError(
                "CUDA_ERROR_INVALID_VALUE",
                f"`{entry}` asks for {static_bytes} static and "
                f"{dynamic_bytes} dynamic bytes of shared memory; a block on this GPU has at most "
                f"{most}",
            )

    def _config(self, launch: Launch) -> Any:
        config = self.driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = launch.grid
        config.blockDimX, config.blockDimY, config.blockDimZ = launch.block
        config.sharedMemBytes, config.hStream = launch.smem_bytes, self.driver.CUstream(launch.stream)
        attributes = []
        if launch.cluster != (1, 1, 1):
            attributes.append(self._launch_attribute("CLUSTER_DIMENSION"))
            cluster = attributes[-1].value.clusterDim
            cluster.x, cluster.y, cluster.z = launch.cluster
        if launch.flags & COOPERATIVE:
            attributes.append(self._launch_attribute("COOPERATIVE"))
            attributes[-1].value.cooperative = 1
        if launch.flags & PROGRAMMATIC:
            attributes.append(self._launch_attribute("PROGRAMMATIC_STREAM_SERIALIZATION"))
            attributes[-1].value.programmaticStreamSerializationAllowed = 1
        for name, event in zip(("LAUNCH_COMPLETION_EVENT", "PROGRAMMATIC_EVENT"), launch.events):
            if event:
                attributes.append(self._launch_attribute(name))
                of_launch = name == "LAUNCH_COMPLETION_EVENT"
                value = attributes[-1].value
                (value.launchCompletionEvent if of_launch else value.programmaticEvent).event = self.driver.CUevent(
                    event
                )
        config.numAttrs, config.attrs = len(attributes), attributes
        return config

    def _launch_attribute(self, name: str) -> Any:
        attribute = self.driver.CUlaunchAttribute()
        attribute.id = getattr(self.driver.CUlaunchAttributeID, f"CU_LAUNCH_ATTRIBUTE_{name}")
        return attribute

    def sync(self) -> None:
        self._call("cuCtxSynchronize")
        self._running.clear()


def _describe(entry: str, launch: Launch) -> str:
    text = f"`{entry}` grid={launch.grid} block={launch.block}"
    text += f" cluster={launch.cluster}" * (launch.cluster != (1, 1, 1))
    return text + f" smem={launch.smem_bytes}" * bool(launch.smem_bytes)
