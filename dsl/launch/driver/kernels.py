"""Modules, libraries, kernels, occupancy and launches.  CUDA driver API.

An image is PTX: text, or in a fat binary that is not compressed, or what `images` finds for it: a session that knows
which PTX a cubin was made of.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from dsl.core.trace import COOPERATIVE
from dsl.launch.devices.protocol import INVALID_LAUNCH, DeviceError, Launch
from dsl.launch.driver import attributes, results
from dsl.launch.driver.calls import Int, Long, Pointer, Refused, Text, Unsigned, array, put, put_if, refuse_if
from dsl.launch.driver.contexts import Contexts
from dsl.launch.driver.launch_config import LaunchConfig, launch_of

_INT, _UNSIGNED, _SIZE, _POINTER = ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p
_FAT_BINARY, _PTX, _COMPRESSED = 0xBA55ED50, 1, 0x6000  # a fat binary's first word; its entries' kind and flags
_WRAPPER = 0x466243B1  # __fatBinC_Wrapper_t, whose third field points at the fat binary
# CUfunction_attribute
_MAX_THREADS, _STATIC_SMEM, _CONSTANT, _LOCAL, _REGISTERS, _PTX_VERSION, _BINARY_VERSION, _CACHE = range(8)
_MAX_DYNAMIC_SMEM, _CARVEOUT, _CLUSTER_SET, _CLUSTER_X, _CLUSTER_Y, _CLUSTER_Z, _NON_PORTABLE, _POLICY = range(8, 16)
_DEFAULT_SMEM_BYTES = 48 << 10
_BUFFER_POINTER, _BUFFER_SIZE = 1, 2  # CU_LAUNCH_PARAM_...


@dataclass
class Module:
    """Loaded PTX; a library too."""

    program: Any
    kernels: dict[str, int] = field(default_factory=dict)  # their handles


@dataclass
class Kernel:
    """An entry of a module; a function too."""

    module: Module
    name: str
    allowed_smem_bytes: int | None = None  # by the attribute
    settings: dict[int, int] = field(default_factory=dict)

    @property
    def dynamic_smem_bytes(self) -> int:
        """The most a launch may ask for: what the attribute allows, else what is left of the default."""
        if self.allowed_smem_bytes is not None:
            return self.allowed_smem_bytes
        return max(_DEFAULT_SMEM_BYTES - self.entry.static_smem_bytes, 0)

    @property
    def entry(self) -> Any:
        return self.module.program.entries[self.name]


class KernelCalls(Contexts):
    """Kernels. `images` are asked in turn for the PTX of an image at an address, `launched` hears of each launch."""

    images: list[Callable[[int], str | None]]
    launched: Callable[[str, Any, Launch], None] | None = None

    # ** modules

    def variables(self) -> list[Any]:
        return [
            row for _, each in self.handles.items() if isinstance(each, Module) for row in each.program.allocations()
        ]

    def ptx_of(self, image: int) -> str:
        """The PTX of an image. Refuses one that has none."""
        for look in getattr(self, "images", ()):
            text = look(image)
            if text is not None:
                return text
        word = ctypes.c_uint32.from_address(image).value
        if word == _WRAPPER:
            return self.ptx_of(ctypes.c_uint64.from_address(image + 8).value)
        if word == _FAT_BINARY:
            return _ptx_in_fat_binary(image)
        text = ctypes.string_at(image)
        refuse_if(b".version" not in text, results.NO_BINARY)
        return text.decode(errors="replace")

    def _load(self, handle: int | None, image: int | None, error: Any = None) -> None:
        self.current()
        refuse_if(not handle or not image)
        try:
            program = self.device.load(self.ptx_of(image or 0))
        except (Refused, KeyboardInterrupt):
            raise
        except Exception as wrong:
            self.failed(wrong)
            if error is not None:
                error(str(wrong))
            raise Refused(results.INVALID_PTX) from None
        put(handle, _POINTER, self.handles.add(Module(program)))

    def cuModuleLoadData(self, module: Pointer, image: Pointer) -> None:
        self._load(module, image)

    def cuModuleLoadDataEx(
        self, module: Pointer, image: Pointer, count: Unsigned, options: Pointer, values: Pointer
    ) -> None:
        self._load(module, image)

    def cuModuleLoadFatBinary(self, module: Pointer, image: Pointer) -> None:
        self._load(module, image)

    def cuModuleLoad(self, module: Pointer, path: Text) -> None:
        try:
            with open(path or b"", "rb") as file:
                data = ctypes.create_string_buffer(file.read())
        except OSError:
            raise Refused(results.FILE_NOT_FOUND) from None
        self._load(module, ctypes.addressof(data))

    def cuModuleUnload(self, module: Pointer) -> None:
        self.current()
        for kernel in self.handles.remove(module, Module).kernels.values():
            self.handles.remove(kernel, Kernel)

    def cuModuleGetFunction(self, function: Pointer, module: Pointer, name: Text) -> None:
        self.current()
        owner = self.handles.get(module, Module)
        put(function, _POINTER, self._kernel_of(owner, (name or b"").decode()))

    def _kernel_of(self, module: Module, name: str) -> int:
        refuse_if(name not in module.program.entries, results.NOT_FOUND)
        if name not in module.kernels:
            module.kernels[name] = self.handles.add(Kernel(module, name))
        return module.kernels[name]

    def cuModuleGetFunctionCount(self, count: Pointer, module: Pointer) -> None:
        put(count, _UNSIGNED, len(self.handles.get(module, Module).program.entries))

    def cuModuleEnumerateFunctions(self, functions: Pointer, count: Unsigned, module: Pointer) -> None:
        owner = self.handles.get(module, Module)
        for index, name in enumerate(list(owner.program.entries)[:count]):
            put((functions or 0) + 8 * index, _POINTER, self._kernel_of(owner, name))

    def cuModuleGetGlobal(self, address: Pointer, nbytes: Pointer, module: Pointer, name: Text) -> None:
        self.current()
        ranges = self.handles.get(module, Module).program.allocations()
        place = next((each for each in ranges if each.label == (name or b"").decode()), None)
        if place is None:
            raise Refused(results.NOT_FOUND)
        put_if(address, _POINTER, place.address)
        put_if(nbytes, _SIZE, place.size_bytes)

    # ** libraries: modules that belong to no context

    def cuLibraryLoadData(
        self, library: Pointer, image: Pointer, jit_options: Pointer, jit_values: Pointer, jit_count: Unsigned,
        options: Pointer, values: Pointer, count: Unsigned,
    ) -> None:  # fmt: skip
        self.ready()
        self._load(library, image)

    def cuLibraryLoadFromFile(
        self, library: Pointer, path: Text, jit_options: Pointer, jit_values: Pointer, jit_count: Unsigned,
        options: Pointer, values: Pointer, count: Unsigned,
    ) -> None:  # fmt: skip
        self.cuModuleLoad(library, path)

    def cuLibraryUnload(self, library: Pointer) -> None:
        self.cuModuleUnload(library)

    def cuLibraryGetKernel(self, kernel: Pointer, library: Pointer, name: Text) -> None:
        self.cuModuleGetFunction(kernel, library, name)

    def cuLibraryGetKernelCount(self, count: Pointer, library: Pointer) -> None:
        self.cuModuleGetFunctionCount(count, library)

    def cuLibraryEnumerateKernels(self, kernels: Pointer, count: Unsigned, library: Pointer) -> None:
        self.cuModuleEnumerateFunctions(kernels, count, library)

    def cuLibraryGetModule(self, module: Pointer, library: Pointer) -> None:
        self.handles.get(library, Module)
        put(module, _POINTER, library)

    def cuLibraryGetGlobal(self, address: Pointer, nbytes: Pointer, library: Pointer, name: Text) -> None:
        self.cuModuleGetGlobal(address, nbytes, library, name)

    def cuKernelGetFunction(self, function: Pointer, kernel: Pointer) -> None:
        self.handles.get(kernel, Kernel)
        put(function, _POINTER, kernel)

    # ** attributes of a kernel

    def cuFuncGetAttribute(self, value: Pointer, attribute: Int, function: Pointer) -> None:
        self.current()
        kernel = self.handles.get(function, Kernel)
        required = kernel.entry.reqntid
        answers = {
            _MAX_THREADS: math.prod(required) if required else attributes.ATTRIBUTES[1],
            _STATIC_SMEM: kernel.entry.static_smem_bytes,
            _CONSTANT: 0,
            _LOCAL: 0,  # the emulator has no registers and no stack
            _REGISTERS: 0,
            _PTX_VERSION: 90,
            _BINARY_VERSION: 90,
            _MAX_DYNAMIC_SMEM: min(
                kernel.dynamic_smem_bytes, attributes.ATTRIBUTES[97] - kernel.entry.static_smem_bytes
            ),
            _CARVEOUT: -1,
        }
        refuse_if(not 0 <= attribute <= _POLICY)
        put(value, _INT, kernel.settings.get(attribute, answers.get(attribute, 0)))

    def cuFuncSetAttribute(self, function: Pointer, attribute: Int, value: Int) -> None:
        self.current()
        kernel = self.handles.get(function, Kernel)
        refuse_if(not _MAX_DYNAMIC_SMEM <= attribute <= _POLICY)
        if attribute == _MAX_DYNAMIC_SMEM:
            refuse_if(value < 0 or value + kernel.entry.static_smem_bytes > attributes.ATTRIBUTES[97])
            kernel.allowed_smem_bytes = value
        else:
            kernel.settings[attribute] = value

    def cuKernelGetAttribute(self, value: Pointer, attribute: Int, kernel: Pointer, device: Int) -> None:
        self.cuFuncGetAttribute(value, attribute, kernel)

    def cuKernelSetAttribute(self, attribute: Int, value: Int, kernel: Pointer, device: Int) -> None:
        self.cuFuncSetAttribute(kernel, attribute, value)

    def cuFuncSetCacheConfig(self, function: Pointer, config: Int) -> None:
        self.handles.get(function, Kernel)

    def cuKernelSetCacheConfig(self, kernel: Pointer, config: Int, device: Int) -> None:
        self.handles.get(kernel, Kernel)

    def cuFuncGetName(self, name: Pointer, function: Pointer) -> None:
        words = self.handles.get(function, Kernel).name
        kept = self._texts.setdefault(words, ctypes.create_string_buffer(words.encode()))
        put(name, _POINTER, ctypes.addressof(kept))

    def cuKernelGetName(self, name: Pointer, kernel: Pointer) -> None:
        self.cuFuncGetName(name, kernel)

    def cuFuncGetModule(self, module: Pointer, function: Pointer) -> None:
        owner = self.handles.get(function, Kernel).module
        put(module, _POINTER, next(handle for handle, each in self.handles.items() if each is owner))

    def cuFuncGetParamCount(self, function: Pointer, count: Pointer) -> None:
        put(count, _SIZE, len(self.handles.get(function, Kernel).entry.params))

    # ** occupancy, of threads and shared memory: the emulator has no registers

    def _blocks_per_sm(self, kernel: Kernel, threads: int, smem_bytes: int) -> int:
        refuse_if(threads < 1)
        total = kernel.entry.static_smem_bytes + smem_bytes
        if threads > attributes.ATTRIBUTES[1] or total > attributes.ATTRIBUTES[97]:
            return 0
        by_threads = attributes.ATTRIBUTES[39] // (-(-threads // 32) * 32)
        by_smem = attributes.ATTRIBUTES[81] // (total + attributes.RESERVED_SMEM_BYTES)
        return min(by_threads, by_smem, attributes.BLOCKS_PER_SM)

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(
        self, blocks: Pointer, function: Pointer, threads: Int, smem_bytes: Long
    ) -> None:
        self.current()
        put(blocks, _INT, self._blocks_per_sm(self.handles.get(function, Kernel), threads, smem_bytes))

    def cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        self, blocks: Pointer, function: Pointer, threads: Int, smem_bytes: Long, flags: Unsigned
    ) -> None:
        self.cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, smem_bytes)

    def cuOccupancyAvailableDynamicSMemPerBlock(
        self, nbytes: Pointer, function: Pointer, blocks: Int, threads: Int
    ) -> None:
        self.current()
        static = self.handles.get(function, Kernel).entry.static_smem_bytes
        refuse_if(blocks < 1)
        room = attributes.ATTRIBUTES[81] // blocks - attributes.RESERVED_SMEM_BYTES
        put(nbytes, _SIZE, max(0, min(room, attributes.ATTRIBUTES[97]) - static))

    def cuOccupancyMaxPotentialClusterSize(self, blocks: Pointer, function: Pointer, config: Pointer) -> None:
        self.current()
        kernel = self.handles.get(function, Kernel)
        portable, most = attributes.PORTABLE_CLUSTER_BLOCKS, attributes.MOST_CLUSTER_BLOCKS
        put(blocks, _INT, most if kernel.settings.get(_NON_PORTABLE) else portable)

    def cuOccupancyMaxActiveClusters(self, clusters: Pointer, function: Pointer, config: Pointer) -> None:
        self.current()
        kernel = self.handles.get(function, Kernel)
        refuse_if(not config)
        launch = launch_of(LaunchConfig.from_address(config or 0))
        blocks = self._blocks_per_sm(kernel, math.prod(launch.block), launch.smem_bytes)
        put(clusters, _INT, blocks * attributes.ATTRIBUTES[16] // math.prod(launch.cluster))

    # ** launches

    def launch(self, function: int | None, launch: Launch, arguments: int | None, extra: int | None = None) -> None:
        """Run a kernel; `arguments` are pointers to each, or `extra` has them in one buffer."""
        self.stream(launch.stream)
        self.device.stopped_at = ""
        kernel = self.handles.get(function, Kernel)
        refuse_if(not all((*launch.grid, *launch.block)))
        if launch.smem_bytes > kernel.dynamic_smem_bytes:
            raise DeviceError(
                "CUDA_ERROR_INVALID_VALUE",
                f"launch of `{kernel.name}`: dynamic shared memory must be at most {kernel.dynamic_smem_bytes} bytes "
                f"unless the kernel's attribute allows more, got {launch.smem_bytes}",
                INVALID_LAUNCH,
            )
        sizes = self.device.param_bytes(kernel.module.program, kernel.name)  # type: ignore[attr-defined]
        refuse_if(sizes and not (arguments or extra))
        params: list[bytes] = []
        if extra:
            params = _in_buffer(kernel.entry.params, extra)
        elif sizes:
            pointers = array(arguments, ctypes.c_size_t, len(sizes))
            params = [ctypes.string_at(pointer, size) for pointer, size in zip(pointers, sizes)]
        if self.launched is not None:
            self.launched(kernel.name, kernel.module.program, launch)
        self.device.launch(kernel.module.program, kernel.name, launch, params)

    def cuLaunchKernel(
        self, function: Pointer, grid_x: Unsigned, grid_y: Unsigned, grid_z: Unsigned, block_x: Unsigned,
        block_y: Unsigned, block_z: Unsigned, smem_bytes: Unsigned, stream: Pointer, arguments: Pointer,
        extra: Pointer,
    ) -> None:  # fmt: skip
        shape = Launch((grid_x, grid_y, grid_z), (block_x, block_y, block_z), smem_bytes=smem_bytes, stream=stream or 0)
        self.launch(function, shape, arguments, extra)

    def cuLaunchCooperativeKernel(
        self, function: Pointer, grid_x: Unsigned, grid_y: Unsigned, grid_z: Unsigned, block_x: Unsigned,
        block_y: Unsigned, block_z: Unsigned, smem_bytes: Unsigned, stream: Pointer, arguments: Pointer,
    ) -> None:  # fmt: skip
        shape = Launch((grid_x, grid_y, grid_z), (block_x, block_y, block_z), smem_bytes=smem_bytes, stream=stream or 0)
        self.launch(function, replace(shape, flags=COOPERATIVE), arguments)

    def cuLaunchKernelEx(self, config: Pointer, function: Pointer, arguments: Pointer, extra: Pointer) -> None:
        refuse_if(not config)
        self.launch(function, launch_of(LaunchConfig.from_address(config or 0)), arguments, extra)


def _in_buffer(params: Any, extra: int) -> list[bytes]:
    """The arguments in the buffer that a list of (name, value) pairs names."""
    settings: dict[int, int] = {}
    while key := ctypes.c_size_t.from_address(extra).value:
        settings[key] = ctypes.c_size_t.from_address(extra + 8).value
        extra += 16
    refuse_if(_BUFFER_POINTER not in settings or _BUFFER_SIZE not in settings)
    room = ctypes.c_size_t.from_address(settings[_BUFFER_SIZE]).value
    parts, at = [], 0
    for param in params:
        at = -(-at // param.align_bytes) * param.align_bytes
        refuse_if(at + param.size_bytes > room)
        parts.append(ctypes.string_at(settings[_BUFFER_POINTER] + at, param.size_bytes))
        at += param.size_bytes
    return parts


def _ptx_in_fat_binary(image: int) -> str:
    """The first PTX in it. Each entry has its kind (u16), at 4 the size of its header (u32), at 8 the size of its
    payload (u64), at 40 flags. Refuses compressed PTX and machine code alone."""
    _, _, header_bytes, size_bytes = struct.unpack("<IHHQ", ctypes.string_at(image, 16))
    data = ctypes.string_at(image, header_bytes + size_bytes)
    at = header_bytes
    while at + 64 <= len(data):
        kind, _, entry_bytes, payload_bytes = struct.unpack_from("<HHIQ", data, at)
        flags = struct.unpack_from("<Q", data, at + 40)[0]
        if kind == _PTX and not flags & _COMPRESSED:
            return data[at + entry_bytes : at + entry_bytes + payload_bytes].rstrip(b"\0").decode()
        at += entry_bytes + payload_bytes
    raise Refused(results.NO_BINARY)
