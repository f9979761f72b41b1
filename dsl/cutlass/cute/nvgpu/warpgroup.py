"""`cutlass.cute.nvgpu.warpgroup`: matrix operations of a warpgroup."""

from dsl.core.diagnosis.author_traceback import stripped as _stripped
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.gpu.matrix.wgmma import commit_group, fence, wait_group
from dsl.tile.mma.warpgroup import (
    Field,
    MmaF8Op,
    MmaF16BF16Op,
    MmaI8Op,
    OperandSource,
    SmemLayoutAtomKind,
    make_smem_layout_atom,
)
from dsl.tile.tensor import major as _major

__all__ = [
    "Field",
    "MmaF8Op",
    "MmaF16BF16Op",
    "MmaI8Op",
    "OperandSource",
    "SmemLayoutAtomKind",
    "commit_group",
    "fence",
    "make_smem_layout_atom",
    "wait_group",
]

_refused = _refuser("cutlass.cute.nvgpu.warpgroup")


@_stripped
def __getattr__(name: str) -> object:
    """`OperandMajorMode` is of `cute.nvgpu`; upstream has it here too, and does not list it."""
    return _major.OperandMajorMode if name == "OperandMajorMode" else _refused(name)
