"""`cutlass.utils`."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.tile.memory import SmemAllocator

__getattr__ = _refuser("cutlass.utils")
