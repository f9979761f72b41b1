"""The only import of the MLIR bindings, which are changed in two ways so that a program starts sooner.

Without one of them, import and first compile of benchmarks/compile_time.py take longer than 345 ms of CPU time:

- The bindings' `ir` imports numpy if it can, for attributes not used here: 75 ms more. So numpy is hidden then.
- The bindings import the generated classes of a dialect as soon as they see one of its types or ops: 40 ms more.
  Empty modules replace them. `generated` imports the real ones for authors who ask for them.

An import of a dialect that a signal's handler breaks off is of no use to the process: a second one fails with "already
registered".
"""

from __future__ import annotations

import sys
import threading
import types
from typing import Any

from dsl.interrupts import undisturbed, whole_import

PACKAGES = ("mlir", "torch_mlir")


def load(name: str) -> Any:
    """A module of the bindings by its name in them."""
    for package in PACKAGES:
        try:
            return whole_import(f"{package}.{name}")
        except ImportError:
            continue
    raise ImportError("the MLIR Python bindings are missing: install them with `uv pip install torch-mlir==20261001`")


def _without_numpy():
    alone = "numpy" not in sys.modules and threading.active_count() == 1
    if alone:
        modules: dict[str, Any] = sys.modules
        modules["numpy"] = None
    try:
        return load("ir")
    finally:
        if alone:
            del sys.modules["numpy"]


class _Dialect(types.ModuleType):
    """A module of generated op classes, imported when one is asked for."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(undisturbed(_replace, self), name)


def _replace(module: types.ModuleType) -> types.ModuleType:
    """The module whose place `module` has, imported if it is not yet."""
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
    return whole_import(module.__name__)


ir: Any = undisturbed(_without_numpy)
llvm = load("_mlir_libs._mlirDialectsLLVM")
for _dialect in ("arith", "builtin", "llvm", "nvvm", "scf", "vector"):  # those that tracing makes ops of
    _dialect = f"{llvm.__name__.partition('.')[0]}.dialects.{_dialect}"
    sys.modules.setdefault(_dialect, _Dialect(_dialect))


def generated(name: str) -> types.ModuleType:
    """`load` for authors, who see the whole of a dialect: `dialects.nvvm`, `extras.types`."""
    module = load(name)
    return undisturbed(_replace, module) if isinstance(module, _Dialect) else module
