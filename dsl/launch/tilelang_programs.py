"""TileLang on the emulator: its code is compiled by NVRTC to PTX, and its launcher calls cuda.bindings.

TileLang's other ways to launch ask the CUDA runtime for a device, which accepts NVIDIA's driver alone. Findings name
lines of the CUDA C++ that TileLang generates, which is kept in the cache.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dsl import environment_variables
from dsl.launch import toolkit

PACKAGE = "tilelang"
_LIBRARY = "tilelang.jit.adapter.nvrtc.libgen"  # writes what its function compile_cuda gives to a file, and loads that
_TOOLKIT = "tilelang.contrib.nvcc"  # without its CUDA_HOME TileLang sees no GPU
_ARCH = 90


def prepare(cache_folder: str) -> Callable[[], None]:
    """Set what TileLang reads when it compiles; returns what undoes it."""
    folder = Path(cache_folder, "tilelang")
    undo = [environment_variables.replaced(variables(str(folder)))]
    library: Any = importlib.import_module(_LIBRARY)
    compiler = getattr(library, "compile_cuda", None)  # it lacks one without NVRTC
    if compiler is not None:
        undo.append(_replaced(library, "compile_cuda", _to_ptx(compiler, folder / "generated")))
    nvcc: Any = importlib.import_module(_TOOLKIT)
    if not nvcc.CUDA_HOME and (headers := toolkit.include_folders()):
        undo.append(_replaced(nvcc, "CUDA_HOME", str(headers[0].parent)))

    def undo_all() -> None:
        while undo:
            undo.pop()()

    return undo_all


def _replaced(module: Any, name: str, value: Any) -> Callable[[], None]:
    before = getattr(module, name)
    setattr(module, name, value)
    return lambda: setattr(module, name, before)


def variables(folder: str) -> dict[str, str]:
    """The variables by which TileLang uses NVRTC, and keeps code for the emulator apart from code for a GPU."""
    target = json.dumps({"kind": "cuda", "arch": f"sm_{_ARCH}a"})
    return {"TILELANG_TARGET": target, "TILELANG_EXECUTION_BACKEND": "nvrtc", "TILELANG_CACHE_DIR": folder}


def _to_ptx(compiler: Callable[..., Any], folder: Path) -> Callable[..., Any]:
    """A compiler that gives PTX for every format, with the lines of the code, which it keeps in the folder."""

    def compile_cuda(code: str, target_format: str = "ptx", arch: Any = None, options: Any = None, **more: Any) -> Any:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{hashlib.sha256(code.encode()).hexdigest()[:16]}.cu"
        path.write_text(code)
        given = [options] if isinstance(options, str) else list(options or [])
        given += ["-lineinfo", *(f"-I{each}" for each in toolkit.include_folders())]
        return compiler(f"#line 1 {json.dumps(str(path))}\n{code}", "ptx", arch or _ARCH, given, **more)

    return compile_cuda
