"""NVIDIA's compiler with this project's device: nvidia-cutlass-dsl compiles, the emulator executes.

The compiled host functions call a CUDA runtime by C names, which their JIT looks up in the libraries that CUTE_DSL_LIBS
lists: one of them is the device's (host_runtime). A module arrives as a cubin; its PTX is what the compiler kept with
it. On a CUDA device nothing is replaced: the package works as it does alone, and only what it compiled is written down.
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
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dsl.exceptions import KernelFault
from dsl.launch import machine_code, session
from dsl.launch.devices.choice import choose
from dsl.launch.devices.protocol import DeviceMissing
from dsl.launch.driver import library, shared_object
from dsl.launch.nvidia import errors, host_runtime, tensors

PACKAGE = "nvidia-cutlass-dsl"
INSTALL = f"uv sync --group nvidia    (or: pip install {PACKAGE})"
# A fat binary starts with this number, a u16, the size of its header (u16) and the size of the rest (u64).
FAT_BINARY, ELF = 0xBA55ED50, 0x464C457F
KEPT_UNTIL_4_4 = ("CUTE_DSL_KEEP_PTX", "CUTE_DSL_KEEP_CUBIN")  # later releases read CUTE_DSL_KEEP
OF_EXPERIMENTAL = "CUTE_EXPERIMENTAL_DSL"  # functions of cute.experimental read separate variables


class CompilerMissing(DeviceMissing):
    """NVIDIA's compiler cannot be used here; the text names what to install."""


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
    """The folder where the compiler keeps PTX and cubins: /proc/self/fd/N, a separate folder for each process."""

    fd: int = -1

    def prepare(self) -> str:
        if self.fd < 0:
            self.fd = os.open(os.sep, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        return f"/proc/self/fd/{self.fd}"

    def start(self) -> Path:
        """A new folder for this process; folders of processes that are gone are removed."""
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


def prepare(kind: str, arch: str = "sm_90a") -> None:
    """Import the package, set up for a device of this kind and architecture. Raises CompilerMissing; RuntimeError where
    it is too late.

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
            "CUTE_DSL_LIBS": _library(),
            "CUTE_DSL_ARCH": os.environ.get("CUTE_DSL_ARCH") or arch,
            "TVM_FFI_SKIP_DLPACK_C_EXCHANGE_API": "1",  # tensors pass through __dlpack__, which is mapped
            "TVM_FFI_DISABLE_TORCH_C_DLPACK": "1",
        }
    settings |= {name.replace("CUTE_DSL", OF_EXPERIMENTAL, 1): value for name, value in settings.items()}
    kept = [name for name in settings if name.endswith(("_KEEP", "_DUMP_DIR")) or "_KEEP_" in name]
    before = {name: os.environ.get(name) for name in kept}
    os.environ.update(settings)
    importlib.import_module("cutlass.cute")
    _use_library_again(settings)
    if importlib.util.find_spec("tvm_ffi"):
        importlib.import_module("tvm_ffi")
    for name, value in before.items():  # they were read; what the program starts is not to write here
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value
    _prepared.append(kind)


def _use_library_again(settings: Mapping[str, str]) -> None:
    """While 4.6.0 and 4.6.1 are imported they put their own runtime first in CUTE_DSL_LIBS, and then they read it."""
    for name, value in settings.items():
        if name.endswith("_LIBS") and os.environ[name] != value:
            os.environ[name] = value
            sys.modules["cutlass.cutlass_dsl"].CuTeDSL._get_dsl().envar.shared_libs = value


def _library() -> str:
    try:
        if not library.load():
            raise shared_object.NoSharedObject("the process has another libcuda.so.1 already")
        return host_runtime.path()
    except shared_object.NoSharedObject as error:
        raise CompilerMissing(f"--compiler nvidia cannot run on the emulator here: {error}") from None


# ** the session


@dataclass
class NvidiaKernel(session.KernelRecord):
    """A kernel that NVIDIA's compiler made; it shows its PTX and its machine code."""

    cubin: bytes = b""

    @property
    def sass(self) -> str:
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
    is an error that is not about the program: the emulator lacks something, or Ctrl-C. Nothing works after that."""

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
        """The cause of an exception that left the program: what a launch raised, or the error as NVIDIA means it."""
        if isinstance(error, KeyboardInterrupt):
            return super().cause(error)
        if self.broken is not None:
            return self.broken
        report = errors.report_of(error)
        if report is None and (errors.is_cuda(error) or isinstance(self.failure, KernelFault)):
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
        (arch,) = re.findall(r"^\.target\s+(\w+)", ptx, re.MULTILINE)[:1]
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
        """The module whose cubin is at an address, or in the fat binary there; the one compiled last of several."""
        self.collect()
        data = _image(image)
        return next((module for module in reversed(self.modules.values()) if module.cubin in data), None)


def _image(address: int) -> bytes:
    """A fat binary or an ELF file in memory, whole; no bytes of anything else."""
    magic, _, header_bytes, size_bytes = struct.unpack("<IHHQ", ctypes.string_at(address, 16))
    if magic == FAT_BINARY:
        return ctypes.string_at(address, header_bytes + size_bytes)
    if magic != ELF:
        return b""
    segments_at, sections_at, _, _, segment_bytes, segments, section_bytes, sections = struct.unpack_from(
        "<QQIHHHHH", ctypes.string_at(address, 64), 32
    )
    return ctypes.string_at(
        address, max(segments_at + segment_bytes * segments, sections_at + section_bytes * sections)
    )


def start(kind: str | None = None) -> NvidiaSession:
    """Begin observing a run under NVIDIA's compiler on a device of `choose`. Raises CompilerMissing."""
    version()
    session.stop()
    device = choose(kind)
    prepare(device.kind, device.arch)
    run = NvidiaSession(device, folder=_kept.start())
    if device.kind == "emulator":
        device.capsules_say_cuda = True
    session.begin(run)
    warnings.filterwarnings("ignore", "Cache is disabled as user wants", UserWarning)  # that is we
    run.undo.enter_context(_notes_what_compiles(run))
    run.undo.enter_context(errors.with_reports(run))
    if device.kind == "emulator":
        run.undo.enter_context(tensors.on_device(device))
        host_runtime.use(run)
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
        kept = getattr(compiled, "artifacts", None)  # all there is where options name a folder of the program's own
        ptx, cubin = getattr(kept, "PTX", None), getattr(kept, "CUBIN", None)
        if ptx and isinstance(cubin, bytes):  # of a function without kernels: where they would be kept
            run.note(ptx, cubin)
        return compiled

    kind.__call__ = noting
    try:
        yield
    finally:
        kind.__call__ = compile
