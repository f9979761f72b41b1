"""Copies by TMA in a kernel: tensors cut into boxes, and one instruction a box (dsl.tile.tma.tma makes the atoms).

A tensor map may also be one that the kernel itself wrote: `tensor_map` has what changes it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import product as cross
from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Int16
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.gpu.memory import tma
from dsl.gpu.threads import mbarrier
from dsl.gpu.threads.sync import elect_one
from dsl.layout import ComposedLayout, Layout
from dsl.layout.int_tuple import flatten_to_tuple, mul, text, wrap
from dsl.tile.tensor.element_address import element_iterator, strided_part
from dsl.tile.tensor.int_tuple import make_layout_image_mask
from dsl.tile.tensor.tensor import Tensor, domain_offset, inside
from dsl.tile.tma.tma import CopyReduceBulkTensorTileS2GOp, TmaAtom


def prefetch_descriptor(tma_atom: TmaAtom) -> None:
    """Bring an atom's tensor map into the cache."""
    tma.prefetch_map(require_atom(tma_atom).map.ir())


def require_atom(atom: Any) -> TmaAtom:
    if not isinstance(atom, TmaAtom):
        raise DSLUserCodeTypeError(
            f"this takes a TMA atom, got {type_name(atom)}",
            fix="atom, tensor = cpasync.make_tiled_tma_atom(op, tensor, smem_layout, tile)",
        )
    return atom


def tma_partition(
    atom: TmaAtom, cta_coord: Any, cta_layout: Layout, smem_tensor: Tensor, gmem_tensor: Tensor
) -> tuple[Tensor, Tensor]:
    """((box, boxes), rest...) views of shared memory and of TMA's coordinates, whose first modes are the tile.

    If the box is multicast to the blocks of `cta_layout`, both begin at the part that block `cta_coord` loads.
    Raises DSLUserCodeError for tiles that the atom's boxes do not cover.
    """
    atom = require_atom(atom)
    blocks = lay.cosize(cta_layout)
    if not isinstance(blocks, int) or (blocks != 1 and (not atom.op.multicasts or atom.count % blocks)):
        raise DSLUserCodeError(
            f"an atom of {type(atom.op).__name__} does not share its box of {atom.count} elements between the "
            f"blocks of {cta_layout}",
            fix="make_tiled_tma_atom(CopyBulkTensorTileG2SMulticastOp(), ..., num_multicast=blocks)",
        )
    if not lay.is_static(_first(strided_part(gmem_tensor.layout)).shape):
        raise DSLUserCodeError(
            f"the tile of TMA coordinates must have static extents, got {text(gmem_tensor.shape)}",
            fix="tile it by static extents; in mode im2col the tensor's channels are static too",
        )
    smem = _plain(smem_tensor)
    inverse = lay.right_inverse(_first(smem.layout))
    tile_size = lay.size(_first(smem.layout))
    if lay.size(inverse) % atom.count or tile_size % lay.size(inverse):
        raise DSLUserCodeError(
            f"the atom copies boxes of {atom.count} elements, but shared memory of the layout {smem.layout} "
            f"has only {lay.size(inverse)} contiguous elements",
            fix="make the atom with the layout of this tensor",
        )
    whole = lay.tile_to_shape(inverse, tile_size, 0) if lay.size(inverse) != tile_size else inverse
    cut = lay.logical_divide(whole, Layout(atom.count, 1))
    parts = _cut(smem, cut), _cut(gmem_tensor, cut)
    if blocks == 1:
        return parts
    block = inside(cta_coord, cta_layout.shape, lambda: f"the cluster is {text(cta_layout.shape)}")
    start = mul(cta_layout.index_of(block), atom.count // blocks)
    first, second = (domain_offset(((start, 0), *(0,) * (lay.rank(part) - 1)), part) for part in parts)
    return first, second


def _first(layout: Layout) -> Layout:
    return layout[0] if isinstance(layout.shape, tuple) else layout


def _plain(tensor: Tensor) -> Tensor:
    """A tensor in shared memory whose layout has no swizzle: TMA applies it itself, by the address."""
    layout = tensor.layout
    if not isinstance(layout, ComposedLayout):
        return tensor
    return Tensor(tensor.pointer() + layout.offset, layout.outer)


def _cut(tensor: Tensor, cut: Layout) -> Tensor:
    """The first mode, seen as (box, boxes)."""
    layout = strided_part(tensor.layout)
    rest = [layout[i] for i in range(1, lay.rank(layout))] if isinstance(layout.shape, tuple) else []
    first = lay.composition(_first(layout), cut)
    first = lay.coalesce(first, target_profile=(1, 1))
    parts = Layout((first.shape, *(mode.shape for mode in rest)), (first.stride, *(mode.stride for mode in rest)))
    composed = tensor.layout
    return tensor.with_layout(composed.with_outer(parts) if isinstance(composed, ComposedLayout) else parts)


def copy_boxes(
    atom: TmaAtom,
    src: Tensor,
    dst: Tensor,
    tma_bar_ptr: Pointer | None = None,
    mcast_mask: Any = None,
    cache_policy: Any = None,
    tma_desc_ptr: Any = None,
) -> None:
    """Copy partitioned tensors box by box. Loading takes the mbarrier at which the bytes complete, multicasting also
    the mask of the cluster's blocks, a bit a block. `tma_desc_ptr`: a tensor map in place of the atom's own.
    """
    coords, smem = (src, dst) if atom.op.loads else (dst, src)
    _check_sides(atom, coords, smem)
    smem = smem.with_iterator(smem.pointer().swizzled(None))
    if atom.op.loads and tma_bar_ptr is None:
        raise DSLUserCodeError(
            "a copy by TMA into shared memory needs the mbarrier that tells when it is there",
            fix="cute.copy(atom, src, dst, tma_bar_ptr=barrier)",
            id="TMA_BARRIER",
        )
    if atom.op.multicasts and mcast_mask is None:
        raise DSLUserCodeError(
            "a copy that multicasts needs the blocks it is for",
            fix="cute.copy(atom, src, dst, tma_bar_ptr=barrier, mcast_mask=mask)",
            id="TMA_MULTICAST",
        )
    descriptor = atom.map.ir() if tma_desc_ptr is None else _map_address(tma_desc_ptr)
    mask = mcast_mask if atom.op.multicasts else None
    for coord in _boxes(smem.shape, atom.count):
        at, offsets = atom.split(flatten_to_tuple(element_iterator(coords, coord)))
        place = element_iterator(smem, coord)
        with elect_one() if atom.op.elects else contextlib.nullcontext():
            if atom.op.loads:
                barrier = mbarrier.address_of(tma_bar_ptr)
                tma.load_box(place.address, descriptor, at, barrier, cache_policy, mask, offsets)
            elif isinstance(atom.op, CopyReduceBulkTensorTileS2GOp):
                kind = str(getattr(atom.op.reduction_kind, "name", atom.op.reduction_kind)).lower()
                tma.reduce_box(descriptor, at, place.address, kind, cache_policy)
            else:
                tma.store_box(descriptor, at, place.address, cache_policy, is_column=atom.op.takes_columns)


def prefetch(atom: TmaAtom, src: Tensor) -> None:
    """Bring the boxes of a partitioned tensor that an atom would load into the L2 cache.

    PTX ISA: cp.async.bulk.prefetch.tensor. Raises DSLUserCodeError for atoms that store, and DSLUserCodeTypeError for
    what is not a tensor of the atom's coordinates.
    """
    if not require_atom(atom).op.loads:
        raise DSLUserCodeError(
            f"an atom of {type(atom.op).__name__} loads nothing that could be fetched before",
            fix="cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), ...)",
        )
    extents = [lay.size(mode) for mode in wrap(src.shape)] if isinstance(src, Tensor) else []
    if not extents or isinstance(src.iterator, Pointer) or not all(isinstance(n, int) for n in extents):
        raise DSLUserCodeTypeError(
            "prefetch takes a tensor of TMA coordinates with static extents, got "
            f"{text(src.shape) if isinstance(src, Tensor) else type_name(src)}",
            fix="tma_partition's second tensor, sliced to the tiles: `tAgA[(None, i, j)]`",
        )
    for coord in _boxes(src.shape, atom.count):
        with elect_one() if atom.op.elects else contextlib.nullcontext():
            at, offsets = atom.split(flatten_to_tuple(element_iterator(src, coord)))
            tma.prefetch_box(atom.map.ir(), at, None, offsets)


def _check_sides(atom: TmaAtom, coords: Any, smem: Any) -> None:
    names = ("source", "destination") if atom.op.loads else ("destination", "source")
    if not isinstance(coords, Tensor) or isinstance(coords.iterator, Pointer):
        raise DSLUserCodeTypeError(
            f"{names[0]} of a copy by TMA must be a tensor of TMA coordinates, got {type_name(coords)}",
            fix="tma_partition's second tensor, of what make_tiled_tma_atom gave",
        )
    if not isinstance(smem, Tensor) or smem.pointer().space != AddressSpace.smem:
        raise DSLUserCodeTypeError(
            f"{names[1]} of a copy by TMA must be in shared memory, got {type_name(smem)}",
            fix="tma_partition's first tensor",
        )
    sizes = [[lay.size(mode) for mode in wrap(t.shape)] for t in (coords, smem)]
    if not all(isinstance(n, int) for n in sizes[0]) or sizes[0] != sizes[1]:
        raise DSLUserCodeError(
            f"a copy by TMA needs as many elements in each mode, got coordinates of {text(coords.shape)} and "
            f"shared memory of {text(smem.shape)}",
            fix="slice both to one tile: `tAgA[(None, i, j)]`, `tAsA[(None, stage)]`",
        )
    if sizes[0][0] % atom.count:
        raise DSLUserCodeError(
            f"the atom copies boxes of {atom.count} elements, but the first mode has {sizes[0][0]}",
            fix="partition both tensors by cpasync.tma_partition",
        )


def _boxes(shape: Any, count: int) -> Iterator[Any]:
    """The start indices of the boxes: one index a mode, the first counting in steps of `count`."""
    extents = [lay.size(mode) for mode in wrap(shape)]
    for rest in cross(*(range(extent) for extent in reversed(extents[1:]))):
        for first in range(0, extents[0], count):
            yield (first, *reversed(rest)) if isinstance(shape, tuple) else first


def create_tma_multicast_mask(cta_layout_vmnk: Layout, cta_coord_vmnk: Any, mcast_mode: int) -> Int16:
    """A bit for each block of the cluster (V, M, N, K) that differs from `cta_coord_vmnk` in mode `mcast_mode` only."""
    return make_layout_image_mask(cta_layout_vmnk, cta_coord_vmnk, mcast_mode)


def _map_address(pointer: Any) -> mlir.Value:
    """The address of a tensor map in global memory, for instructions that take it as a generic one."""
    if not isinstance(pointer, Pointer) or pointer.space not in (AddressSpace.gmem, AddressSpace.generic):
        raise DSLUserCodeTypeError(
            f"tma_desc_ptr must be a pointer to a tensor map in global memory, got {type_name(pointer)}",
            fix="TensorMapManager.get_tensormap_ptr(tensor.iterator)",
        )
    return mlir.result("llvm.inttoptr", mlir.ptr(), pointer.toint().ir())
