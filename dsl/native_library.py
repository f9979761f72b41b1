"""Builds the C++ of this project: the emulator's runtime, a shared library for each level of x86-64, libcuda.so.1 of
the emulator (dsl/driver), and a CUDA runtime on it (dsl/driver/runtime) for each release of CUDA.

The name of a library has the digest of all that it was made from, so a library is never older than its sources. This
file imports nothing of the package: it runs while the package is being built, too.
"""

from __future__ import annotations

import concurrent.futures
import ctypes
import fcntl
import hashlib
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

HERE = Path(__file__).parent / "emulator"
BUILT = HERE / "built"
DRIVER = Path(__file__).parent / "driver"
CUDA_RUNTIME, NVRTC = DRIVER / "runtime", DRIVER / "nvrtc"
LEVELS = ("x86_64_v3", "x86_64_v4")  # as psABI names them: AVX2; AVX-512
ZIG = "ziglang==0.17.1"  # its clang is of the LLVM that llvmlite has
_COMMON_FLAGS = (
    "-std=c++20 -O2 -fPIC -fno-exceptions -fno-rtti -fno-strict-aliasing -fwrapv -fno-stack-protector "
    "-fno-threadsafe-statics -fomit-frame-pointer -Wall -Wextra -Werror -Wno-psabi -Wno-missing-field-initializers"
).split()
FLAGS = [*_COMMON_FLAGS, "-ffreestanding", "-ffp-contract=off", "-fno-math-errno"]
DRIVER_FLAGS = [*_COMMON_FLAGS, "-fvisibility=hidden"]
DRIVER_NAMES = ("libcuda.so.1", "libcuda.so", "linking/libnvJitLink.so.12", "linking/libnvJitLink.so.13")
CUDA_MAJORS = (12, 13)
MORE_FLAGS = "GPU_REPRO_RUNTIME_FLAGS"  # of the environment: more flags, for who works on the C++; see CONTRIBUTING.md


class BuildError(Exception):
    """The library cannot be built; the text gives the reason."""


@cache
def level() -> str:
    """The highest of LEVELS that this machine has. Raises BuildError below the lowest."""
    rows = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    return level_of(set(rows[1].split()) if rows else set())


def level_of(flags: set[str]) -> str:
    """The highest of LEVELS that a CPU with these flags of /proc/cpuinfo has. Raises BuildError below the lowest."""
    if not flags >= {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}:
        raise BuildError("the emulator needs a CPU with AVX2 and FMA (x86-64-v3), which this machine does not have")
    return LEVELS[flags >= {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}]


def levels_here() -> tuple[str, ...]:
    """The level of this machine alone; none below the lowest, which every command reports."""
    try:
        return (level(),)
    except BuildError:
        return ()


class _Library(NamedTuple):
    """The sources of a library, and how it is built."""

    home: Path
    built: Path
    name: str  # of its files, before the level
    flags: list[str]
    link: list[str]
    suffixes: tuple[str, ...]  # of its sources
    names: tuple[str, ...] = ()  # that programs load it by, in the folder `built/lib` of the driver
    others: tuple[str, ...] = ()  # folders in `home` with the sources of other libraries


def _emulator() -> _Library:
    return _Library(HERE, BUILT, "runtime", FLAGS, ["-lc"], (".cc", ".h"))


def _driver() -> _Library:
    link = ["-lc", "-lpthread", "-ldl", "-Wl,-Bsymbolic", f"-Wl,-soname,{DRIVER_NAMES[0]}"]
    link += ["-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN/linking"]  # see nvjitlink.cc
    files = (".cc", ".h", ".inc")
    others = (CUDA_RUNTIME.name, NVRTC.name)
    return _Library(DRIVER, DRIVER / "built", "driver", DRIVER_FLAGS, link, files, DRIVER_NAMES, others)


def _nvrtc() -> _Library:
    names = ("libnvrtc.so.12", "libnvrtc.so.13")
    link = ["-lc", "-ldl", "-Wl,-Bsymbolic"]
    return _Library(NVRTC, DRIVER / "built" / "nvrtc", "nvrtc", DRIVER_FLAGS, link, (".cc",), names)


def cuda_runtime(major: int) -> _Library:
    name = f"libcudart.so.{major}"
    flags = [*DRIVER_FLAGS, "-Wno-return-type-c-linkage", f"-DCUDART_MAJOR={major}"]
    script = f"-Wl,--version-script={CUDA_RUNTIME / name}.map"
    link = ["-lc", "-lpthread", "-ldl", "-Wl,-Bsymbolic", f"-Wl,-soname,{name}", script]
    files = (".cc", ".h", ".inc", ".map")
    return _Library(CUDA_RUNTIME, DRIVER / "built" / f"cudart{major}", f"cudart{major}", flags, link, files, (name,))


def sources(of: _Library | None = None) -> list[Path]:
    """The C++ files; none in an installed wheel."""
    of = of or _emulator()
    found = []
    for folder, inner, names in os.walk(of.home):
        inner[:] = [each for each in inner if each not in ("__pycache__", of.built.name, *of.others)]
        found += [Path(folder, name) for name in names if name.endswith(of.suffixes)]
    return sorted(found) if any(each.suffix == ".cc" for each in found) else []


def shared() -> list[Path]:
    """The Python files with what C++ and Python share, of which the C++ header is made."""
    return [HERE / "machine" / "context.py", *sorted(HERE.glob("**/numbers.py"))]


def library(*levels: str) -> list[Path]:
    """The emulator's library of each level, built first where there is none of these sources. Raises BuildError."""
    of = _emulator()
    files = sources(of)
    if not files:
        return [_shipped(of.built, f"{of.name}.{level}.*.so", level) for level in levels]
    return _library(of, [*files, *shared()], levels)


def driver() -> list[Path]:
    """The files that programs load as the CUDA driver and runtime, in one folder, built first. Raises BuildError."""
    return [file for of in (_driver(), *map(cuda_runtime, CUDA_MAJORS), _nvrtc()) for file in _files_by_name(of)]


def driver_file() -> Path:
    """The CUDA driver alone, built first. Raises BuildError."""
    return _files_by_name(_driver())[0]


def cuda_runtime_file(major: int) -> Path:
    """The CUDA runtime of one release alone, built first. Raises BuildError."""
    return _files_by_name(cuda_runtime(major))[0]


def _files_by_name(of: _Library) -> list[Path]:
    files, folder = sources(of), DRIVER / "built" / "lib"
    if not files:
        return [_shipped(folder, name, name) for name in of.names]
    (path,) = _library(of, files, ("x86_64",))
    return [_named(path, folder / name) for name in of.names]


def _named(path: Path, name: Path) -> Path:
    """`name`, as another name of the file `path`."""
    if not name.exists() or not name.samefile(path):
        name.parent.mkdir(parents=True, exist_ok=True)
        part = name.with_suffix(f".{os.getpid()}")
        os.link(path, part)
        os.replace(part, name)
        part.unlink(missing_ok=True)  # rename leaves it where both are one file
    return name


def _library(of: _Library, files: list[Path], levels: tuple[str, ...]) -> list[Path]:
    texts = {path: path.read_bytes() for path in (*files, Path(__file__))}
    plans = [_plan(of, level, texts) for level in levels]
    missing = [plan for plan in plans if not plan.library.exists()]
    if missing:
        _build(of, missing)
    return [plan.library for plan in plans]


@cache
def here() -> Path:
    """The library for this machine. Raises BuildError."""
    return library(level())[0]


def _shipped(folder: Path, pattern: str, what: str) -> Path:
    for path in sorted(folder.glob(pattern)):
        return path
    raise BuildError(
        f"{folder} has no library for {what}: this installation of gpu-repro is not whole, install it again"
    )


class _Plan(NamedTuple):
    level: str
    label: str  # in the names of its files: the level, and which flags of MORE_FLAGS
    library: Path
    objects: dict[Path, Path]  # of each .cc


def _plan(of: _Library, level: str, texts: dict[Path, bytes]) -> _Plan:
    flags = os.environ.get(MORE_FLAGS, "")
    label = f"{level}-{hashlib.sha256(flags.encode()).hexdigest()[:8]}" if flags else level
    common = hashlib.sha256(label.encode())
    for path, text in texts.items():
        if path.suffix != ".cc":
            common.update(text)
    whole, objects = common.copy(), {}
    for path, text in texts.items():
        if path.suffix == ".cc":
            digest = common.copy()
            digest.update(text)
            whole.update(digest.digest())
            objects[path] = of.built / "objects" / f"{path.stem}.{label}.{digest.hexdigest()[:16]}.o"
    return _Plan(level, label, of.built / f"{of.name}.{label}.{whole.hexdigest()[:16]}.so", objects)


def _build(of: _Library, plans: list[_Plan]) -> None:
    (of.built / "objects").mkdir(parents=True, exist_ok=True)
    with open(of.built / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be building the same
        plans = [plan for plan in plans if not plan.library.exists()]
        if not plans:
            return
        if importlib.util.find_spec("ziglang") is None:
            raise BuildError(
                f"The C++ of the {of.home.name} in {of.home} is newer than its library, and the compiler that builds "
                f"it is not installed\nfix: uv sync, or uv pip install {ZIG}"
            )
        missing = [
            (plan.level, path, made) for plan in plans for path, made in plan.objects.items() if not made.exists()
        ]
        levels = " and ".join(plan.label for plan in plans)
        print(f"gpu-repro: building the {of.name} of the emulator for {levels}, {len(missing)} files", file=sys.stderr)
        if of.home == HERE:
            _write(of.built / "shared.h", header_text().encode())
        missing.sort(key=lambda job: job[1].stat().st_size, reverse=True)  # the longest first
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = [pool.submit(_compile, of, *job) for job in missing]
            try:
                for job in jobs:
                    job.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        for plan in plans:
            part = plan.library.with_suffix(f".{os.getpid()}")
            objects = [str(each) for each in plan.objects.values()]
            how = ["-shared", "-nostdlib", *of.link, "-Wl,--no-undefined", *_more_flags()]
            _run([*_compiler(plan.level), *how, "-o", str(part), *objects], plan.library)
            os.replace(part, plan.library)
            _remove_others(of, plan.label, {plan.library, *plan.objects.values()})


def _compile(of: _Library, level: str, path: Path, made: Path) -> None:
    part = made.with_suffix(f".{os.getpid()}")
    how = [*of.flags, *_more_flags(), "-I", str(of.home), "-I", str(of.built)]
    _run([*_compiler(level), *how, "-c", "-o", str(part), str(path)], path)
    os.replace(part, made)


def _compiler(level: str) -> list[str]:
    """clang by way of zig, which itself would choose the CPU of this machine, UBSan, and debug information."""
    target = ["-target", "x86_64-linux-gnu.2.28", f"-mcpu={level}"]
    return [_zig(), "c++", *target, "-fno-sanitize=undefined", "-s"]


@cache
def _zig() -> str:
    """The compiler itself: `python -m ziglang` starts an interpreter for each file."""
    spec = importlib.util.find_spec("ziglang")
    assert spec is not None and spec.origin is not None
    return str(Path(spec.origin).with_name("zig"))


def _more_flags() -> list[str]:
    return shlex.split(os.environ.get(MORE_FLAGS, ""))


def _run(command: list[str], what: Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise BuildError(f"{what} does not compile:\n{done.stderr.strip()}")


def _write(path: Path, data: bytes) -> None:
    if not path.exists() or path.read_bytes() != data:
        part = path.with_suffix(f".{os.getpid()}")
        part.write_bytes(data)
        os.replace(part, path)


def _remove_others(of: _Library, label: str, keep: set[Path]) -> None:
    for path in (*of.built.glob(f"*.{label}.*"), *(of.built / "objects").glob(f"*.{label}.*")):
        if path not in keep:
            path.unlink(missing_ok=True)


# ** the header of what C++ and Python share

# The C++ types of pointers that ctypes has as u64 fields.
POINTERS = {
    "shared_grid": "Grid *{}", "mate": "Context *{}", "leader": "Context *{}", "next": "Context *{}",
    "every": "Context *{}", "slots": "Context *{}", "more": "Context *(*{})(Context *)", "smem": "u8 *{}",
    "local": "u8 *{}", "intervals": "Interval *{}", "sites": "LastHit *{}", "begin_checks": "void (*{})(Context *)",
    "order_barrier": "void (*{})(Context *, u32)", "landed": "void (*{})(Context *, u32, u64, u32)",
    "order_call": "u32 (*{})(u64, u32, u32, u64, u64)", "matrix_read": "u32 (*{})(Context *, u32, u32, u64)",
    "frames": "u8 *{}", "copies": "CopyEntry *{}", "bulk_copies": "BulkEntry *{}", "labels": "u32 *{}",
    "known": "u32 *{}", "proxied": "u32 *{}", "matrix_known": "u32 *{}", "matrix_reads": "MatrixReads *{}",
    "met": "Met *{}", "site_lines": "u32 *{}", "smem_cells": "Cell *{}", "near_cells": "Cell *{}", "cells": "Cell *{}",
    "smem_valid": "u8 *{}", "local_valid": "u8 *{}", "near_valid": "u8 *{}", "valid": "u8 *{}",
    "shadows": "Shadow *{}", "trail": "Trail *{}", "chunks": "Chunk *{}", "beyond": "Chunk *{}",
    "runs": "AccessRun *{}", "tensor_cells": "u32 *{}", "tensor_ops": "TensorOp *{}",
    "tensor_accesses": "Cell *{}", "tensor_last": "u32 *{}", "matrix_last": "u32 *{}", "tensor_written": "u8 *{}",
    "tensor_loads": "TensorLoad *{}",
}  # fmt: skip
SHAPES = {"arrived": "[BARRIERS][MAX_WARPS]", "at_barrier": "[BARRIERS][MAX_WARPS]"}

_HEAD = """// Made by dsl/native_library.py of machine/context.py and each numbers.py.
#pragma once
#include <stddef.h>
#include <stdint.h>
using u8 = uint8_t; using u16 = uint16_t; using u32 = uint32_t; using u64 = uint64_t;
using i32 = int32_t; using i64 = int64_t;
struct Context; struct CopyEntry; struct BulkEntry; struct Cell; struct Shadow; struct Trail; struct MatrixReads;
struct Met; struct Chunk; struct AccessRun; struct TensorOp; struct TensorLoad;
struct Interval { u64 lo, hi, kind; };
struct LastHit { u64 lo, limit; };
"""


def _shared() -> tuple[ModuleType, ...]:
    modules = []
    for path in shared():
        spec = importlib.util.spec_from_file_location(f"_shared_{path.parent.name}_{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        modules.append(module)
    return tuple(modules)


def header_text() -> str:
    """The C++ header."""
    lines = [_HEAD]
    for module in _shared():
        lines += _constants(vars(module))
        for name, value in vars(module).items():
            if isinstance(value, type) and value.__module__ == module.__name__:
                if issubclass(value, ctypes.Structure):
                    lines += _struct(value)
                else:
                    lines += [f"namespace {name} {{", *_constants(vars(value)), "}"]
    return "\n".join([*lines, ""])


def _constants(names: Any) -> list[str]:
    rows = []
    for name, value in names.items():
        if name.isupper() and not name.startswith("_") and isinstance(value, int):
            bits = 64 if value > 2**32 else 32
            rows.append(f"constexpr u{bits} {name} = {value % 2**bits}u{'ll' if bits == 64 else ''};")
    return rows


def _member(name: str, kind: Any) -> str:
    shape = ""
    while hasattr(kind, "_length_"):
        shape += f"[{kind._length_}]"
        kind = kind._type_
    if issubclass(kind, ctypes.Structure):
        basic = kind.__name__
    else:
        sign = "i" if kind(-1).value < 0 else "u"
        basic = f"{sign}{8 * ctypes.sizeof(kind)}"
    return POINTERS.get(name, basic + " {}").format(name) + SHAPES.get(name, shape)


def _struct(kind: type[ctypes.Structure]) -> list[str]:
    name, fields = kind.__name__, kind._fields_
    rows = [f"  {_member(field[0], field[1])};" for field in fields]
    checks = [f"static_assert(offsetof({name}, {each[0]}) == {getattr(kind, each[0]).offset});" for each in fields]
    return [f"struct {name} {{", *rows, "};", *checks, f"static_assert(sizeof({name}) == {ctypes.sizeof(kind)});"]


if __name__ == "__main__":
    print(*(driver() if sys.argv[1:] == ["driver"] else library(*(sys.argv[1:] or LEVELS))), sep="\n")
