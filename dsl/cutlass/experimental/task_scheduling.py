"""`cutlass.experimental.task_scheduling`: programs may import it and declare their classes; what runs is refused."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dsl.core.diagnosis.unsupported_names import RefusedDeclaration as _RefusedDeclaration
from dsl.cutlass import stand_ins as _stand_ins, upstream as _upstream
from dsl.cutlass.unsupported import module_getattr as _refuser

__path__: list[str] = []
_NAME = "cutlass.experimental.task_scheduling"
_MODULES = ("enums", "memory", "resources", "schedule_builder", "task", "task_manager")


@functools.cache
def _names() -> set[str]:
    """The names of all its modules: some have others' too."""
    return set().union(
        *(_upstream.names(module) or () for module in (_NAME, *(f"{_NAME}.{each}" for each in _MODULES)))
    )


def _attribute(module: str) -> Callable[[str], Any]:
    missing = _refuser(module)

    def attribute(name: str) -> Any:
        if name.startswith("__") or name not in _names():
            return missing(name)
        return _RefusedDeclaration(f"{module}.{name}", "run the file with NVIDIA's compiler")

    return attribute


for _module in _MODULES:
    globals()[_module] = _stand_ins.module(f"{_NAME}.{_module}", _attribute(f"{_NAME}.{_module}"))

__getattr__ = _attribute(_NAME)
