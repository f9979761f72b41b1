"""`cutlass.cute.nvgpu.cpasync`: asynchronous copies."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.tile.atom import CopyG2SOp, LoadCacheMode
from dsl.tile.bulk import CopyBulkG2SOp, CopyBulkS2GOp, group_bulk_copy_modes
from dsl.tile.tma import (
    CopyBulkTensorTileG2SOp,
    CopyBulkTensorTileS2GOp,
    TmaInfo,
    make_tiled_tma_atom,
    prefetch_descriptor,
    tma_partition,
)

__all__ = [
    "CopyBulkG2SOp",
    "CopyBulkS2GOp",
    "CopyBulkTensorTileG2SOp",
    "CopyBulkTensorTileS2GOp",
    "CopyG2SOp",
    "LoadCacheMode",
    "TmaInfo",
    "group_bulk_copy_modes",
    "make_tiled_tma_atom",
    "prefetch_descriptor",
    "tma_partition",
]

__getattr__ = _refuser("cutlass.cute.nvgpu.cpasync")
