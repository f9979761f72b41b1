"""`cutlass.cute.nvgpu`: copy and matrix operations."""

from dsl.cutlass.cute.nvgpu import cpasync, warp, warpgroup
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.gpu.memory.access import CacheEvictionPriority
from dsl.tile.copy.atom import CopyUniversalOp, LoadCacheMode
from dsl.tile.copy.memory_copy import (
    CopyG2ROp,
    CopyR2GOp,
    CopyR2SOp,
    CopyS2ROp,
    L2PrefetchSize,
    MemoryOrder,
    MemoryScope,
    SharedSpace,
)
from dsl.tile.mma.mma import MmaUniversalOp
from dsl.tile.tensor.major import OperandMajorMode

__all__ = [
    "CacheEvictionPriority",
    "CopyG2ROp",
    "CopyR2GOp",
    "CopyR2SOp",
    "CopyS2ROp",
    "CopyUniversalOp",
    "L2PrefetchSize",
    "LoadCacheMode",
    "MemoryOrder",
    "MemoryScope",
    "MmaUniversalOp",
    "OperandMajorMode",
    "SharedSpace",
    "cpasync",
    "warp",
    "warpgroup",
]

__getattr__ = _refuser("cutlass.cute.nvgpu")
