"""`cutlass.memory`."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.tile.memory import SmemAllocator

__all__ = ["SmemAllocator"]

__getattr__ = _refuser("cutlass.memory")
