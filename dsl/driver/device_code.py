"""CUDA C++ without host code, compiled to PTX: by nvcc where it and its host compiler are, elsewhere by NVRTC.

Compiled text is kept on disk (disk_cache).
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dsl.driver import nvcc
from dsl.launch import disk_cache, toolkit

_NO_COMPILER = (
    "neither nvcc nor NVRTC is on this machine, and CUDA C++ needs one\nfix: install `nvidia-cuda-nvrtc` with uv or "
    "pip, or put the bin folder of the toolkit on PATH"
)


def ptx(source: nvcc.Source) -> str:
    """The PTX of its kernels. Raises nvcc.CompileError, nvcc.CompilerMissing."""
    compiler = _nvcc()
    library = None if compiler else _nvrtc()
    identity = [*compiler, str(os.stat(compiler[0]).st_mtime_ns)] if compiler else ["nvrtc", *_release(library)]
    cache = None if any(one.startswith("-I") for one in source.options) else disk_cache.current()
    key = b"ptx" + json.dumps([identity, *source.about()]).encode()
    kept = cache.get(key) if cache else None
    if kept is not None:
        return kept.decode()
    made = _by_nvcc(source, compiler) if compiler else _by_nvrtc(source, library)
    if cache:
        cache.put(key, made.encode())
    return made


def _nvcc() -> list[str]:
    """nvcc, [] where it or its host compiler is missing."""
    try:
        return nvcc.command()[:1] if shutil.which("g++") else []
    except nvcc.CompilerMissing:
        return []


def _virtual(arch: str) -> str:
    return arch.replace("sm_", "compute_")


def _by_nvcc(source: nvcc.Source, compiler: Sequence[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file, made = nvcc.written(source, Path(folder)), Path(folder, "made.ptx")
        target = [f"-arch={_virtual(source.arch)}", "-lineinfo", "-ptx", *source.options]
        nvcc.call([*compiler, *target, "-o", str(made), str(file)], source, file)
        return made.read_text()


def _nvrtc() -> Any:
    """The binding of NVRTC. Raises CompilerMissing."""
    try:
        from cuda.bindings import nvrtc  # pyright: ignore[reportAttributeAccessIssue]

        nvrtc.nvrtcVersion()
    except Exception:  # several kinds of errors mean that it finds no library
        raise nvcc.CompilerMissing(_NO_COMPILER) from None
    return nvrtc


def _release(library: Any) -> list[str]:
    return [str(part) for part in library.nvrtcVersion()[1:]]


def _by_nvrtc(source: nvcc.Source, library: Any) -> str:
    def call(name: str, *arguments: Any) -> Any:
        error, *answer = getattr(library, name)(*arguments)
        if error.value and name != "nvrtcCompileProgram":
            raise RuntimeError(f"{name} answered {error.name}")
        return answer[0] if answer else error

    names = [name.encode() for name in source.headers]
    texts = [f"#line 1 {json.dumps(path)}\n{text}".encode() for path, text in source.headers.values()]
    program = call(
        "nvrtcCreateProgram", source.text.encode(), source.path.encode(), len(names), texts or None, names or None
    )
    options = [f"--gpu-architecture={_virtual(source.arch)}", "-lineinfo", *source.options]
    options = [one.encode() for one in (*options, *(f"-I{folder}" for folder in toolkit.include_folders()))]
    try:
        if error := call("nvrtcCompileProgram", program, len(options), options).value:
            said = _text(call, program, "ProgramLog")
            raise nvcc.refusal(source, said or f"NVRTC answered {library.nvrtcResult(error).name}", "NVRTC")
        return _text(call, program, "PTX")
    finally:
        library.nvrtcDestroyProgram(program)


def _text(call: Any, program: Any, name: str) -> str:
    room = b" " * call(f"nvrtcGet{name}Size", program)  # which the binding writes into
    call(f"nvrtcGet{name}", program, room)
    return room.rstrip(b"\0").decode("utf-8", "replace")
