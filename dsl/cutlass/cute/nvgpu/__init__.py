"""`cutlass.cute.nvgpu`: copy operations."""

from dsl.cutlass.cute.nvgpu import cpasync
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.tile.atom import CopyUniversalOp

__getattr__ = _refuser("cutlass.cute.nvgpu")
