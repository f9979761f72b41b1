"""Choices for products of a warpgroup: the tiled mma, layouts of shared memory, the tile and the copy of an epilogue.

CuTe DSL documentation: cutlass.utils.hopper_helpers. Tiles of A are (M, K), of B (N, K), of C (M, N).
"""

from __future__ import annotations

from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.number.dtypes import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Int8, Numeric, Uint8
from dsl.core.number.operators import type_name
from dsl.core.phrase import shown
from dsl.layout import ComposedLayout
from dsl.tile.copy.atom import CopyAtom, CopyUniversalOp, make_copy_atom
from dsl.tile.copy.matrix_copy import StMatrix8x8x16bOp
from dsl.tile.mma.tiled_mma import TiledMma, make_tiled_mma
from dsl.tile.mma.warpgroup import (
    MmaF8Op,
    MmaF16BF16Op,
    MmaI8Op,
    OperandSource,
    SmemLayoutAtomKind,
    make_smem_layout_atom,
)
from dsl.tile.tensor.major import LayoutEnum, OperandMajorMode

_WIDEST_ROW_BITS = 1024


def make_trivial_tiled_mma(
    a_dtype: type[Numeric],
    b_dtype: type[Numeric],
    a_leading_mode: OperandMajorMode,
    b_leading_mode: OperandMajorMode,
    acc_dtype: type[Numeric],
    atom_layout_mnk: Any,
    tiler_mn: tuple[int, int],
    a_source: OperandSource = OperandSource.SMEM,
) -> TiledMma:
    """The wgmma of A and B's types with the shape `tiler_mn`, one for each warpgroup of `atom_layout_mnk`.

    Raises DSLUserCodeTypeError for types that no wgmma multiplies.
    """
    rest = (acc_dtype, tuple(tiler_mn), a_source, a_leading_mode, b_leading_mode)
    if a_dtype in (Float16, BFloat16):
        if a_dtype is not b_dtype:
            raise DSLUserCodeTypeError(
                f"A and B of 16 bits must have one type, got {shown(a_dtype)} and {b_dtype}", fix=f"b_dtype={a_dtype}"
            )
        op: Any = MmaF16BF16Op(a_dtype, *rest)
    elif a_dtype in (Float8E4M3FN, Float8E5M2):
        op = MmaF8Op(a_dtype, b_dtype, *rest)
    elif a_dtype in (Int8, Uint8):
        op = MmaI8Op(a_dtype, b_dtype, *rest)
    else:
        raise DSLUserCodeTypeError(
            f"a warpgroup multiplies Float16, BFloat16, Float8E4M3FN, Float8E5M2, Int8 and Uint8, got {shown(a_dtype)}",
            fix="a_dtype=cutlass.Float16, for example",
        )
    return make_tiled_mma(op, atom_layout_mnk)


def get_smem_layout_atom(layout: LayoutEnum, element_type: type[Numeric], major_mode_size: int) -> SmemLayoutAtomKind:
    """The widest swizzle that rows of `major_mode_size` elements are whole multiples of."""
    _require_layout(layout)
    row_bits = major_mode_size * element_type.width
    bits = next((b for b in (3, 2, 1) if row_bits % (_WIDEST_ROW_BITS >> 3 - b) == 0), 0)
    major = "MN" if layout is LayoutEnum.COL_MAJOR else "K"
    return SmemLayoutAtomKind[f"{major}_{('INTER', 'SW32', 'SW64', 'SW128')[bits]}"]


def make_smem_layout_a(
    a_layout: LayoutEnum, mma_tiler_mnk: Any, a_dtype: type[Numeric], num_stages: int
) -> ComposedLayout:
    """(M, K, stages) of A."""
    m, _, k = mma_tiler_mnk
    return _operand(a_layout, (m, k), a_dtype, num_stages)


def make_smem_layout_b(
    b_layout: LayoutEnum, mma_tiler_mnk: Any, b_dtype: type[Numeric], num_stages: int
) -> ComposedLayout:
    """(N, K, stages) of B."""
    _, n, k = mma_tiler_mnk
    return _operand(b_layout, (n, k), b_dtype, num_stages)


def _operand(layout: LayoutEnum, tile: tuple, dtype: type[Numeric], stages: int) -> ComposedLayout:
    return make_smem_layout_epi(dtype, layout, tile, stages)


def make_smem_layout_epi(
    epi_dtype: type[Numeric],
    epi_layout: LayoutEnum,
    epi_tile: Any,
    epi_stage: int,
    smem_trg_shape: Any = None,
    smem_order: Any = None,
) -> ComposedLayout:
    """(M, N, stages) of C; `smem_trg_shape` and `smem_order` in place of the tile with its stages, and its order."""
    _require_layout(epi_layout)
    is_row_major = epi_layout is LayoutEnum.ROW_MAJOR
    extents = tuple(lay.size(extent) for extent in epi_tile)
    kind = get_smem_layout_atom(epi_layout, epi_dtype, extents[1 if is_row_major else 0])
    shape = (*extents, epi_stage) if smem_trg_shape is None else smem_trg_shape
    order = ((0, 1, 2) if is_row_major else (1, 0, 2)) if smem_order is None else smem_order
    return lay.tile_to_shape(make_smem_layout_atom(kind, epi_dtype), shape, order)


def compute_tile_shape_or_override(
    tile_shape_mnk: Any, element_type: type[Numeric], is_cooperative: bool = False, epi_tile_override: Any = None
) -> tuple[int, int]:
    """The part (M, N) of C's tile that an epilogue stores at once; warpgroups that share a tile are cooperative."""
    if epi_tile_override is not None:
        return epi_tile_override
    m, n, _ = tile_shape_mnk
    if is_cooperative:
        return min(128, m), min(32, n)
    return min(64, m), min(64 if element_type.width == 8 else 32, n)


def sm90_get_smem_store_op(layout_d: LayoutEnum, elem_ty_d: type[Numeric], elem_ty_acc: type[Numeric]) -> CopyAtom:
    """The copy of sums to shared memory: stmatrix for 16-bit elements, else one element at a time."""
    _require_layout(layout_d)
    for dtype in (elem_ty_d, elem_ty_acc):
        if not (isinstance(dtype, type) and issubclass(dtype, Numeric)):
            raise DSLUserCodeTypeError(
                f"sm90_get_smem_store_op takes numeric types, got {type_name(dtype)}", fix="cutlass.Float16"
            )
    if elem_ty_d.width == 16:
        return make_copy_atom(StMatrix8x8x16bOp(layout_d is LayoutEnum.COL_MAJOR, 4), elem_ty_d)
    return make_copy_atom(CopyUniversalOp(), elem_ty_d)


def _require_layout(layout: Any) -> None:
    if not isinstance(layout, LayoutEnum):
        raise DSLUserCodeError(
            f"layout must be LayoutEnum.ROW_MAJOR or .COL_MAJOR, got {type_name(layout)}",
            fix="utils.LayoutEnum.from_tensor(tensor)",
        )
