"""`cutlass.cute.nvgpu.warpgroup`: matrix operations of a warpgroup."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.gpu.wgmma import commit_group, fence, wait_group
from dsl.tile.major import OperandMajorMode
from dsl.tile.warpgroup import (
    Field,
    MmaF8Op,
    MmaF16BF16Op,
    MmaI8Op,
    OperandSource,
    SmemLayoutAtomKind,
    make_smem_layout_atom,
)

__all__ = [
    "Field",
    "MmaF8Op",
    "MmaF16BF16Op",
    "MmaI8Op",
    "OperandMajorMode",
    "OperandSource",
    "SmemLayoutAtomKind",
    "commit_group",
    "fence",
    "make_smem_layout_atom",
    "wait_group",
]

__getattr__ = _refuser("cutlass.cute.nvgpu.warpgroup")
