"""Builds the C++ of the emulator and of the driver with the package, for editable installs too; hatchling runs it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Hook(BuildHookInterface):
    """Puts the libraries of all levels into the wheel; an editable install needs the one of this machine."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root, build = Path(self.root), _builder(Path(self.root, "dsl/native_library.py"))
        editable = version == "editable"
        paths = [*build.library(*(build.levels_here() if editable else build.LEVELS)), *build.driver()]
        if not editable:
            build_data["force_include"] |= {str(path): str(path.relative_to(root)) for path in paths}
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-manylinux_2_28_x86_64"


def _builder(path: Path) -> ModuleType:
    """The file as a module, without the package around it: what that imports is not installed here."""
    spec = importlib.util.spec_from_file_location("native_library", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
