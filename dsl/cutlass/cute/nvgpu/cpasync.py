"""`cutlass.cute.nvgpu.cpasync`: asynchronous copies."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.tile.atom import CopyG2SOp, LoadCacheMode

__getattr__ = _refuser("cutlass.cute.nvgpu.cpasync")
