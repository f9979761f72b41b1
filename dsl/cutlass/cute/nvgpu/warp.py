"""`cutlass.cute.nvgpu.warp`: matrix operations of a warp."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.tile.copy.matrix_copy import LdMatrix8x8x16bOp, LdMatrix8x16x8bOp, StMatrix8x8x16bOp
from dsl.tile.mma.mma import MmaF16BF16Op, MmaFP8Op, MmaTF32Op

__all__ = ["LdMatrix8x8x16bOp", "LdMatrix8x16x8bOp", "MmaF16BF16Op", "MmaFP8Op", "MmaTF32Op", "StMatrix8x8x16bOp"]

__getattr__ = _refuser("cutlass.cute.nvgpu.warp")
