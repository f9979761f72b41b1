"""`cutlass.block`: copies of whole tiles by a block."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.tile.copy.block_copy import block_copy

__all__ = ["block_copy"]

__getattr__ = _refuser("cutlass.block")
