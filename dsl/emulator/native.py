"""LLVM IR text -> machine code in this process, and the runtime module every kernel calls."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import threading

import llvmlite.binding as llvm

from . import queue, rounding, schedule
from .check import bounds

_lock = threading.Lock()

INTRINSICS = """
declare i32 @llvm.cttz.i32(i32, i1)
declare i64 @llvm.cttz.i64(i64, i1)
declare i32 @llvm.ctpop.i32(i32)
declare i32 @llvm.smin.i32(i32, i32)
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.umin.i32(i32, i32)
declare i32 @llvm.umax.i32(i32, i32)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare ptr @aligned_alloc(i64, i64)
declare ptr @realloc(ptr, i64)
"""

LIBM = ("exp2f", "log2f", "sinf", "cosf", "tanhf")
RUNTIME_SIGNATURES = {
    **schedule.SIGNATURES,
    **bounds.SIGNATURES,
    **queue.SIGNATURES,
}


def declarations() -> str:
    """`declare` lines for the runtime, for kernels' modules."""
    lines = []
    for name, signature in {**RUNTIME_SIGNATURES, **rounding.SIGNATURES}.items():
        result, arguments = signature.split(" (", 1)
        lines.append(f"declare {result} @{name}({arguments}")
    return "\n".join(lines + [f"declare float @{name}(float)" for name in LIBM])


def _target_machine(level: int):
    """A machine for the host; one an engine, because an engine owns its machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=level,
        jit=True,
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


def object_code(ir: str, level: int = 2) -> bytes:
    """Relocatable machine code of a module; `level` is LLVM's, or QUICK: registers instead of stack slots, no more.

    Raises RuntimeError with LLVM's message where the text is not valid IR.
    """
    with _lock:
        machine = _compiler(level)
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
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    return passes


_libraries = 0


def link(code: bytes, exports: list[str], imports: dict[str, int]):
    """Load machine code; returns an object that maps each exported name to its address and keeps the code alive."""
    global _libraries
    with _lock:
        builder = llvm.JITLibraryBuilder().add_object_img(code)
        for name, address in imports.items():
            builder.import_symbol(name, address)
        for name in exports:
            builder.export_symbol(name)
        builder.add_current_process()
        _libraries += 1
        return builder.link(_engine(), f"emulated{_libraries}")


@functools.cache
def runtime() -> dict[str, int]:
    """The addresses of the scheduler's, the checkers' and the queues' functions."""
    parts = schedule.functions() + bounds.functions() + queue.functions()
    return _library(INTRINSICS + "\n\n".join(parts) + "\n\n!0 = !{}\n", [*RUNTIME_SIGNATURES, "emu_run_grid"])


@functools.cache
def directed_rounding() -> dict[str, int]:
    """The addresses of the functions for .rz, .rm and .rp."""
    parts = "\n\n".join(rounding.functions())
    return _library(rounding.DECLARATIONS + parts + "\n" + rounding.ATTRIBUTES, list(rounding.SIGNATURES))


_trackers = []


def _library(ir: str, names: list[str]) -> dict[str, int]:
    tracker = link(object_code(ir, QUICK), names, {})
    _trackers.append(tracker)
    return {name: tracker[name] for name in names}


@functools.cache
def libm() -> dict[str, int]:
    """Addresses of the C functions behind the approximate instructions."""
    library = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in LIBM}
