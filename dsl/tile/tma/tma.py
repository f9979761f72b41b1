"""TMA: atoms that copy a box of a tensor in global memory from or to shared memory with one instruction.

The host describes the tensor and the box in a tensor map, which a kernel gets as a parameter; the kernel names the box
by the coordinates of its first element (tma_copy). `make_tiled_tma_atom` finds the largest box whose elements follow
one another both in the tensor's modes and in shared memory. CuTe DSL documentation: cute.nvgpu.cpasync.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dsl import layout as lay
from dsl.core import trace
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.number.dtypes import Numeric
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace, element_name
from dsl.layout import ComposedLayout, E, Layout, Swizzle
from dsl.layout.int_tuple import ScaledBasis, flatten_to_tuple, is_constant, text, wrap
from dsl.tile.tensor.constant import CopyOp
from dsl.tile.tensor.tensor import Tensor
from dsl.tile.tma.tensor_map_words import MOST_MODES, TensorMap, describe, is_describable, tiled

MOST_BOX = 256


class TmaOp(CopyOp):
    """A copy of boxes, or in mode im2col of columns of pixels. `multicasts`: one copy writes to several blocks of a
    cluster. One lane of the warp issues it where it `elects`."""

    loads = True
    takes_columns = False
    multicasts = False
    elects = True
    title: str

    def __str__(self) -> str:
        return self.title


@dataclass(frozen=True)
class CopyBulkTensorTileG2SOp(TmaOp):
    """TMA from global to shared memory, in tile mode."""

    cta_group: Any = None
    title = "cp.async GMEM -> SMEM bulk tensor copy Operation"

    def __post_init__(self) -> None:
        if getattr(self.cta_group, "name", "ONE") != "ONE":
            raise DSLUserCodeError(
                f"a copy by TMA for {self.cta_group}, two blocks of a pair, is of Blackwell",
                id="UNSUPPORTED_NAME",
                fix="leave cta_group out",
            )


@dataclass(frozen=True)
class CopyBulkTensorTileG2SMulticastOp(CopyBulkTensorTileG2SOp):
    """TMA from global memory to the shared memory of several blocks of the cluster: each loads a part of the tile for
    all."""

    multicasts = True
    title = "cp.async GMEM -> SMEM bulk tensor multicast copy Operation"


@dataclass(frozen=True)
class CopyBulkTensorTileS2GOp(TmaOp):
    """TMA from shared to global memory, in tile mode."""

    loads = False
    elects = False
    title = "cp.async SMEM -> GMEM bulk tensor copy Operation"


class ReductionKind(enum.Enum):
    """The operation of a TMA reduction on an element and the one in global memory.  PTX ISA: cp.reduce.async.bulk."""

    ADD, MIN, MAX, INC, DEC, AND, OR, XOR = range(8)


@dataclass(frozen=True)
class CopyReduceBulkTensorTileS2GOp(TmaOp):
    """TMA from shared to global memory, where elements are reduced with those that are there."""

    reduction_kind: Any = ReductionKind.ADD
    loads = False
    title = "cp.async SMEM -> GMEM bulk tensor reduction Operation"


@dataclass(frozen=True)
class TmaAtom:
    """One instruction's copy of a box: `box` elements along each dimension of the tensor map, which is `modes` of the
    tensor; or of a column, `box` then being channels and pixels. If it multicasts, all its blocks load the box
    together."""

    op: TmaOp
    value_type: type[Numeric]
    box: tuple[int, ...]
    modes: tuple[int, ...]
    map: TensorMap

    def __flatten__(self) -> tuple[tuple, Any]:
        return (self.map,), (self.op, self.value_type, self.box, self.modes)

    @classmethod
    def __unflatten__(cls, key: Any, children: Sequence[Any]) -> TmaAtom:
        return cls(*key, *children)

    @property
    def count(self) -> int:
        """The elements of one box."""
        return math.prod(self.box)

    def split(self, coord: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any] | None]:
        """A flat coordinate of TMA as an instruction takes it: coordinates, and offsets where it takes them."""
        rank = len(self.modes)
        return coord[:rank], coord[rank:] if self.op.takes_columns and self.op.loads else None

    @property
    def thr_id(self) -> Layout:
        return Layout(1, 0)

    @property
    def layout_src_tv(self) -> Layout:
        """(thread, value) -> element of the box."""
        return Layout((1, self.count), (0, 1))

    layout_dst_tv = layout_src_tv

    def __str__(self) -> str:
        return (
            f"Copy Atom\n  ThrID:         {self.thr_id}\n  TV Layout Src: {self.layout_src_tv}\n"
            f"  TV Layout Dst: {self.layout_dst_tv}\n  Value type:    {element_name(self.value_type)}"
        )


@dataclass(frozen=True)
class TmaInfo:
    """The result of make_tiled_tma_atom: it unpacks into the atom and the tensor of TMA's coordinates."""

    copy_atom: TmaAtom
    tma_tensor: Tensor
    smem_layout: Layout | ComposedLayout

    @property
    def atom(self) -> TmaAtom:
        """The atom, by the name that programs ask for; the parameter is named `copy_atom`."""
        return self.copy_atom

    def __iter__(self) -> Iterator[Any]:
        return iter((self.atom, self.tma_tensor))

    def __getitem__(self, index: int) -> Any:
        return (self.atom, self.tma_tensor)[index]


def make_tiled_tma_atom(
    op: Any,
    gmem_tensor: Tensor,
    smem_layout_: Layout | ComposedLayout,
    cta_tiler: Any,
    num_multicast: int = 1,
    *,
    gmem_coord_tensor: Any = None,
    internal_type: type[Numeric] | None = None,
) -> TmaInfo:
    """The atom that copies tiles of `gmem_tensor`, of the shape `cta_tiler`, from or to shared memory laid out by
    `smem_layout_` (with or without a mode of stages; its swizzle counts bytes), and the tensor of TMA's coordinates.

    Raises DSLUserCodeError for what TMA cannot copy: its address, strides and rows of a box are multiples of 16 bytes.
    """
    if not isinstance(op, TmaOp) or op.takes_columns:
        raise DSLUserCodeTypeError(
            f"a tiled TMA atom takes a bulk tensor operation in tile mode, got {type_name(op)}",
            fix="cpasync.CopyBulkTensorTileG2SOp(), or ...S2GOp()",
        )
    if gmem_coord_tensor is not None:
        raise DSLUserCodeError(
            "gather and scatter by TMA are of Blackwell", id="UNSUPPORTED_NAME", fix="leave gmem_coord_tensor out"
        )
    if num_multicast != 1 and not op.multicasts:
        raise DSLUserCodeError(
            f"{type(op).__name__} does not multicast, got num_multicast={num_multicast}",
            fix="cpasync.CopyBulkTensorTileG2SMulticastOp()",
        )
    if trace.in_kernel():
        raise DSLUserCodeError(
            "make_tiled_tma_atom runs on the host, but this is a kernel",
            fix="make the atom in the @cute.jit function and pass it to the kernel",
        )
    dtype = internal_type or gmem_tensor.element_type
    check_gmem(gmem_tensor, dtype)
    shapes, strides = flatten_to_tuple(gmem_tensor.shape), flatten_to_tuple(gmem_tensor.stride)
    basis = _tile_basis(gmem_tensor.shape, cta_tiler)
    swizzle, slayout = smem_tile(smem_layout_, tuple(lay.size(mode) for mode in wrap(basis.shape)), dtype)
    order, box = _box(basis, slayout, swizzle, dtype)
    order += [mode for mode in range(len(shapes)) if mode not in order and not is_constant(strides[mode], 0)]
    box += [1] * (len(order) - len(box))
    _check_box(gmem_tensor, order, box, dtype)
    described = describe(
        gmem_tensor.pointer(),
        [shapes[m] for m in order],
        [strides[m] for m in order],
        dtype,
        swizzle,
        tiled(_part_of_one_block(box, num_multicast)),
    )
    basis = _numbered(gmem_tensor.shape, lambda mode: E(order.index(mode)) if mode in order else 0)
    coordinates = Tensor((0,) * len(order), Layout(gmem_tensor.shape, basis))
    return TmaInfo(TmaAtom(op, dtype, tuple(box), tuple(order), described), coordinates, smem_layout_)


# --- the box ---------------------------------------------------------------------------------------------------------


def check_gmem(tensor: Any, dtype: type[Numeric]) -> None:
    if not isinstance(tensor, Tensor) or tensor.pointer().space not in (AddressSpace.gmem, AddressSpace.generic):
        raise DSLUserCodeTypeError(
            f"TMA copies a tensor in global memory, got {type_name(tensor)}",
            fix="pass the tensor that came as an argument",
        )
    if not is_describable(dtype):
        raise DSLUserCodeTypeError(
            f"TMA copies elements of 1, 2, 4 or 8 bytes, got {dtype}",
            fix="internal_type=cutlass.Uint8, over a recast tensor",
        )
    if dtype.storage_width != tensor.element_type.storage_width:
        raise DSLUserCodeTypeError(
            f"internal_type is as wide as the tensor's elements, and {dtype} is not as wide as {tensor.element_type}",
            fix="recast the tensor",
        )
    modes = sum(not is_constant(stride, 0) for stride in flatten_to_tuple(tensor.stride))
    if not 1 <= modes <= MOST_MODES:
        raise DSLUserCodeError(
            f"a tensor for TMA must have 1 to {MOST_MODES} modes whose stride is not 0, got {tensor.layout}",
            fix="flatten it, or slice a mode off",
        )


def _tile_basis(shape: Any, tiler: Any) -> Layout:
    """The tile's elements as coordinates of the tensor, whose leaves are counted from left to right.

    A tiler has an extent or a layout for each mode, or a tuple of them for one of several modes, or it is the layout of
    the tile's coordinates itself.
    """
    if isinstance(tiler, Layout):
        return _counted_basis(shape, tiler)
    if not _tiles(wrap(shape), wrap(tiler)):
        raise _wrong_tiler(shape, tiler)
    return _tile_of(wrap(shape), wrap(_numbered(shape, E)), wrap(tiler))


def _tile_of(shape: Any, stride: Any, tiler: Any) -> Layout:
    """The part of one mode, or of several, that a tile has."""
    if isinstance(tiler, tuple):
        modes = [_tile_of(*each) for each in zip(shape, stride, tiler)]
        return Layout(tuple(mode.shape for mode in modes), tuple(mode.stride for mode in modes))
    if isinstance(shape, tuple) or isinstance(tiler, Layout):
        return lay.composition(Layout(shape, stride), tiler)
    return Layout(tiler, stride)


def _counted_basis(shape: Any, coordinates: Layout) -> Layout:
    """A layout of coordinates, whose leaves are counted as `_numbered` does and not named by their way down."""
    paths = list(_paths(shape))
    strides = flatten_to_tuple(coordinates.stride)
    named = [not is_constant(stride, 0) for stride in strides]  # an extent of 1 has the stride 0
    if not lay.is_static(coordinates) or not all(
        not has_name or (isinstance(stride, ScaledBasis) and stride.mode in paths)
        for stride, has_name in zip(strides, named)
    ):
        raise _wrong_tiler(shape, coordinates)
    counted = iter(
        [E(paths.index(stride.mode)) * stride.value if has_name else 0 for stride, has_name in zip(strides, named)]
    )
    return Layout(coordinates.shape, _numbered(coordinates.shape, lambda _: next(counted)))


def _paths(shape: Any, above: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """The way down to each leaf of a shape."""
    if not isinstance(shape, tuple):
        yield above or (0,)
        return
    for i, mode in enumerate(shape):
        yield from _paths(mode, (*above, i))


def _tiles(shape: Any, tiler: Any) -> bool:
    """Whether a tiler has something static for the first modes of a shape, or all of them."""
    if isinstance(tiler, tuple):
        return isinstance(shape, tuple) and len(tiler) <= len(shape) and all(map(_tiles, shape, tiler))
    return lay.is_static(tiler) if isinstance(tiler, Layout) else type(tiler) is int and tiler > 0


def _wrong_tiler(shape: Any, tiler: Any) -> DSLUserCodeError:
    return DSLUserCodeError(
        f"tiler of a TMA atom must have a static extent for each of the tensor's {len(wrap(shape))} modes, or the "
        f"first of them, got {tiler if isinstance(tiler, Layout) else text(tiler)}",
        fix="cta_tiler=(128, 64), for example",
    )


def smem_tile(layout: Any, tile: tuple[int, ...], dtype: type[Numeric]) -> tuple[Swizzle, Layout]:
    """The swizzle, in bytes, and the layout of one stage."""
    swizzle = layout.inner if isinstance(layout, ComposedLayout) else Swizzle(0, 4, 3)
    outer = layout.outer if isinstance(layout, ComposedLayout) else layout
    if not isinstance(outer, Layout) or not lay.is_static(outer) or not isinstance(swizzle, Swizzle):
        raise DSLUserCodeError(
            f"layout of shared memory must be static with at most a swizzle, got {layout}",
            fix="cute.make_layout((128, 64), stride=(64, 1))",
        )
    if swizzle.bits and (swizzle.base != 4 or swizzle.shift != 3 or swizzle.bits > 3):
        raise DSLUserCodeError(
            f"swizzle of TMA must be S<1,4,3>, S<2,4,3> or S<3,4,3>, counted in bytes, got {swizzle}",
            fix="cute.make_swizzle(3, 4, 3) swizzles 128 bytes",
        )
    modes = [outer[i] for i in range(lay.rank(outer))] if isinstance(outer.shape, tuple) else [outer]
    modes = modes[: len(tile)]
    sizes = tuple(lay.size(mode) for mode in modes)
    if sizes != tile:
        raise DSLUserCodeError(
            f"a tile of {text(tile)} is copied into shared memory of {text(sizes)}: the extents differ",
            fix=f"a layout of the shape {text(tile)}, and a mode of stages after it if you have them",
        )
    return swizzle, Layout(tuple(mode.shape for mode in modes), tuple(mode.stride for mode in modes))


def _numbered(shape: Any, function: Callable[[int], Any], first: int = 0) -> Any:
    """`function` of the number of each leaf of a shape, from left to right."""
    if not isinstance(shape, tuple):
        return function(first)
    values = []
    for mode in shape:
        values.append(_numbered(mode, function, first))
        first += len(flatten_to_tuple(mode))
    return tuple(values)


def _box(basis: Layout, slayout: Layout, swizzle: Swizzle, dtype: type[Numeric]) -> tuple[list[int], list[int]]:
    """The tensor's leaves that the box extends along, as they follow one another in shared memory, and how far."""
    inverse = lay.right_inverse(slayout)
    runs = lay.coalesce(lay.composition(basis, inverse))
    order: list[int] = []
    box: list[int] = []
    for extent, stride in zip(flatten_to_tuple(runs.shape), flatten_to_tuple(runs.stride)):
        if extent == 1:
            continue
        mode = stride.mode[0] if isinstance(stride, ScaledBasis) else None
        if mode is None or stride.value != 1 or mode in order:
            break
        most = MOST_BOX
        if not box and swizzle.bits:
            most = min(most, (16 << swizzle.bits) * 8 // dtype.storage_width)
        part = next(part for part in range(min(extent, most), 0, -1) if extent % part == 0)
        order.append(mode)
        box.append(part)
        if part < extent:
            break
    return (order, box) if order else ([0], [1])


def _part_of_one_block(box: list[int], blocks: int) -> list[int]:
    """The part of a box that each of `blocks` loads for all: it is cut along the last dimensions."""
    parts = list(box)
    for dimension in reversed(range(len(parts))):
        extent = parts[dimension]
        parts[dimension], blocks = -(-extent // blocks), -(-blocks // extent)
    if blocks != 1 or math.prod(box) % math.prod(parts):
        raise DSLUserCodeError(
            f"a box of {text(tuple(box))} has no parts for the blocks it is multicast to",
            fix="a larger tile, or fewer blocks",
        )
    return parts


def _check_box(tensor: Tensor, order: list[int], box: list[int], dtype: type[Numeric]) -> None:
    strides = flatten_to_tuple(tensor.stride)
    contiguous = strides[order[0]]
    if not (isinstance(contiguous, int) and contiguous == 1):
        raise DSLUserCodeError(
            f"TMA cannot transpose: mode {order[0]} of the tile is contiguous in shared memory, but in the "
            f"tensor {tensor.layout} its stride is {text(contiguous)}",
            id="TMA_MAJOR_MODE",
            fix="lay shared memory out in the tensor's order, or pass a transposed view of the tensor",
        )
    row_bytes = box[0] * dtype.storage_width // 8
    if row_bytes % 16:
        raise DSLUserCodeError(
            f"a row of the box must be a multiple of 16 bytes, got {box[0]} elements, {row_bytes} bytes",
            fix="make the tile's contiguous extent longer",
            id="TMA_ALIGNMENT",
        )
    check_steps(tensor, order[1:], dtype)


def check_steps(tensor: Tensor, modes: Sequence[int], dtype: type[Numeric]) -> None:
    """Raise DSLUserCodeError where the stride of one of these leaves is known to be no multiple of 16 bytes."""
    shapes, strides = flatten_to_tuple(tensor.shape), flatten_to_tuple(tensor.stride)
    for mode in modes:
        stride = strides[mode]
        if isinstance(stride, int) and stride * dtype.storage_width // 8 % 16 and shapes[mode] != 1:
            raise DSLUserCodeError(
                f"stride of mode {mode} of {tensor.layout} must be a multiple of 16 bytes, got "
                f"{stride * dtype.storage_width // 8}",
                fix="pad the rows to a multiple of 16 bytes",
                id="TMA_ALIGNMENT",
            )
