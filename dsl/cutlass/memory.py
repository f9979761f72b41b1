"""`cutlass.memory`."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.tile.memory.memory import SmemAllocator, SmemPartition

__all__ = ["SmemAllocator", "SmemPartition"]

__getattr__ = _refuser("cutlass.memory")
