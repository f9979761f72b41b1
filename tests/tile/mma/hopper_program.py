"""Prints what hopper_helpers choose. Run under both compilers by test_hopper.py."""

import itertools

import cutlass.cute as cute
import cutlass.utils.hopper_helpers as helpers
from cutlass import BFloat16, Float8E4M3FN, Float16, Float32, Int8, Int32
from cutlass.cute.nvgpu import OperandMajorMode, warpgroup
from cutlass.tensor_utils import LayoutEnum

K = OperandMajorMode.K
LAYOUTS = (LayoutEnum.ROW_MAJOR, LayoutEnum.COL_MAJOR)
TYPES = (Int8, Float16, Float32)


def name(dtype):
    return dtype.__name__


@cute.kernel
def kernel():
    for tile, dtype in itertools.product(((64, 64, 64), (128, 64, 32), (256, 128, 64), (64, 8, 64)), TYPES):
        plain = helpers.compute_tile_shape_or_override(tile, dtype)
        shared = helpers.compute_tile_shape_or_override(tile, dtype, is_cooperative=True)
        print(plain, shared, helpers.compute_tile_shape_or_override(tile, dtype, epi_tile_override=(64, 16)))
    for layout, dtype, size in itertools.product(LAYOUTS, TYPES, (8, 16, 24, 32, 48, 64, 96, 128)):
        print(layout, name(dtype), size, helpers.get_smem_layout_atom(layout, dtype, size))
    for layout, dtype in itertools.product(LAYOUTS, (Int8, Float8E4M3FN, Float16, BFloat16, Float32)):
        print(helpers.sm90_get_smem_store_op(layout, dtype, Float32))
    for layout, dtype, tile in itertools.product(LAYOUTS, TYPES, ((64, 32), (128, 32), (64, 16))):
        print(helpers.make_smem_layout_epi(dtype, layout, tile, 4))
        print(helpers.make_smem_layout_epi(dtype, layout, tile, 4, (128, 128, 4), (1, 0, 2)))
        print(helpers.make_smem_layout_a(layout, (*tile, 64), dtype, 2))
        print(helpers.make_smem_layout_b(layout, (*tile, 64), dtype, 3))
    for ab, acc in ((Float16, Float32), (BFloat16, Float32), (Float8E4M3FN, Float16), (Int8, Int32)):
        print(helpers.make_trivial_tiled_mma(ab, ab, K, K, acc, (2, 1, 1), tiler_mn=(64, 128)))
        source = warpgroup.OperandSource.RMEM
        print(helpers.make_trivial_tiled_mma(ab, ab, K, K, acc, (1, 1, 1), (64, 64), a_source=source).op)


@cute.jit
def host():
    kernel().launch(grid=1, block=128)


cute.compile(host)
