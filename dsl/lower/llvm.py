"""LLVM as far as the stages need it: the C functions of the library that llvmlite brings, called directly.

`import llvmlite.binding` declares 450 functions and imports LLVM's whole object model in Python, which takes twice the
time of loading the library. These are the 38 functions between text and machine code. A module has its own context,
so that threads do not meet in LLVM. The library is loaded when something is first compiled or linked.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import itertools
import mmap
import os
import sys
import threading
from collections.abc import Iterable

_P, _S, _INT, _BOOL, _SIZE = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_bool, ctypes.c_size_t
_TEXT = ctypes.POINTER(ctypes.c_void_p)  # out: a string that LLVMPY_DisposeString frees

# name without LLVMPY_: result, arguments (llvmlite 0.50, ffi/*.cpp)
_FUNCTIONS = {
    "InitializeAllTargetInfos": (None,),
    "InitializeAllTargets": (None,),
    "InitializeAllTargetMCs": (None,),
    "InitializeAllAsmPrinters": (None,),
    "InitializeNativeTarget": (None,),
    "InitializeNativeAsmPrinter": (None,),
    "DisposeString": (None, _P),
    "SetCommandLine": (None, _S, _S),
    "GetDefaultTargetTriple": (None, _TEXT),
    "ContextCreate": (_P,),
    "ContextDispose": (None, _P),
    "ParseAssembly": (_P, _P, _S, _TEXT),
    "DisposeModule": (None, _P),
    "VerifyModule": (_BOOL, _P, _TEXT),
    "PrintModuleToString": (None, _P, _TEXT),
    "SetDataLayout": (None, _P, _S),
    "SetTarget": (None, _P, _S),
    "GetTargetFromTriple": (_P, _S, _TEXT),
    "CreateTargetMachine": (_P, _P, _S, _S, _S, _INT, _S, _S, _INT, _INT, _S),
    "DisposeTargetMachine": (None, _P),
    "CreateTargetMachineData": (_P, _P),
    "DisposeTargetData": (None, _P),
    "CopyStringRepOfTargetData": (None, _P, _TEXT),
    "TargetMachineEmitToMemory": (_P, _P, _P, _INT, _TEXT),
    "GetBufferStart": (_P, _P),
    "GetBufferSize": (_SIZE, _P),
    "DisposeMemoryBuffer": (None, _P),
    "CreatePipelineTuningOptions": (_P,),
    "DisposePipelineTuningOptions": (None, _P),
    "CreatePassBuilder": (_P, _P, _P),
    "DisposePassBuilder": (None, _P),
    "buildPerModuleDefaultPipeline": (_P, _P, _INT),
    "RunNewModulePassManager": (None, _P, _P, _P),
    "DisposeNewModulePassManger": (None, _P),
    "CreateLLJITCompiler": (_P, _P, _BOOL, _BOOL, _TEXT),
    "LLJIT_Link": (_P, _P, _S, _P, _SIZE, _P, _SIZE, _P, _SIZE, _TEXT),
    "LLJIT_Dylib_Tracker_Dispose": (_BOOL, _P, _TEXT),
}


class _Library:
    """LLVM's functions as attributes, each declared when it is first used."""

    def __init__(self):
        spec = importlib.util.find_spec("llvmlite")
        if spec is None or spec.origin is None:
            raise ImportError("llvmlite, which contains LLVM, is not installed", name="llvmlite")
        self._file = os.path.join(os.path.dirname(spec.origin), "binding", "libllvmlite.so")

    @functools.cached_property
    def _loaded(self) -> ctypes.CDLL:
        return ctypes.CDLL(self._file)

    def __getattr__(self, name: str):
        result, *arguments = _FUNCTIONS[name]
        function = getattr(self._loaded, f"LLVMPY_{name}")
        function.restype, function.argtypes = result, arguments
        setattr(self, name, function)
        return function


_lib = _Library()


def _text(pointer: ctypes.c_void_p) -> str:
    """The string LLVM left, which is freed; "" where it left none."""
    if not pointer.value:
        return ""
    text = ctypes.string_at(pointer.value).decode("utf-8", "replace")
    _lib.DisposeString(pointer)
    return text


def set_option(text: str) -> None:
    """Give LLVM a command-line option, for the rest of this process."""
    _lib.SetCommandLine(b"opt", text.encode())


@functools.cache
def all_targets() -> None:
    """Make every target known, among them NVPTX, whose addresses of shared, local and constant memory have 32 bits."""
    set_option("-nvptx-short-ptr")
    for name in ("TargetInfos", "Targets", "TargetMCs", "AsmPrinters"):
        getattr(_lib, f"InitializeAll{name}")()


@functools.cache
def native_target() -> str:
    """Make this machine's target known; its triple."""
    _lib.InitializeNativeTarget()
    _lib.InitializeNativeAsmPrinter()
    triple = ctypes.c_void_p()
    _lib.GetDefaultTargetTriple(ctypes.byref(triple))
    return _text(triple)


class Machine:
    """A target machine. `level` is the level of code generation, 0 to 3. Raises RuntimeError for an unknown target."""

    def __init__(
        self,
        triple: str,
        cpu: str = "",
        features: str = "",
        level: int = 2,
        reloc: str = "default",
        model: str = "jitdefault",
        jit: bool = False,
    ):
        self.triple, self._own, words = triple, None, ctypes.c_void_p()
        target = _lib.GetTargetFromTriple(triple.encode(), ctypes.byref(words))
        if not target:
            raise RuntimeError(_text(words))
        self._own = _lib.CreateTargetMachine(
            target,
            triple.encode(),
            cpu.encode(),
            features.encode(),
            level,
            reloc.encode(),
            model.encode(),
            0,
            int(jit),
            b"",
        )
        if not self._own:
            raise RuntimeError(f"LLVM makes no machine for {triple}")

    def __del__(self, is_ending=sys.is_finalizing):  # bound here: late at exit this module's names are None
        if self._own and not is_ending():
            _lib.DisposeTargetMachine(self._own)

    @functools.cached_property
    def data_layout(self) -> str:
        data, text = _lib.CreateTargetMachineData(self._own), ctypes.c_void_p()
        _lib.CopyStringRepOfTargetData(data, ctypes.byref(text))
        _lib.DisposeTargetData(data)
        return _text(text)

    def emit(self, module: Module, machine_code: bool) -> bytes:
        """Relocatable machine code, or assembly."""
        words = ctypes.c_void_p()
        buffer = _lib.TargetMachineEmitToMemory(self._own, module._own, int(machine_code), ctypes.byref(words))
        if not buffer:
            raise RuntimeError(_text(words))
        try:
            return ctypes.string_at(_lib.GetBufferStart(buffer), _lib.GetBufferSize(buffer))
        finally:
            _lib.DisposeMemoryBuffer(buffer)


_ROOM_BYTES = 32 << 20  # what LLVM may ask for while it works on little


def _have_room(input_bytes: int) -> None:
    """Raise MemoryError where LLVM would find no memory: it has no other answer to that than to end the process."""
    size_bytes = _ROOM_BYTES + 64 * input_bytes
    try:
        mmap.mmap(-1, size_bytes).close()
    except OSError:
        raise MemoryError(f"LLVM needs up to {size_bytes >> 20} MiB, but this process can allocate no more") from None


class Module:
    """LLVM IR, parsed and verified for a machine. Raises RuntimeError with LLVM's words for text it refuses,
    MemoryError where there is no room to work on it."""

    _context = _own = None

    def __init__(self, text: str, machine: Machine):
        words = ctypes.c_void_p()
        _have_room(len(text))
        self._context = _lib.ContextCreate()
        self._own = _lib.ParseAssembly(self._context, text.encode(), ctypes.byref(words))
        if not self._own:
            raise RuntimeError(f"LLVM IR parsing error\n{_text(words)}")
        _lib.SetTarget(self._own, machine.triple.encode())
        _lib.SetDataLayout(self._own, machine.data_layout.encode())
        if _lib.VerifyModule(self._own, ctypes.byref(words)):
            raise RuntimeError(_text(words))
        _text(words)

    def __del__(self, is_ending=sys.is_finalizing):
        if not is_ending():
            if self._own:
                _lib.DisposeModule(self._own)
            if self._context:
                _lib.ContextDispose(self._context)

    def __str__(self) -> str:
        text = ctypes.c_void_p()
        _lib.PrintModuleToString(self._own, ctypes.byref(text))
        return _text(text)

    def optimize(self, machine: Machine, level: int) -> None:
        """Run LLVM's own pipeline of that level, 0 to 3."""
        options = _lib.CreatePipelineTuningOptions()
        builder = _lib.CreatePassBuilder(machine._own, options)
        passes = _lib.buildPerModuleDefaultPipeline(builder, level)
        try:
            _lib.RunNewModulePassManager(passes, self._own, builder)
        finally:
            _lib.DisposeNewModulePassManger(passes)
            _lib.DisposePassBuilder(builder)
            _lib.DisposePipelineTuningOptions(options)


# --- linking into this process ----------------------------------------------------------------------------------------


class _Element(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_uint8), ("value", _S), ("size", _SIZE)]


class _Symbol(ctypes.Structure):
    _fields_ = [("name", _S), ("address", ctypes.c_uint64)]


_OBJECT, _LIBRARY = 2, 3  # kinds of _Element; the library "" is this process
_serial = itertools.count()

# Held over every call of the linker and over a fork, whose child would wait for good for a lock that
# another thread had.
_linking = threading.RLock()
os.register_at_fork(before=_linking.acquire, after_in_parent=_linking.release, after_in_child=_linking.release)


@functools.cache
def jit() -> int:
    """The process's linker, which is never destroyed: code may not outlive it, and at exit objects die in any order.

    It is LLVM's JITLink, which gives an object one mapping. The older linker maps code and constants apart, and ends
    the process where the kernel puts them more than 2 GiB from each other.
    """
    native_target()
    words, use_jitlink = ctypes.c_void_p(), True
    compiler = _lib.CreateLLJITCompiler(None, False, use_jitlink, ctypes.byref(words))
    if not compiler:
        raise RuntimeError(_text(words))
    return compiler


class Linked:
    """Machine code in this process, until this object dies; `addresses` are the addresses of the `exports`.

    It may call `imports` (name and address) and what this process has. Raises RuntimeError where a name is missing,
    MemoryError where there is no room.
    """

    _tracker = None

    def __init__(self, code: bytes, imports: Iterable[tuple[str, int]], exports: Iterable[str]):
        words = ctypes.c_void_p()
        _have_room(len(code))
        elements = (_Element * 2)((_OBJECT, code, len(code)), (_LIBRARY, b"", 0))
        needed = [(name.encode(), address) for name, address in imports]
        wanted = [(name.encode(), 0) for name in exports]
        imported, exported = (_Symbol * len(needed))(*needed), (_Symbol * len(wanted))(*wanted)
        with _linking:
            name = f"native{next(_serial)}".encode()
            self._tracker = _lib.LLJIT_Link(
                jit(), name, elements, len(elements), imported, len(needed), exported, len(wanted), ctypes.byref(words)
            )
        if not self._tracker:
            raise RuntimeError(_text(words))
        self.addresses = {symbol.name.decode(): symbol.address for symbol in exported}

    def __del__(self, is_ending=sys.is_finalizing):
        if self._tracker and not is_ending():
            words = ctypes.c_void_p()
            with _linking:
                _lib.LLJIT_Dylib_Tracker_Dispose(self._tracker, ctypes.byref(words))
