"""`cutlass.utils.hopper_helpers`: choices for products of a warpgroup."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.tile.mma.hopper import (
    compute_tile_shape_or_override,
    get_smem_layout_atom,
    make_smem_layout_a,
    make_smem_layout_b,
    make_smem_layout_epi,
    make_trivial_tiled_mma,
    sm90_get_smem_store_op,
    sm90_get_smem_store_op as get_smem_store_op,
)

__all__ = [
    "compute_tile_shape_or_override",
    "get_smem_layout_atom",
    "get_smem_store_op",
    "make_smem_layout_a",
    "make_smem_layout_b",
    "make_smem_layout_epi",
    "make_trivial_tiled_mma",
    "sm90_get_smem_store_op",
]

__getattr__ = _refuser("cutlass.utils.hopper_helpers")
