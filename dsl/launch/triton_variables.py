"""Triton on the emulator: its image is its PTX, and its launcher finds the driver in the process.

Triton compiles a launcher in C that links libcuda.so.1, and asks ptxas for an image. The variables below name what it
is to use instead. It reads them when it needs them, so they may be set after its import.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from dsl import environment_variables

_TOOLS = Path(__file__).with_name("triton_tools")
_PTXAS = ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")  # the second is for sm_100 and later


def prepare(cache_folder: str) -> Callable[[], None]:
    """Set the variables for this process and what it starts; returns what undoes it."""
    return environment_variables.replaced(variables(cache_folder, _TOOLS))


def variables(cache_folder: str, libraries: Path) -> dict[str, str]:
    """The variables by which Triton uses the driver in a folder, its PTX as the image and a separate cache.

    `cache_folder`: what Triton compiles is kept below it, apart from what it compiles for a GPU. It needs a C compiler;
    where the machine has none, it gets the one of the package ziglang, if that is installed.
    """
    folder = os.path.join(cache_folder, "triton")
    names = {"TRITON_LIBCUDA_PATH": str(libraries), "TRITON_CACHE_DIR": folder}
    return names | dict.fromkeys(_PTXAS, str(_TOOLS / "ptxas")) | _compiler(folder)


def _compiler(folder: str) -> dict[str, str]:
    if "CC" in os.environ or shutil.which("gcc") or shutil.which("clang") or not importlib.util.find_spec("ziglang"):
        return {}
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "cc")
    made = f"{path}.{os.getpid()}"
    with open(made, "w") as file:
        file.write(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m ziglang cc "$@"\n')
    os.chmod(made, 0o755)
    os.replace(made, path)
    return {"CC": path}
