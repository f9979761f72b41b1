"""NVIDIA's compiler with this project's device: nvidia-cutlass-dsl compiles, the emulator executes.

The compiled host functions call a CUDA runtime by C names, which their JIT looks up in the libraries that CUTE_DSL_LIBS
lists. `runtime.c`, built by `cc` on first use, defines those names and hands modules, launches and memory to
Python. A module arrives as a cubin; its PTX is what the compiler kept beside it. On a CUDA device nothing is replaced:
the package works as it does alone, and only what it compiled is written down.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dsl.launch import session
from dsl.launch.devices import torch_cuda
from dsl.launch.devices.choice import choose
from dsl.launch.devices.protocol import DeviceError, DeviceMissing
from dsl.launch.nvidia import errors, tensors
from dsl.launch.nvidia.launch_config import LaunchConfig, launch_of

PACKAGE = "nvidia-cutlass-dsl"
INSTALL = f"uv sync --group nvidia    (or: pip install {PACKAGE})"
SOURCE = Path(__file__).with_name("runtime.c")
FLAGS = ("-O1", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-shared", "-fPIC")
# A fat binary starts with this number, a u16, the size of its header (u16) and that of the rest (u64).
FAT_BINARY = 0xBA55ED50
SUCCESS, INVALID_CONFIGURATION, NOT_FOUND, LAUNCH_FAILED, NOT_SUPPORTED = 0, 9, 500, 719, 801  # cudaError
KEPT_UNTIL_4_4 = ("CUTE_DSL_KEEP_PTX", "CUTE_DSL_KEEP_CUBIN")  # later releases read CUTE_DSL_KEEP


class CompilerMissing(DeviceMissing):
    """NVIDIA's compiler cannot be used here; the text says what to install."""


class Missing(Exception):
    """A compiled host function called a function of the CUDA runtime that the emulator has nothing for."""


# ** the library


def library() -> Path:
    """The runtime as a shared library, built once for each text of its source. Raises CompilerMissing without `cc`."""
    source = SOURCE.read_bytes()
    key = hashlib.sha256(" ".join((*FLAGS, os.uname().machine)).encode() + source).hexdigest()[:16]
    folder = _cache()
    path = folder / f"nvidia-runtime-{key}.so"
    if path.exists():
        return path
    cc = shutil.which("cc")
    if cc is None:
        raise CompilerMissing(
            "--compiler nvidia on the emulator builds a small C library, but there is no C compiler "
            "`cc`\nfix: apt-get install gcc libc6-dev"
        )
    with tempfile.TemporaryDirectory(prefix="nvidia-runtime-", dir=folder) as scratch:
        built = Path(scratch, "runtime.so")
        done = subprocess.run([cc, *FLAGS, "-o", built, SOURCE], capture_output=True, text=True)
        if done.returncode:
            raise CompilerMissing(
                f"`{cc}` cannot build {SOURCE.name}:\n{done.stderr.strip()}\nfix: apt-get install gcc libc6-dev"
            )
        os.replace(built, path)  # whole or not at all, whoever else builds it
    return path


def _cache() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpu-repro"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    folder = Path(tempfile.gettempdir(), f"gpu-repro-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise CompilerMissing(
            f"{folder} belongs to another user, and there is no other folder to build in\nfix: name a folder "
            "in XDG_CACHE_HOME"
        )
    return folder


# ** the package


def version() -> str:
    """The version of NVIDIA's compiler. Raises CompilerMissing."""
    try:
        installed = importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise CompilerMissing(
            f"--compiler nvidia needs the package {PACKAGE}, which is not installed\nfix: {INSTALL}"
        ) from None
    return installed


@dataclass
class _Kept:
    """Where the compiler keeps PTX and cubins: /proc/self/fd/N, which each process points at a folder of its own."""

    fd: int = -1

    def prepare(self) -> str:
        if self.fd < 0:
            self.fd = os.open(os.sep, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"/proc/self/fd/{self.fd}"

    def start(self) -> Path:
        """A new folder for this process; those of processes that are gone are removed."""
        top = Path(tempfile.gettempdir(), f"gpu-repro-kept-{os.getuid()}")
        top.mkdir(mode=0o700, exist_ok=True)
        for old in top.iterdir():
            if not Path("/proc", old.name.partition("-")[0]).exists():
                shutil.rmtree(old, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=top))
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        os.dup2(opened, self.fd, inheritable=False)
        os.close(opened)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder


_kept = _Kept()
_prepared: list[str] = []  # the kind of device this process imported the package for


def prepare(kind: str) -> None:
    """Import the package, set up for a device of this kind. Raises CompilerMissing; RuntimeError where it is too late.

    A process that did this can fork; each child then calls `start`.
    """
    if _prepared:
        if _prepared != [kind]:
            raise RuntimeError(f"NVIDIA's compiler is already set up for {_prepared[0]} in this process")
        return
    version()
    if "cutlass" in sys.modules:
        raise RuntimeError("cutlass is already imported: run the program with `python -m dsl --compiler nvidia FILE`")
    keep = {*filter(None, os.environ.get("CUTE_DSL_KEEP", "").split(",")), "ptx", "cubin"}
    settings = {
        "CUTE_DSL_KEEP": ",".join(sorted(keep)),
        "CUTE_DSL_DUMP_DIR": _kept.prepare(),
        "CUTE_DSL_LINEINFO": "1",
        "CUTE_DSL_DISABLE_FILE_CACHING": "1",
    } | dict.fromkeys(KEPT_UNTIL_4_4, "1")
    if kind == "emulator":
        settings |= {
            "CUTE_DSL_LIBS": str(library()),
            "CUTE_DSL_ARCH": os.environ.get("CUTE_DSL_ARCH") or "sm_90a",
            "TVM_FFI_SKIP_DLPACK_C_EXCHANGE_API": "1",  # tensors pass through __dlpack__, which is mapped
            "TVM_FFI_DISABLE_TORCH_C_DLPACK": "1",
        }
        _one_device()
    before = {name: os.environ.get(name) for name in ("CUTE_DSL_KEEP", "CUTE_DSL_DUMP_DIR", *KEPT_UNTIL_4_4)}
    os.environ.update(settings)
    importlib.import_module("cutlass.cute")
    if kind == "emulator":
        _one_stream()
    if importlib.util.find_spec("tvm_ffi"):
        importlib.import_module("tvm_ffi")
    for name, value in before.items():  # they were read; what the program starts is not to write here
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value
    _prepared.append(kind)


def _one_device() -> None:
    """The executor asks CUDA for the number of devices before it loads a module; until 4.4 it begins the driver."""
    runtime, driver = (importlib.import_module(f"cuda.bindings.{part}") for part in ("runtime", "driver"))
    runtime.cudaGetDeviceCount = lambda: (runtime.cudaError_t.cudaSuccess, 1)
    driver.cuInit = lambda flags: (driver.CUresult.CUDA_SUCCESS,)


def _one_stream() -> None:
    """The helpers of `cutlass.cuda` ask the driver from Python."""
    helpers, driver = importlib.import_module("cutlass").cuda, importlib.import_module("cuda.bindings.driver")
    helpers.initialize_cuda_context = lambda device_id=0, flags=0: driver.CUcontext(0)
    helpers.default_stream = lambda: driver.CUstream(0)
    helpers.stream_create = lambda id=0: driver.CUstream(0)
    helpers.stream_sync = helpers.stream_destroy = lambda stream: None


# ** the session


@dataclass
class NvidiaKernel(session.KernelRecord):
    """A kernel that NVIDIA's compiler made; it shows its PTX and its machine code."""

    cubin: bytes = b""

    @property
    def sass(self) -> str:
        from dsl.launch import machine_code

        return machine_code.disassembly(self.cubin)


@dataclass
class Module:
    """PTX and what NVIDIA assembled it to."""

    ptx: str
    cubin: bytes
    kernels: dict[str, NvidiaKernel]


@dataclass
class NvidiaSession(session.Session):
    """A run under NVIDIA's compiler. A program sees only a CUDA error of what a launch raised, its `failure`; `broken`
    is what says nothing about the program: the emulator lacks something, or Ctrl-C. Nothing works after that."""

    folder: Path = Path()
    modules: dict[str, Module] = field(default_factory=dict)  # by the hash of the cubin
    failure: BaseException | None = None
    told: BaseException | None = None  # the failure that the last error through TVM FFI was about
    broken: BaseException | None = None
    undo: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def compiler_facts(self) -> dict:
        return {"name": "nvidia", "version": version()}

    def facts(self, sass: bool = False) -> dict:
        self.collect()
        return super().facts(sass)

    def ptxas(self) -> str:
        return f"of nvidia-cutlass-dsl {version()}"

    def show(self, stage: str) -> str:
        """Text of `stage`, ptx or sass, of every module."""
        self.collect()
        return super().show(stage)

    def close(self) -> None:
        self.undo.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        super().close()

    def cause(self, error: BaseException) -> BaseException:
        """What is behind an exception that left the program: what a launch raised, or the error as NVIDIA means it."""
        if self.broken is not None:
            return self.broken
        report = errors.report_of(error)
        if report is None and errors.is_cuda(error):
            report = self.failure
        if report is not None:
            return report
        return errors.rejection(error) or error

    def check(self) -> None:
        """Raises what broke the run and the program did not let through, and a failure that no exception told."""
        if self.broken is not None:
            raise self.broken
        if self.failure is not None and self.failure is not self.told:
            raise self.failure

    def note(self, ptx: str, cubin: bytes) -> None:
        """Write down a compiled module."""
        key = hashlib.sha256(cubin).hexdigest()
        if key in self.modules:
            return
        ptx = ptx.rstrip("\0")
        arch = re.search(r"^\.target\s+(\w+)", ptx, re.MULTILINE)[1]
        names = re.findall(r"^\s*(?:\.visible\s+)?\.entry\s+([\w$]+)", ptx, re.MULTILINE)
        kernels = {name: NvidiaKernel(name, arch, "", "", ptx, cubin=cubin) for name in names}
        self.modules[key] = Module(ptx, cubin, kernels)
        self.kernels += kernels.values()

    def collect(self) -> None:
        """Note what the compiler kept in files since the last time."""
        for path in sorted(self.folder.glob("*.cubin")):
            beside = path.with_suffix(".ptx")
            if beside.exists():
                self.note(beside.read_text(), path.read_bytes())
                beside.unlink()
            path.unlink()

    def module_of(self, image: int) -> Module | None:
        """The module whose cubin lies in the fat binary at an address, the one compiled last where several do."""
        self.collect()
        magic, _, header_bytes, size_bytes = struct.unpack("<IHHQ", ctypes.string_at(image, 16))
        if magic != FAT_BINARY:
            return None
        data = ctypes.string_at(image, header_bytes + size_bytes)
        return next((module for module in reversed(self.modules.values()) if module.cubin in data), None)


def _columns_from_1(ptx: str) -> str:
    """PTX whose places count columns from 1, as DWARF and our own do; this compiler counts from 0."""
    return _COLUMN.sub(lambda found: f"{found[1]}{int(found[2]) + 1}", ptx)


_COLUMN = re.compile(r"((?:^[ \t]*\.loc|\binlined_at)[ \t]+\d+[ \t]+\d+[ \t]+)(\d+)", re.MULTILINE)


def start(kind: str | None = None) -> NvidiaSession:
    """Begin observing a run under NVIDIA's compiler on a device of `choose`. Raises CompilerMissing."""
    version()
    session.stop()
    device = choose(kind)
    prepare(device.kind)
    run = NvidiaSession(device, folder=_kept.start())
    if device.kind == "emulator":
        device.capsules_say_cuda = True
    session.begin(run)
    warnings.filterwarnings("ignore", "Cache is disabled as user wants", UserWarning)  # that is we
    run.undo.enter_context(_notes_what_compiles(run))
    run.undo.enter_context(errors.with_reports(run))
    if device.kind == "emulator":
        run.undo.enter_context(tensors.on_device(device))
        _Runtime(run).use()
    return run


@contextlib.contextmanager
def _notes_what_compiles(run: NvidiaSession) -> Iterator[None]:
    """Note each result of cute.compile: another program of the same name overwrites its files."""
    kind = type(importlib.import_module("cutlass.cute").compile)
    compile = kind.__call__

    @functools.wraps(compile)
    def noting(self, *args, **kwargs):
        compiled = compile(self, *args, **kwargs)
        run.collect()
        return compiled

    kind.__call__ = noting
    try:
        yield
    finally:
        kind.__call__ = compile


# ** the runtime


def _attributes() -> dict[int, int]:
    """cudaDeviceAttr -> value, of what torch would say of the mapped device."""
    of = torch_cuda.PROPERTIES
    return {
        1: of["max_threads_per_block"],
        2: 1024,
        3: 1024,
        4: 64,
        5: 2**31 - 1,
        6: 65535,
        7: 65535,
        8: of["shared_memory_per_block"],
        10: of["warp_size"],
        12: of["regs_per_multiprocessor"],
        16: of["multi_processor_count"],
        38: of["L2_cache_size"],
        39: of["max_threads_per_multi_processor"],
        41: 1,
        75: of["major"],
        76: of["minor"],
        81: of["shared_memory_per_multiprocessor"],
        82: 65536,
        95: 1,
        97: of["shared_memory_per_block_optin"],
        106: 32,
        111: 1024,
        115: 1,
        120: 1,
    }


_INT, _POINTER, _TEXT, _SIZE = ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
_INT_AT, _POINTER_AT = ctypes.POINTER(_INT), ctypes.POINTER(_POINTER)
_CALLS = {  # struct device of runtime.c
    "load": (_POINTER, _POINTER_AT),
    "find": (_POINTER, _TEXT),
    "launch": (_POINTER, _TEXT, ctypes.POINTER(LaunchConfig), _POINTER_AT),
    "allocate": (_SIZE, _POINTER_AT),
    "release": (_POINTER,),
    "attribute": (_INT, _INT_AT),
    "occupancy": (_TEXT, _INT, _SIZE, _INT_AT),
    "raised": (_INT,),
    "missing": (_TEXT,),
}


class Calls(ctypes.Structure):
    """`struct device`."""

    _fields_ = [(name, ctypes.CFUNCTYPE(_INT, *arguments)) for name, arguments in _CALLS.items()]


class _Runtime:
    """What the C library asks of Python. Compiled code knows no exceptions: the session keeps them."""

    def __init__(self, run: NvidiaSession):
        self.run, self.device = run, run.device
        self.loaded: list[tuple[Module, Any]] = []  # a library's handle is its place here, from 1
        self.attributes = _attributes()

    def use(self) -> None:
        """Let the library call this from now on."""
        self.calls = Calls(*(kind(self._guarded(getattr(self, name))) for name, kind in Calls._fields_))
        ctypes.CDLL(str(library())).use_device(ctypes.byref(self.calls))
        self.run.undo.callback(lambda: self.calls)  # alive as long as the session
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(write_through=True)

    def _guarded(self, function: Callable[..., int]) -> Callable[..., int]:
        def call(*arguments) -> int:
            if self.run.broken is not None and function != self.raised:
                return LAUNCH_FAILED
            try:
                return function(*arguments)
            except DeviceError as error:
                self.run.failure = error
                return INVALID_CONFIGURATION
            except Missing as error:
                self.run.broken = error
                return NOT_SUPPORTED
            except BaseException as error:
                self.run.failure = error
                self.run.broken = None if isinstance(error, Exception) else error
                return LAUNCH_FAILED

        return call

    def load(self, image: int, handle) -> int:
        module = self.run.module_of(image)
        if module is None:
            raise Missing(
                "the PTX of a loaded module is not known: this run did not compile it, and the emulator needs PTX"
            )
        self.loaded.append((module, self.device.load(_columns_from_1(module.ptx))))
        handle[0] = len(self.loaded)
        return SUCCESS

    def find(self, handle: int, kernel: bytes) -> int:
        return SUCCESS if kernel.decode() in self._loaded(handle)[0].kernels else NOT_FOUND

    def _loaded(self, handle: int) -> tuple[Module, Any]:
        """What a handle stands for; through TVM FFI 4.3 gives the place where it is kept."""
        if handle > len(self.loaded):
            handle = ctypes.c_size_t.from_address(handle).value
        return self.loaded[handle - 1]

    def launch(self, handle: int, kernel: bytes, config, arguments) -> int:
        name, (module, program) = kernel.decode(), self._loaded(handle)
        launch = launch_of(config.contents)
        module.kernels[name].launched(launch.grid, launch.block, launch.smem_bytes)
        params = [
            ctypes.string_at(arguments[index], size)
            for index, size in enumerate(self.device.param_bytes(program, name))
        ]
        self.device.launch(program, name, launch, params)
        return SUCCESS

    def allocate(self, nbytes: int, address) -> int:
        address[0] = self.device.alloc(nbytes, "memory allocated by the host function")
        return SUCCESS

    def release(self, address: int) -> int:
        self.device.free(address)
        return SUCCESS

    def attribute(self, number: int, value) -> int:
        if number not in self.attributes:
            raise Missing(f"the host function asks for the device attribute {number}, which the emulator does not know")
        value[0] = self.attributes[number]
        return SUCCESS

    def occupancy(self, kernel: bytes, threads: int, smem_bytes: int, blocks) -> int:
        of = torch_cuda.PROPERTIES
        by_threads = of["max_threads_per_multi_processor"] // max(-(-threads // 32) * 32, 32)
        blocks[0] = min(by_threads, of["shared_memory_per_multiprocessor"] // (smem_bytes + 1024), 32)
        return SUCCESS

    def raised(self, code: int) -> int:
        """Called for TVM FFI, whose error a failing function must leave behind."""
        if "tvm_ffi" not in sys.modules:
            return SUCCESS
        ffi = importlib.import_module("tvm_ffi").LIB
        self.run.told = self.run.failure
        text = f"{errors.RAISED_FOR_FFI} {code}\n{self.run.told or ''}".rstrip().replace("\0", "")
        ffi.TVMFFIErrorSetRaisedFromCStr(b"RuntimeError", text.encode())
        return SUCCESS

    def missing(self, function: bytes) -> int:
        raise Missing(f"the compiled host function calls `{function.decode()}`, which the emulator does not have")
