"""LLVM IR text -> machine code in this process, and the runtime module every kernel calls."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import hashlib
import os
import re
import threading
import time
from collections.abc import Callable
from typing import Protocol

import llvmlite
import llvmlite.binding as llvm

from dsl import native_library
from dsl.emulator.machine.functions import signatures

_lock = threading.RLock()  # over a fork too: the child would wait for good for what another thread has begun
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)

LIBM = ("exp2f", "log2f", "sinf", "cosf", "tanhf")
_NAMED = re.compile(r"@(emu_\w+)")


def called(text: str) -> list[str]:
    """The functions of the runtime that a module's text names, in the order of their table."""
    named = set(_NAMED.findall(text))
    return [name for name in signatures() if name in named]


def declarations(text: str) -> str:
    """`declare` lines for what a module's text names of the runtime, and for the C functions."""
    lines = [_declare(name) for name in called(text)]
    return "\n".join(lines + [f"declare float @{name}(float)" for name in LIBM])


def _declare(name: str) -> str:
    result, arguments = signatures()[name].split(" (", 1)
    return f"declare {result} @{name}({arguments}"


def _target_machine(level: int):
    """A machine for the host; one an engine, because an engine owns its machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=level, jit=True
    )


@functools.cache
def _compiler(level: int):
    return _target_machine(level)


@functools.cache
def _engine():
    engine = llvm.create_lljit_compiler(_target_machine(1), suppress_errors=True)
    # Code must not outlive its engine, and at exit Python destroys objects in any order:
    # so the engine is never destroyed.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))
    return engine


QUICK = 0


def _parsed(ir: str, machine):
    module = llvm.parse_assembly(ir)
    module.verify()
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return module


class Kept(Protocol):
    """A store of machine code, which other processes read too."""

    def get(self, key: bytes) -> bytes | None: ...
    def put(self, key: bytes, data: bytes) -> None: ...


KEEP_S = 0.05  # what took less to compile is compiled again


def _nowhere() -> Kept | None:
    return None


_kept = _nowhere


def keep_in(kept: Callable[[], Kept | None]) -> None:
    """Let `object_code` look in the store that `kept` gives before it compiles, and fill it. IR names no source
    lines, so code is found even after a program's lines have moved."""
    global _kept
    _kept = kept


def object_code(ir: str, level: int = 2, codegen: int | None = None) -> bytes:
    """Relocatable machine code of a module.

    `level` is a level of LLVM, or QUICK: registers instead of stack slots, no more. `codegen` is the level of
    instruction selection if it differs. Raises RuntimeError with LLVM's message if the text is not valid IR.
    """
    kept = _kept()
    if kept is None:
        return _compiled(ir, level, codegen)
    key = hashlib.sha256(repr((host(), level, codegen)).encode() + ir.encode()).digest()
    code = kept.get(b"machine code\0" + key)
    if code is None:
        begun = time.perf_counter()
        code = _compiled(ir, level, codegen)
        if time.perf_counter() - begun > KEEP_S:
            kept.put(b"machine code\0" + key, code)
    return code


@functools.cache
def host() -> tuple[object, ...]:
    """All that machine code depends on besides its IR: LLVM, the type of CPU, and the passes in this file."""
    features = llvm.get_host_cpu_features().flatten()
    with open(__file__, "rb") as file:
        passes = hashlib.sha256(file.read()).hexdigest()
    return llvmlite.__version__, llvm.llvm_version_info, llvm.get_host_cpu_name(), features, passes


def _compiled(ir: str, level: int, codegen: int | None) -> bytes:
    with _lock:
        machine = _compiler(level if codegen is None else codegen)
        module = _parsed(ir, machine)
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=level))
        if level == QUICK:
            _quick_passes().run(module, builder)
            if "presplitcoroutine" in ir:  # LLVM's O0 pipeline splits coroutines and does little else
                builder.getModulePassManager().run(module, builder)
                _quick_passes().run(module, builder)
        else:
            builder.getModulePassManager().run(module, builder)
        return machine.emit_object(module)


def _quick_passes():
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    return passes


_libraries = 0


def link(objects: list[bytes], exports: list[str], imports: dict[str, int]):
    """Load machine code; returns an object that maps each exported name to its address and keeps the code alive."""
    global _libraries
    with _lock:
        builder = llvm.JITLibraryBuilder()
        for code in objects:
            builder.add_object_img(code)
        for name, address in imports.items():
            builder.import_symbol(name, address)
        for name in exports:
            builder.export_symbol(name)
        builder.add_current_process()
        _libraries += 1
        return builder.link(_engine(), f"emulated{_libraries}")


@functools.cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(str(native_library.here()))


@functools.cache
def address(name: str) -> int:
    """The address of a function of the runtime."""
    return ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value or 0


@functools.cache
def libm() -> dict[str, int]:
    """Addresses of the C functions that the approximate instructions use."""
    library = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in LIBM}
