"""Which modules belong to an author: those in no installed package."""

from __future__ import annotations

import importlib.util
import os
import site
import sysconfig
import types
from functools import cache


@cache
def _installed() -> tuple[str, ...]:
    """Folders whose code does not belong to the author: installed packages, the standard library, and this project."""
    paths = sysconfig.get_paths()
    folders = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders += [*site.getsitepackages(), site.getusersitepackages()]
    for name in ("dsl", "harness"):
        spec = importlib.util.find_spec(name)
        folders += list(spec.submodule_search_locations or ()) if spec else []
    return tuple(os.path.realpath(folder) + os.sep for folder in folders)


def is_author(module: types.ModuleType) -> bool:
    """Whether code of this module is copied: it is Python in no installed package."""
    file = getattr(module, "__file__", None)
    if module.__name__ == "__main__":
        return True
    if not file or not file.endswith(".py"):
        return False
    return not _real(file).startswith(_installed())


@cache
def _real(file: str) -> str:
    return os.path.realpath(file)
