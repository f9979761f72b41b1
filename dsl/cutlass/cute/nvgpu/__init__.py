"""`cutlass.cute.nvgpu`: copy operations."""

from dsl.cutlass.cute.nvgpu import cpasync
from dsl.cutlass.unsupported import module_getattr
from dsl.tile.atom import CopyUniversalOp

__getattr__ = module_getattr("cutlass.cute.nvgpu")
