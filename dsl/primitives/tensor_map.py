"""Tensor maps: descriptions of tensors in global memory for TMA, written by the host, 128 bytes.

Dimensions are counted from the dimension of contiguous elements on, as TMA counts them.  CUDA driver API:
cuTensorMapEncodeTiled.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

from dsl import layout as lay
from dsl.core import trace
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import (
    BFloat16,
    Float16,
    Float32,
    Float64,
    Int8,
    Int32,
    Int64,
    Numeric,
    NumericMeta,
    is_dynamic,
    numeric,
)
from dsl.core.number.operators import select, type_name
from dsl.core.phrase import shown
from dsl.layout import Layout
from dsl.primitives.operands import needs_blackwell, refuse
from dsl.primitives.pointer import RawPointer
from dsl.tile.tensor.tensor import Tensor
from dsl.tile.tma.tensor_map_words import MAP_ALIGNMENT_BYTES, MAP_BYTES, TensorMap as MapAddress

MOST_RANK, MOST_BOX = 5, 256
_TILED, _LARGE, _TF32, _LARGE_BYTES = (
    1 << 18 | 2,
    1 << 21,
    1 << 16,
    1 << 17,
)  # see emulator/families/tensor_map/tensor_map.py
_FLOATS: dict[Any, int] = {Float16: 6, Float32: 7, Float64: 9, BFloat16: 10}
_INTEGERS = {8: 0, 16: 1, 32: 2, 64: 4}
_SIGNED = {32: 3, 64: 5}


class TensorMapSwizzle(enum.IntEnum):
    """How chunks of 16 bytes are permuted in shared memory. Modes with an atom need Blackwell."""

    none, s32b, s64b, s128b, s128b_atom_32b, s128b_atom_32b_flip_8b, s128b_atom_64b = range(7)


class TensorMapInterleave(enum.IntEnum):
    """Whether channels are interleaved, in chunks of how many bytes."""

    none, i16b, i32b = range(3)


class TensorMapL2Promotion(enum.IntEnum):
    """How many bytes the L2 cache fetches at least."""

    none, l2_64b, l2_128b, l2_256b = range(4)


class TensorMapFloatOOBFill(enum.IntEnum):
    """The value of elements outside the tensor: zeros, or a NaN."""

    none, nan_request_zero_fma = range(2)


class TensorMapDataFormat(enum.Enum):
    """How elements are read: by their type, as bytes, with subnormals as zeros, or packed (Blackwell)."""

    DEFAULT, BYTE, F32_FTZ, TF32_FTZ, B4X16, B4X16_P64, B6X16_P32 = range(1, 8)


class TensorMap:
    """A tensor map and what a kernel asks of it. Pass it as `cutlass.GridConstant[TensorMap]`."""

    def __init__(
        self,
        value: Any,
        swizzle: TensorMapSwizzle = TensorMapSwizzle.none,
        dtype: type[Numeric] | None = None,
        tma_format: TensorMapDataFormat = TensorMapDataFormat.DEFAULT,
        box_dims: tuple[int, ...] = (),
    ) -> None:
        self.map = value if isinstance(value, MapAddress) else MapAddress(value)
        self.swizzle, self.dtype, self.tma_format, self.box_dims = swizzle, dtype, tma_format, box_dims

    def __flatten__(self) -> tuple[tuple, Any]:
        return (self.map,), (self.swizzle, self.dtype, self.tma_format, self.box_dims)

    @classmethod
    def __unflatten__(cls, key: Any, children: Sequence[Any]) -> TensorMap:
        return cls(children[0], *key)

    def __repr__(self) -> str:
        return (
            f"TensorMap(swizzle={self.swizzle!r}, dtype={self.dtype!r}, tma_format={self.tma_format!r}, "
            f"box_dims={self.box_dims!r})"
        )

    @property
    def element_type(self) -> type[Numeric]:
        assert self.dtype is not None
        return self.dtype

    shared_storage_dtype = element_type

    @property
    def box_volume(self) -> int:
        """The elements of a box."""
        return math.prod(self.box_dims)

    @property
    def shared_storage_bytes(self) -> int:
        """The bytes of a box in shared memory."""
        return self.box_volume * self.element_type.storage_width // 8

    def global_tx_bytes(self) -> int:
        """The bytes that a copy of a box completes at its mbarrier."""
        return self.shared_storage_bytes

    def get_ptr(self, *, loc: Any = None, ip: Any = None) -> RawPointer:
        """The generic address of the map."""
        return RawPointer(self.map.ir(), dtype=Int8, alignment_bytes=MAP_ALIGNMENT_BYTES)


def create_tensor_map_tiled_from_view(
    tensor: Tensor,
    box_dims: Sequence[int],
    *,
    stride_order: Sequence[int] | None = None,
    interleave: Any = None,
    swizzle: Any = None,
    l2_promotion: Any = None,
    oob_fill: Any = None,
    dtype: type[Numeric] | None = None,
    tma_format: Any = None,
) -> TensorMap:
    """The map of a tensor, whose modes `box_dims` counts in the tensor's order.

    `stride_order`: the place of each mode among the strides, 0 the contiguous one; without it the last mode is
    contiguous, then the one before.
    """
    if not isinstance(tensor, Tensor) or not isinstance(tensor.layout, Layout):
        raise DSLUserCodeTypeError(
            f"a tensor map is made of a tensor, got {type_name(tensor)}", fix="pass a cute.Tensor in global memory"
        )
    shapes, strides = lay.flatten_to_tuple(tensor.shape), lay.flatten_to_tuple(tensor.stride)
    places = tuple(stride_order) if stride_order is not None else tuple(reversed(range(len(shapes))))
    if sorted(places) != list(range(len(shapes))) or len(box_dims) != len(shapes):
        raise DSLUserCodeValueError(
            f"a tensor of {len(shapes)} modes needs as many box_dims, and a stride_order that is a permutation, got "
            f"{tuple(box_dims)} and {places}",
            fix="box_dims=(64, 64), stride_order=(1, 0) for a row-major matrix",
        )
    order = sorted(range(len(shapes)), key=places.__getitem__)
    kind = dtype or tensor.element_type
    steps = [Int64(strides[mode]) * tensor.element_type.storage_width // 8 for mode in order[1:]]
    return _create(
        tensor.pointer().toint(), kind, [shapes[mode] for mode in order], steps, [box_dims[mode] for mode in order],
        interleave, swizzle, l2_promotion, oob_fill, tma_format,
    )  # fmt: skip


def create_tensor_map_tiled(
    global_address: Any,
    dtype: type[Numeric],
    global_dims: Sequence[Any],
    global_strides: Sequence[Any],
    box_dims: Sequence[int],
    *,
    traversal_strides: Sequence[int] | None = None,
    interleave: Any = None,
    swizzle: Any = None,
    l2_promotion: Any = None,
    oob_fill: Any = None,
    tma_format: Any = None,
) -> TensorMap:
    """The map of a tensor at an address: extents, and strides in units of 16 bytes of all dimensions but the first."""
    if len(global_strides) != len(global_dims) - 1:
        raise DSLUserCodeValueError(
            f"{len(global_dims)} dimensions have {len(global_dims) - 1} strides, got {len(global_strides)}",
            fix="leave out the stride of the contiguous dimension",
        )
    if traversal_strides is not None and any(step != 1 for step in traversal_strides):
        raise refuse("a tensor map with traversal_strides")
    steps = [Int64(stride) * 16 for stride in global_strides]
    return _create(
        global_address, dtype, global_dims, steps, box_dims, interleave, swizzle, l2_promotion, oob_fill, tma_format
    )


def _create(
    address: Any, dtype: Any, extents: Sequence, steps: Sequence, box: Sequence, interleave: Any, swizzle: Any,
    l2_promotion: Any, oob_fill: Any, tma_format: Any,
) -> TensorMap:  # fmt: skip
    """Check what is static, and write the map on the host's stack. `steps`: strides in bytes."""
    if trace.in_kernel():
        raise DSLUserCodeError(
            "a tensor map is made on the host, but this is a kernel",
            fix="make it in the @cute.jit function and pass it to the kernel",
        )
    swizzle = TensorMapSwizzle(swizzle or 0)
    form = TensorMapDataFormat.DEFAULT if tma_format is None else tma_format
    if swizzle > TensorMapSwizzle.s128b or form.value >= TensorMapDataFormat.B4X16.value:
        raise needs_blackwell(f"a tensor map with {swizzle.name if swizzle > 3 else form.name}")
    for value, what in ((interleave, "interleave"), (oob_fill, "oob_fill")):
        if value:
            raise refuse(f"a tensor map with {what}={shown(value)}")
    code, flags = _code(dtype, form)
    box = _checked_box(box, len(extents), dtype, swizzle)
    flags |= _TILED | (len(extents) - 1) << 4 | code << 7 | swizzle << 13
    place = _write(address, flags, extents, steps, box, dtype.storage_width // 8)
    return TensorMap(place, swizzle, dtype, form, tuple(box))


def _code(dtype: Any, form: TensorMapDataFormat) -> tuple[int, int]:
    """The number of a type in a map, and its flags."""
    if not isinstance(dtype, NumericMeta) or dtype.is_packed or dtype.storage_width not in _INTEGERS:
        raise DSLUserCodeTypeError(
            f"TMA copies elements of 1, 2, 4 or 8 bytes, got {type_name(dtype)}", fix="dtype=cutlass.Uint8"
        )
    if form is TensorMapDataFormat.TF32_FTZ:
        return _FLOATS[Float32], _TF32
    if form is TensorMapDataFormat.F32_FTZ:
        return 8, 0
    if dtype.__name__ == "TFloat32":
        return _FLOATS[Float32], _TF32
    if dtype.is_integer and dtype.signed and dtype.width in _SIGNED:
        return _SIGNED[dtype.width], 0
    return _FLOATS.get(dtype, _INTEGERS[dtype.storage_width]), 0


def _checked_box(box: Sequence, rank: int, dtype: type[Numeric], swizzle: TensorMapSwizzle) -> list[int]:
    if not 1 <= rank <= MOST_RANK or len(box) != rank:
        raise DSLUserCodeValueError(
            f"a tensor map has 1 to {MOST_RANK} dimensions and as many of a box, got {rank} and {len(box)}",
            fix="give the box an extent for each dimension",
        )
    extents = []
    for each in box:
        number = numeric(each)
        if number is None or is_dynamic(number) or not 1 <= int(number.value) <= MOST_BOX:
            raise DSLUserCodeValueError(
                f"an extent of a box must be 1-{MOST_BOX}, known while compiling, got {shown(each)}",
                fix="copy a larger box in parts",
            )
        extents.append(int(number.value))
    row_bytes = extents[0] * dtype.storage_width // 8
    span = 16 << swizzle if swizzle else 0
    if row_bytes % 16 or (span and row_bytes > span):
        most = f", and with a swizzle of {span} bytes at most as many" if span else ""
        raise DSLUserCodeValueError(
            f"a row of a box must be a multiple of 16 bytes{most}, got {row_bytes}", id="TMA_ALIGNMENT",
            fix="the first extent of the box is along contiguous elements",
        )  # fmt: skip
    return extents


def _write(address: Any, flags: int, extents: Sequence, steps: Sequence, box: list[int], size_bytes: int) -> mlir.Value:
    """The map's words on the host's stack. One whose address or strides are not multiples of 16 bytes has no flags."""
    start = Int64(address)
    sizes = [Int64(extents[0]) * size_bytes, *(Int64(e) * s for e, s in zip(extents[1:], steps))]
    is_large, odd = sizes[0] >= _LARGE_BYTES, start & 15
    for size in sizes[1:]:
        is_large = is_large | (size >= _LARGE_BYTES)
    for step in steps:
        odd = odd | (step & 15)
    strides = [step >> 4 for step in steps]
    padded = [extent - 1 for extent in box] + [0] * (MOST_RANK - len(box))
    high = Int32(0)
    for place, stride in enumerate(strides):
        high = high | Int32((stride >> 32) << 4 * place)
    words: list[Any] = [
        select(odd == 0, select(is_large, Int32(flags | _LARGE), Int32(flags)), Int32(0)),
        *([Int32(stride) for stride in strides] + [Int32(0)] * 4)[:4],
        high,
        *([Int32(extent) - 1 for extent in extents] + [Int32(0)] * MOST_RANK)[:MOST_RANK],
        Int32(_as_signed(padded[0] << 24)),
        Int32(_as_signed(sum(extent << 8 * i for i, extent in enumerate(padded[1:])))),
        Int32(0),
    ]
    place = trace.entry_alloca(mlir.i8, MAP_BYTES, MAP_ALIGNMENT_BYTES)
    mlir.store(start.ir(), place, 8)
    for index, value in enumerate(words, 2):
        mlir.store(value.ir(), mlir.gep(place, mlir.i32, index), 4)
    for index in range(8, MAP_BYTES // 8):
        mlir.store(Int64(0).ir(), mlir.gep(place, mlir.i64, index), 8)
    return place


def _as_signed(word: int) -> int:
    return word - (1 << 32) if word >= 1 << 31 else word
