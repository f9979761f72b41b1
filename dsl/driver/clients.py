"""The environment in which programs find the emulator's libcuda.so.1, and their compilers give it PTX."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from dsl import environment_variables as variables
from dsl.launch import disk_cache, triton_variables


def environment(now: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The variables of a program that is to use the libraries in a folder, made of those there are now."""
    path = ":".join([str(folder), *filter(None, [now.get("LD_LIBRARY_PATH")])])
    ours = {"LD_LIBRARY_PATH": path, variables.HELPER_PYTHON: _python(), "CUPY_COMPILE_WITH_PTX": "1"}
    return {**now, **ours, **triton_variables.variables(disk_cache.folder(), folder)}


def _python() -> str:
    """The Python of the helper, which starts it with -I. If only PYTHONPATH has this package, a script sets that."""
    top = str(Path(__file__).parents[2])
    if top not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        return sys.executable
    text = f'#!/bin/sh\nshift  # -I\nPYTHONPATH={shlex.quote(top)} exec {shlex.quote(sys.executable)} -P -s "$@"\n'
    path = Path(disk_cache.folder(), f"helper-{hashlib.sha256(text.encode()).hexdigest()[:16]}")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        made = path.with_name(f"{path.name}.{os.getpid()}")
        made.write_text(text)
        made.chmod(0o755)
        made.replace(path)
    return str(path)
