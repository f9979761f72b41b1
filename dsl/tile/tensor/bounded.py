"""Tensors that know their place in an origin, and copies that leave out elements past its end.

The origin is a parameter of a kernel of `cute.experimental`, or a tensor that `predicated_tensor_origin` names. A part
carries the coordinates of its elements in the origin: each change of its layout also changes the coordinates. One call
of an atom moves a vector if the vector's first element is inside. A new view by `make_tensor` or `domain_offset` has
no origin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, warn
from dsl.core.number.dtypes import Boolean, Int32, Numeric, is_dynamic
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.core.phrase import shown
from dsl.layout import Layout
from dsl.layout.int_tuple import flatten_to_tuple, is_constant, join_dynamic, split_dynamic, text, wrap
from dsl.tile.copy import algorithm
from dsl.tile.copy.atom import CopyAtom, CopyG2SOp, CopyUniversalOp, LoadCacheMode, VectorOp
from dsl.tile.copy.matrix_copy import MatrixOp
from dsl.tile.copy.predicate import vectors_and_rest
from dsl.tile.copy.tiled import ThrCopy
from dsl.tile.memory.memory import SmemAllocator
from dsl.tile.tensor.element_address import element_iterator, static_size, strided_part
from dsl.tile.tensor.modes import as_tiler, slice_
from dsl.tile.tensor.tensor import Tensor, make_identity_tensor, make_rmem_tensor


class BoundedTensor(Tensor):
    """A part of an origin: `coordinates` has the coordinate there of each element.

    The origin has the shape `extents`, and is contiguous along the leaf `leading` of it.
    """

    __slots__ = ("coordinates", "extents", "leading")

    def __init__(self, part: Tensor, coordinates: Tensor, extents: Any, leading: int | None) -> None:
        super().__init__(part.iterator, part.layout)
        self.coordinates, self.extents, self.leading = coordinates, extents, leading

    def through(self, change: Callable[[Tensor], Tensor]) -> Tensor:
        return BoundedTensor(change(_plain(self)), change(self.coordinates), self.extents, self.leading)

    def __flatten__(self) -> tuple[tuple, Any]:
        extents, hole = split_dynamic(self.extents)
        return (_plain(self), self.coordinates, *extents), (hole, self.leading)

    @classmethod
    def __unflatten__(cls, key: Any, children: Sequence[Any]) -> BoundedTensor:
        part, coordinates, *extents = children
        return cls(part, coordinates, join_dynamic(key[0], iter(extents)), key[1])


def _plain(tensor: Tensor) -> Tensor:
    return Tensor(tensor.iterator, tensor.layout)


def as_origin(tensor: Any) -> Any:
    """A tensor in global memory as an origin; anything else as it is."""
    if not isinstance(tensor, Tensor) or not isinstance(tensor.iterator, Pointer):
        return tensor
    if tensor.memspace is not AddressSpace.gmem:
        return tensor
    strides = flatten_to_tuple(strided_part(tensor.layout).stride)
    leading = next((place for place, stride in enumerate(strides) if is_constant(stride, 1)), None)
    return BoundedTensor(_plain(tensor), make_identity_tensor(tensor.shape), tensor.shape, leading)


def predicated_tensor_origin(tensor: Tensor) -> Tensor:
    """The tensor as the origin of the parts that are made of it: copies leave out elements past its end."""
    if not isinstance(tensor, Tensor):
        raise DSLUserCodeTypeError(
            f"predicated_tensor_origin takes a tensor, got {type_name(tensor)}", fix="make_tensor(pointer, layout)"
        )
    tensor.pointer()
    return as_origin(tensor)


def allocate(type: type[Numeric], address_space: AddressSpace, layout: Any, alignment: int, is2cta: bool = False):
    """A tensor of a static layout in registers or in shared memory, aligned to `alignment` bytes."""
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise DSLUserCodeError(
            f"alignment of allocate must be a power of two, got {shown(alignment)}", fix="alignment=16, for example"
        )
    if is2cta:
        raise DSLUserCodeError(
            "is2cta is of tensor memory, which needs Blackwell",
            fix="AddressSpace.rmem: on Hopper wgmma keeps its sums in registers",
        )
    if address_space is AddressSpace.rmem:
        made = make_rmem_tensor(layout, type)
        at = made.pointer()
        return made.with_iterator(Pointer(at.dtype, at.address, at.space, min(alignment, at.alignment_bytes)))
    if address_space is not AddressSpace.smem:
        raise DSLUserCodeError(
            f"allocate makes tensors in registers and in shared memory, not in {address_space}",
            fix="AddressSpace.rmem or AddressSpace.smem",
        )
    return SmemAllocator().allocate_tensor(type, layout, byte_alignment=alignment)


def partition(buffer: Tensor, agent_id: Int32, *, layout_tv: Layout, tiler: Any) -> Tensor:
    """The elements that thread `agent_id` owns of each tile: (the values of `layout_tv`, tiles)."""
    if not isinstance(buffer, Tensor):
        raise DSLUserCodeTypeError(f"partition takes a tensor, got {type_name(buffer)}", fix="make_tensor(p, layout)")
    if not isinstance(agent_id, Int32):
        raise DSLUserCodeTypeError(
            f"agent_id of partition must be an Int32, got {type_name(agent_id)}", fix="cutlass.Int32(agent_id)"
        )
    if not isinstance(layout_tv, Layout) or not lay.is_static(layout_tv) or lay.rank(layout_tv) != 2:
        raise DSLUserCodeTypeError(
            f"layout_tv of partition must be a static layout of threads and values, got {layout_tv}",
            fix="cute.make_layout((threads, values), stride=...)",
        )
    tiles = wrap(as_tiler(tiler))
    if lay.rank(buffer) < len(tiles):
        raise DSLUserCodeError(
            f"partition: the tiler has {len(tiles)} modes, but the tensor is {text(buffer.shape)}",
            fix="give the tensor as many modes as the tiler",
        )

    def part(tensor: Tensor) -> Tensor:
        divided = lay.zipped_divide(tensor.layout, tiles)
        parts = tensor.with_layout(lay.composition(divided, (layout_tv, None)))
        return slice_(parts, ((agent_id, None), None))

    return buffer.through(part)


def partition_and_copy(tiled_copy: ThrCopy, src: Tensor, dst: Tensor) -> None:
    """Copy a thread's part of a tile; a side in registers is that part already."""
    if not isinstance(tiled_copy, ThrCopy):
        raise DSLUserCodeTypeError(
            f"partition_and_copy takes a thread's part of a tiled copy, got {type_name(tiled_copy)}",
            fix="tiled_copy.get_slice(tidx)",
        )
    sides = []
    for tensor, layout_tv in ((src, tiled_copy.layout_src_tv_tiled), (dst, tiled_copy.layout_dst_tv_tiled)):
        if isinstance(tensor, Tensor) and tensor.memspace is not AddressSpace.rmem:
            tensor = partition(tensor, Int32(tiled_copy.thr_idx), layout_tv=layout_tv, tiler=tiled_copy.tile_mn)
        sides.append(tensor)
    copy(*sides, copy_atom=CopyAtom(tiled_copy.op, tiled_copy.value_type, tiled_copy.num_bits_per_copy))


def copy(src: Tensor, dst: Tensor, *, copy_atom: CopyAtom) -> None:
    """Copy with as many calls of the atom as there are vectors, of global memory those that begin in the origin.

    A vector that does not is left out; cp.async writes zeros in its place.
    """
    if not isinstance(copy_atom, CopyAtom) or not isinstance(copy_atom.op, (VectorOp, MatrixOp)):
        raise DSLUserCodeTypeError(
            f"copy of cute.experimental takes an atom of a copy by threads, got {type_name(copy_atom)}",
            fix="cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), dtype); TMA's go through cute.copy",
        )
    in_registers = [isinstance(t, Tensor) and t.memspace is AddressSpace.rmem for t in (src, dst)]
    if not isinstance(copy_atom.op, (CopyG2SOp, MatrixOp)) and not any(in_registers):
        raise DSLUserCodeError(
            "one side of this copy must be in registers",
            fix="copy to `allocate(dtype, cute.AddressSpace.rmem, layout, alignment)`, and from there",
        )
    if isinstance(copy_atom.op, MatrixOp):
        algorithm.copy(copy_atom, src, dst)
        return
    sides, count = _global_sides(src, dst), copy_atom.count
    inside = (lambda: _Inside([_Bounds(side, tensor, count) for side, tensor in sides])) if sides else None
    algorithm.copy_vectors(copy_atom, src, dst, inside)


def simt_auto_vec_copy(src: Tensor, dst: Tensor, async_op: bool = False) -> None:
    """Copy with the widest vectors that are contiguous and aligned on both sides, those that begin in the origin.

    One side is in registers; with `async_op` cp.async copies global to shared memory.
    """
    _check_sides(src, dst, async_op)
    op: VectorOp = CopyG2SOp(LoadCacheMode.ALWAYS) if async_op else CopyUniversalOp()
    sides = _global_sides(src, dst)
    bounds: list[_Bounds] = []
    for index, start, end, count in algorithm.common_vectors(src, dst, "simt_auto_vec_copy"):
        if not bounds:
            op.check(start.dtype, count * start.dtype.storage_width)
            bounds = [_Bounds(side, tensor, count) for side, tensor in sides]
        met = _Inside(bounds).of(index)
        algorithm.move_if(op, count, met, start, end) if bounds else op.move(start, end, count)


def _check_sides(src: Any, dst: Any, async_op: bool) -> None:
    for tensor in (src, dst):
        if not isinstance(tensor, Tensor):
            raise DSLUserCodeTypeError(
                f"simt_auto_vec_copy copies tensors, got {type_name(tensor)}", fix="make_tensor(pointer, layout)"
            )
    spaces = src.memspace, dst.memspace
    if async_op and spaces != (AddressSpace.gmem, AddressSpace.smem):
        raise DSLUserCodeError("an asynchronous copy goes from global to shared memory", fix="leave `async_op` out")
    if not async_op and AddressSpace.rmem not in spaces:
        raise DSLUserCodeError(
            "one side of simt_auto_vec_copy must be in registers", fix="async_op=True copies global to shared memory"
        )


def elementwise(inputs: list[Tensor], outputs: list[Tensor], body: Callable) -> None:
    """Store what `body` makes of the elements of all tensors, inputs first, in the outputs, element by element."""
    tensors = [*inputs, *outputs]
    for tensor in tensors:
        if not isinstance(tensor, Tensor) or lay.size(tensor) != lay.size(tensors[0]):
            raise DSLUserCodeTypeError(
                f"elementwise takes tensors of one size, got {type_name(tensor)}", fix="allocate them of one layout"
            )
    for i in range(static_size(tensors[0], "elementwise")):
        made = body([element_iterator(tensor, i).load() for tensor in tensors])
        made = made if isinstance(made, (tuple, list)) else (made,)
        if len(made) != len(outputs):
            raise DSLUserCodeTypeError(
                f"body of elementwise returns {len(made)} elements, but there are {len(outputs)} outputs",
                fix="return one for each output",
            )
        for output, element in zip(outputs, made):
            element_iterator(output, i).store(output.element_type(element))


# --- what is inside -------------------------------------------------------------------------------------------------


def _global_sides(src: Any, dst: Any) -> list[tuple[str, Tensor]]:
    """The sides of a copy that are in global memory."""
    sides = [(side, t) for side, t in (("source", src), ("destination", dst)) if isinstance(t, Tensor)]
    return [(side, t) for side, t in sides if isinstance(t.iterator, Pointer) and t.memspace is AddressSpace.gmem]


class _Bounds:
    """Which vectors of `count` elements of one side of a copy begin in its origin."""

    def __init__(self, side: str, tensor: Tensor, count: int) -> None:
        if not isinstance(tensor, BoundedTensor):
            raise DSLUserCodeError(
                f"{side} of the copy has no origin: it is not part of a parameter of the kernel",
                fix="take parts of `cute.experimental.predicated_tensor_origin(tensor)`",
            )
        self.tensor = tensor
        along = tensor.leading
        extent = count if along is None else flatten_to_tuple(tensor.extents)[along]
        if isinstance(extent, int) and extent % count:
            warn(
                f"the {side} has {extent} elements along its contiguous mode, and one call copies {count} as soon as "
                f"the first is inside: the last goes {-extent % count} beyond the end. Copy fewer bits",
                "COPY_BEYOND_ORIGIN",
            )

    def inside(self, coord: Any, by_vector: bool) -> Any:
        """Whether the element at a coordinate is inside; `by_vector`: at (index in V, index of the rest)."""
        coordinates = self.tensor.coordinates
        place = element_iterator(vectors_and_rest(coordinates) if by_vector else coordinates, coord)
        met: Any = True
        for at, extent in zip(flatten_to_tuple(place), flatten_to_tuple(self.tensor.extents)):
            met = _both(met, at < extent)
        return met


class _Inside:
    """The conditions of a copy's vectors, worked out one by one: `Predicates`."""

    def __init__(self, bounds: list[_Bounds]) -> None:
        self.bounds = bounds

    def at(self, coord: tuple[Any, Any], lowest_bit: bool) -> Boolean:
        return self._all(coord, True)

    def of(self, index: int) -> Boolean:
        """The condition of the vector that begins with element `index`."""
        return self._all(index, False)

    def _all(self, coord: Any, by_vector: bool) -> Boolean:
        met: Any = True
        for bounds in self.bounds:
            met = _both(met, bounds.inside(coord, by_vector))
        return met if isinstance(met, Boolean) else Boolean(met)


def _both(a: Any, b: Any) -> Any:
    """`a and b` of conditions that may be Python values."""
    if not is_dynamic(a):
        return b if a else False
    return a & b if is_dynamic(b) else a if b else False
