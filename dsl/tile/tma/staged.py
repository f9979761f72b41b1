"""Shared memory of operands for TMA: stages of a tile, swizzled as wide as its contiguous extent allows."""

from __future__ import annotations

from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.number.dtypes import Numeric
from dsl.core.number.operators import type_name
from dsl.layout import ComposedLayout, Layout, Swizzle
from dsl.layout.int_tuple import text
from dsl.tile.tensor.major import OperandMajorMode

_SPANS = {128: Swizzle(3, 4, 3), 64: Swizzle(2, 4, 3), 32: Swizzle(1, 4, 3), 16: Swizzle(0, 4, 3)}
_OF_4_BYTES = Swizzle(2, 5, 2)  # of 128 bytes, for elements of 4 bytes that are not contiguous along K


def make_smem_layout(
    leading_mode: OperandMajorMode, smem_tile_shape: Any, a_dtype: type[Numeric], num_stages: int
) -> ComposedLayout:
    """(M or N, K, stages) of elements of `a_dtype`: rows of up to 128 bytes,
    whose swizzle (of bytes) is as wide as they are.

    Raises DSLUserCodeError where the contiguous extent is not a multiple of 16 bytes.
    """
    if not isinstance(leading_mode, OperandMajorMode):
        raise DSLUserCodeTypeError(
            f"leading_mode must be OperandMajorMode.K or .MN, got {type_name(leading_mode)}",
            fix="utils.LayoutEnum.from_tensor(tensor).mma_major_mode()",
        )
    major = 1 if leading_mode is OperandMajorMode.K else 0
    extents = tuple(lay.size(extent) for extent in smem_tile_shape)
    row_bytes = extents[major] * a_dtype.width // 8
    span = next((span for span in _SPANS if row_bytes % span == 0), None)
    if span is None or len(extents) != 2:
        raise DSLUserCodeError(
            f"a row of shared memory for TMA must be a multiple of 16 bytes, but a tile of {text(extents)} "
            f"elements of {a_dtype} has rows of {row_bytes} bytes",
            fix="make its contiguous extent longer",
        )
    part, rows = span * 8 // a_dtype.width, extents[1 - major]
    shapes: list[Any] = [0, 0]
    strides: list[Any] = [0, 0]
    shapes[1 - major], strides[1 - major] = rows, part
    shapes[major], strides[major] = (
        ((part, extents[major] // part), (1, part * rows)) if part < extents[major] else (extents[major], 1)
    )
    stage = 0 if num_stages == 1 else extents[0] * extents[1]
    wide = span == 128 and a_dtype.width == 32 and leading_mode is OperandMajorMode.MN
    return ComposedLayout(_OF_4_BYTES if wide else _SPANS[span], 0, Layout((*shapes, num_stages), (*strides, stage)))
