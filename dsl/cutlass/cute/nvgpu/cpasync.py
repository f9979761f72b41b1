"""`cutlass.cute.nvgpu.cpasync`: asynchronous copies."""

from dsl.cutlass.unsupported import module_getattr
from dsl.tile.atom import CopyG2SOp, LoadCacheMode

__getattr__ = module_getattr("cutlass.cute.nvgpu.cpasync")
