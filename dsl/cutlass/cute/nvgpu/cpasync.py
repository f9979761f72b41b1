"""`cutlass.cute.nvgpu.cpasync`: asynchronous copies."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.tile.copy.atom import CopyG2SOp, LoadCacheMode
from dsl.tile.copy.bulk import (
    CopyBulkG2SMulticastOp,
    CopyBulkG2SOp,
    CopyBulkS2GOp,
    CopyBulkS2SOp,
    group_bulk_copy_modes,
)
from dsl.tile.copy.dsmem_copy import CopyDsmemStoreOp
from dsl.tile.tensor.constant import CopyOp
from dsl.tile.tma.im2col import (
    CopyBulkTensorIm2ColG2SMulticastOp,
    CopyBulkTensorIm2ColG2SOp,
    CopyBulkTensorIm2ColS2GOp,
    make_im2col_tma_atom,
)
from dsl.tile.tma.tensor_map import (
    copy_tensormap,
    cp_fence_tma_desc_release,
    fence_tma_desc_acquire,
    fence_tma_desc_release,
    update_tma_descriptor,
)
from dsl.tile.tma.tma import (
    CopyBulkTensorTileG2SMulticastOp,
    CopyBulkTensorTileG2SOp,
    CopyBulkTensorTileS2GOp,
    CopyReduceBulkTensorTileS2GOp,
    ReductionKind,
    TmaInfo,
    make_tiled_tma_atom,
)
from dsl.tile.tma.tma_copy import create_tma_multicast_mask, prefetch_descriptor, tma_partition

ReductionOp = ReductionKind  # both names are in upstream

__all__ = [
    "CopyBulkG2SMulticastOp",
    "CopyBulkG2SOp",
    "CopyBulkS2GOp",
    "CopyBulkS2SOp",
    "CopyBulkTensorIm2ColG2SMulticastOp",
    "CopyBulkTensorIm2ColG2SOp",
    "CopyBulkTensorIm2ColS2GOp",
    "CopyBulkTensorTileG2SMulticastOp",
    "CopyBulkTensorTileG2SOp",
    "CopyBulkTensorTileS2GOp",
    "CopyDsmemStoreOp",
    "CopyG2SOp",
    "CopyOp",
    "CopyReduceBulkTensorTileS2GOp",
    "LoadCacheMode",
    "ReductionKind",
    "ReductionOp",
    "TmaInfo",
    "copy_tensormap",
    "cp_fence_tma_desc_release",
    "create_tma_multicast_mask",
    "fence_tma_desc_acquire",
    "fence_tma_desc_release",
    "group_bulk_copy_modes",
    "make_im2col_tma_atom",
    "make_tiled_tma_atom",
    "prefetch_descriptor",
    "tma_partition",
    "update_tma_descriptor",
]

__getattr__ = _refuser("cutlass.cute.nvgpu.cpasync")
