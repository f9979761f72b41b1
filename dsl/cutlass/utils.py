"""`cutlass.utils`."""

from dsl.cutlass.unsupported import module_getattr
from dsl.tile.memory import SmemAllocator

__getattr__ = module_getattr("cutlass.utils")
