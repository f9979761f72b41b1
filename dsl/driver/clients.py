"""The environment in which programs find the embedded device's libcuda.so.1, and their compilers give it PTX."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from dsl import environment_variables as variables
from dsl.launch import disk_cache, triton_variables


def environment(now: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The variables of a program that is to use the libraries in a folder, made of those there are now."""
    path = ":".join([str(folder), *filter(None, [now.get("LD_LIBRARY_PATH")])])
    ours = {"LD_LIBRARY_PATH": path, variables.HELPER_PYTHON: sys.executable, "CUPY_COMPILE_WITH_PTX": "1"}
    return {**now, **ours, **triton_variables.variables(disk_cache.folder(), folder)}
