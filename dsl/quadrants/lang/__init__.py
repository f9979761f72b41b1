"""`quadrants.lang`: the names of quadrants, and the few of upstream's inner modules that programs use."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

from dsl.quadrants import simt
from dsl.quadrants.errors.refused_names import inner
from dsl.quadrants.lang import exception, impl, misc, util

__all__ = ["exception", "impl", "misc", "simt", "util"]

__getattr__ = inner("lang")
for _name in ("any_array", "expr", "field", "kernel_impl", "matrix", "matrix_ops", "ops", "snode", "stream", "struct"):
    _module = ModuleType(f"{__name__}.{_name}", f"`quadrants.lang.{_name}`: the names of quadrants.")
    _module.__spec__ = ModuleSpec(_module.__name__, None)
    _module.__getattr__ = inner(f"lang.{_name}")
    globals()[_name] = sys.modules[_module.__name__] = _module
for _name in ("", ".block", ".grid", ".subgroup", ".warp"):
    if f"dsl.quadrants.simt{_name}" in sys.modules:
        sys.modules[f"{__name__}.simt{_name}"] = sys.modules[f"dsl.quadrants.simt{_name}"]
for _module in (impl, misc, util):
    _module.__getattr__ = inner(_module.__name__.removeprefix("dsl.quadrants."))
