"""`cutlass.cute.experimental`: of its modules the marks for a profiler."""

from dsl.cutlass.cute.experimental import iket
from dsl.cutlass.unsupported import module_getattr as _refuser

__all__ = ["iket"]

__getattr__ = _refuser("cutlass.cute.experimental")
