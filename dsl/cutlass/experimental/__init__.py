"""`cutlass.experimental`: the primitives API: arrays, and one function an instruction (docs/primitives.md)."""

from dsl.cutlass.experimental import cuda, primitives, task_scheduling
from dsl.cutlass.unsupported import module_getattr as _refuser

__all__ = ["cuda", "primitives", "task_scheduling"]

__getattr__ = _refuser("cutlass.experimental")
