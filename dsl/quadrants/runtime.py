"""qd.init, qd.reset, qd.sync: which device kernels run on, what `int` and `float` mean, and which fields still live."""

from __future__ import annotations

import ctypes
import struct
import sys
from dataclasses import dataclass
from typing import Any

from dsl.core.diagnosis.spelling import alike
from dsl.core.phrase import shown
from dsl.launch import session
from dsl.launch.devices.choice import choose
from dsl.launch.devices.warm_up import ready
from dsl.quadrants.errors.errors import QuadrantsRuntimeError, QuadrantsTypeError, UnknownOption
from dsl.quadrants.values import dtypes as types


class Arch:
    """A target: `cpu` is the emulator, `cuda` and `gpu` the machine's GPU (or what the run maps it to)."""

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return f"Arch.{self.name}"


x64, arm64, cuda, amdgpu, metal, vulkan = map(Arch, ("x64", "arm64", "cuda", "amdgpu", "metal", "vulkan"))
cpu = x86_64 = x64
gpu = [cuda]
python = Arch("python")


@dataclass
class Config:
    """The options of qd.init that mean something here."""

    arch: Arch = x64
    default_ip: types.DataType = types.i32
    default_fp: types.DataType = types.f32
    debug: bool = False
    print_full_traceback: bool = False
    unrolling_limit: int = 32
    short_circuit_operators: bool = True
    random_seed: int = 0
    fast_math: bool = True
    offline_cache: bool = True


# Options that only tell the real package how to compile or log.
_IGNORED = {
    "ad_stack_experimental_enabled",
    "ad_stack_size",
    "advanced_optimization",
    "auto_mesh_local_default_occupacy",
    "cache_loop_invariant_global_vars",
    "cfg_optimization",
    "check_out_of_bound",
    "compile_time_check",
    "cpu_max_num_threads",
    "cuda_stack_limit",
    "debug_dump_path",
    "default_ad_stack_size",
    "default_cpu_block_dim",
    "default_gpu_block_dim",
    "demote_dense_struct_fors",
    "demote_no_access_mesh_fors",
    "detect_read_only",
    "device_memory_GB",
    "device_memory_fraction",
    "dynamic_index",
    "enable_fallback",
    "experimental_auto_mesh_local",
    "flatten_if",
    "force_scalarize_matrix",
    "gdb_trigger",
    "half2_vectorization",
    "ir_dump",
    "kernel_profiler",
    "lazy_grad",
    "log_level",
    "lower_access",
    "make_block_local",
    "make_thread_local",
    "max_block_dim",
    "move_loop_invariant_outside_if",
    "num_compile_threads",
    "offline_cache_file_path",
    "opt_level",
    "optimize_mesh_reordered_mapping",
    "packed",
    "print_accessor_ir",
    "print_benchmark_stat",
    "print_ir",
    "print_kernel_asm",
    "print_kernel_llvm_ir",
    "print_preprocessed_ir",
    "print_struct_llvm_ir",
    "quant_opt_atomic_demotion",
    "quant_opt_store_fusion",
    "raise_on_templated_floats",
    "real_matrix_scalarize",
    "require_version",
    "saturating_grid_dim",
    "simplify_before_lower_access",
    "src_ll_cache",
    "timeline",
    "use_llvm",
    "verbose",
    "verbose_kernel_launches",
    "verbose_kernel_times",
    "vk_api_version",
}


class Runtime:
    """The state between `init` and `reset`. `generation` numbers them; things of another one are dead.

    `epoch` also counts the trees of fields that were destroyed: compiled kernels of another one may have a dead field.
    """

    config: Config | None = None
    generation = 0
    epoch = 0
    random: Any = None  # the Launches of dsl.quadrants.values.philox
    roots: list = []  # fields that were placed or shaped in this generation


def init(arch: Arch | list | None = None, default_fp=None, default_ip=None, **options) -> None:
    """Start with this configuration: earlier fields and kernels are dropped. Raises KeyError for an unknown option."""
    chosen = arch[0] if isinstance(arch, (list, tuple)) else arch or x64
    settings = {name: value for name, value in options.items() if hasattr(Config, name)}
    for name in options:
        if name not in settings and name not in _IGNORED:
            meant = alike(name, [*vars(Config), *_IGNORED])
            raise UnknownOption(
                f"Unrecognized keyword argument(s) for qd.init: {name}",
                f"did you mean `{meant}`?" if meant else "drop it: docs/quadrants.md lists the options",
            )
    if not isinstance(chosen, Arch):
        raise QuadrantsTypeError.at(f"`arch` is an architecture, got {shown(arch)}", "arch=qd.cpu, or arch=qd.gpu")
    default_ip, default_fp = default_ip or types.i32, default_fp or types.f32
    ip, fp = types.of(default_ip), types.of(default_fp)
    if ip is None or not ip.core.is_integer:
        raise QuadrantsTypeError.at(f"`default_ip` is an integer type, got {shown(default_ip)}", "default_ip=qd.i64")
    if fp is None or not fp.core.is_float:
        raise QuadrantsTypeError.at(f"`default_fp` is a type of floats, got {shown(default_fp)}", "default_fp=qd.f64")
    reset()
    config = Config(chosen, ip, fp, **settings)
    Runtime.config = config
    types.Defaults.ip, types.Defaults.fp = config.default_ip, config.default_fp
    running = session.current()
    if chosen in (x64, arm64) and running.device.kind == "cuda":
        running.device = choose("emulator")
    ready(running.device)


def reset() -> None:
    """Drop all fields and compiled kernels."""
    Runtime.generation += 1
    Runtime.epoch += 1
    Runtime.config = None
    Runtime.roots = []
    types.Defaults.ip, types.Defaults.fp = types.i32, types.f32


def sync() -> None:
    """Wait for every kernel."""
    session.current().device.sync()


def check() -> Config:
    """The configuration. Raises QuadrantsRuntimeError before qd.init."""
    if Runtime.config is None:
        raise QuadrantsRuntimeError(
            "qd.init() has not been called, or qd.reset() has been since", "call qd.init(arch=qd.cpu) first"
        )
    return Runtime.config


class Memory:
    """Bytes on the device, zeroed; given back when this dies."""

    def __init__(self, size_bytes: int, label: str):
        self.device, self.size_bytes, self.generation = session.current().device, size_bytes, Runtime.generation
        self.address = self.device.alloc(max(size_bytes, 8), label)
        self.write(0, bytes(max(size_bytes, 8)))

    def write(self, offset_bytes: int, data: bytes) -> None:
        self.check()
        if data:
            self.device.copy(self.address + offset_bytes, _address_of(data), len(data))

    def read(self, offset_bytes: int, size_bytes: int) -> bytes:
        self.check()
        sync()
        buffer = ctypes.create_string_buffer(max(size_bytes, 1))
        self.device.copy(ctypes.addressof(buffer), self.address + offset_bytes, size_bytes)
        return buffer.raw[:size_bytes]

    def copy_in(self, address: int, size_bytes: int) -> None:
        self.check()
        self.device.copy(self.address, address, size_bytes)

    def copy_out(self, address: int, size_bytes: int) -> None:
        self.check()
        sync()
        self.device.copy(address, self.address, size_bytes)

    def view(self) -> Any:
        """These bytes, if they are host memory: not copied, and kept as long as the view is."""
        self.check()
        sync()
        if self.device.kind != "emulator":
            return None
        view = (ctypes.c_char * max(self.size_bytes, 8)).from_address(self.address)
        vars(view)["owner"] = self
        return view

    def check(self) -> None:
        """Raise QuadrantsRuntimeError where qd.init or qd.reset has dropped this memory."""
        if self.generation != Runtime.generation:
            raise QuadrantsRuntimeError(
                "this field or array is gone: qd.init() or qd.reset() was called after it was made",
                "make it again after qd.init()",
            )

    def __del__(self, is_ending=sys.is_finalizing):
        try:
            if not is_ending():
                self.device.free(self.address)
        except Exception:  # the device ends
            pass


def _address_of(data: bytes) -> int:
    address = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value
    assert address is not None  # `data` is not empty
    return address


def pack(dtype: types.DataType, value: Any) -> bytes:
    """A Python number as the bytes of `dtype`: floats are truncated for integers, which wrap."""
    core = dtype.core
    value = value.item() if hasattr(value, "item") else value
    if core.is_integer:
        value = core.wrapped(int(value)) if core.width > 1 else bool(value)
    else:
        value = core.constant_of(float(value))
    return struct.pack("<" + dtype.format, value)


def unpack(dtype: types.DataType, data: bytes) -> Any:
    return struct.unpack("<" + format_of(dtype), data)[0]


def format_of(dtype: types.DataType) -> str:
    """The letter of `struct` by which Python reads a number: a u1 as 0 or 1."""
    return "B" if dtype is types.u1 else dtype.format
