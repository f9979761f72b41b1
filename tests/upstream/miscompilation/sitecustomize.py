"""Puts a mistake into this compiler, for reductions.py: MISCOMPILED is a JSON list of a pattern and what LLVM IR of kernels has instead.

Python imports this module at its start where its folder is in PYTHONPATH.
"""

from __future__ import annotations

import json
import os
import re
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder

WHERE = "dsl.lower.nvptx"


class _Finder(MetaPathFinder):
    """Changes one module after its own code has run."""

    def find_spec(self, fullname, path, target=None) -> ModuleSpec | None:
        if fullname != WHERE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module) -> None:
            execute(module)
            pattern, instead = json.loads(os.environ["MISCOMPILED"])
            compiled = module._compile

            def wrong(llvm_ir: str, *rest):
                return compiled(re.sub(pattern, instead, llvm_ir), *rest)

            module._compile = wrong

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


if "MISCOMPILED" in os.environ:
    sys.meta_path.insert(0, _Finder())
