"""Tiled copies: a copy atom repeated over the threads of a block, and each thread's part of a tensor.

A tiled copy has a TV layout, (thread, value) -> index in a tile, and the tile's extents by mode. A thread's part of a
tensor of shape (M, N, ...) has the shape ((V, rest_v), rest_m, rest_n, ...): V values one atom call moves, rest_v calls
a tile, and the tiles. CuTe doc: 0x_gemm_tutorial, TiledCopy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.layout import Layout, make_layout
from dsl.layout.int_tuple import text, wrap
from dsl.tile.atom import CopyAtom
from dsl.tile.modes import as_tiler, slice_
from dsl.tile.tensor import Tensor, as_index


@dataclass(frozen=True)
class TiledCopy(CopyAtom):
    """A copy atom with the layout of threads and values over a tile."""

    layout_tv_tiled: Layout
    tiler_mn: tuple

    @property
    def size(self) -> int:
        """The number of threads."""
        return lay.size(self.layout_tv_tiled, 0)

    @property
    def layout_src_tv_tiled(self) -> Layout:
        """(thread, (V, rest_v)) -> index in the tile."""
        count = self.count
        divided = lay.zipped_divide(self.layout_tv_tiled, (1, count))
        zipped = make_layout(tuple(make_layout((divided[0][i], divided[1][i])) for i in (0, 1)))
        return lay.coalesce(zipped, target_profile=(1, (1, 1)))

    layout_dst_tv_tiled = layout_src_tv_tiled

    def get_slice(self, thr_idx: Any) -> ThrCopy:
        """The part of thread `thr_idx`."""
        return ThrCopy(self.op, self.value_type, self.num_bits_per_copy, self.layout_tv_tiled, self.tiler_mn,
                       as_index(thr_idx))

    def retile(self, src: Tensor) -> Tensor:
        """A thread's fragment, made for another tiled copy of the same tile, in this one's ((V, rest_v), ...) shape."""
        _check_fragment(src)
        vector = lay.size(src, 0)
        by_tile = lay.composition(lay.right_inverse(self.layout_tv_tiled), make_layout(_extents(self.tiler_mn)))
        order = lay.recast_layout(self.size * vector, 1, by_tile)
        values = lay.zipped_divide(lay.logical_product(make_layout(vector), lay.right_inverse(order)),
                                   make_layout(self.count))
        tiles = lay.zipped_divide(src.layout, (vector, *lay.product_each(order.shape)))
        retiled = src.with_layout(lay.composition(tiles, (values, None)))
        return slice_(retiled, (None, (0, *(None,) * (lay.rank(src) - 1))))


@dataclass(frozen=True)
class ThrCopy(TiledCopy):
    """One thread's view of a tiled copy."""

    thr_idx: Any

    def partition_S(self, src: Tensor) -> Tensor:  # noqa: N802 (CuTe's name)
        """This thread's part of the source: ((V, rest_v), rest_m, rest_n, ...)."""
        return self._partition(src, self.layout_src_tv_tiled, "partition_S")

    def partition_D(self, dst: Tensor) -> Tensor:  # noqa: N802 (CuTe's name)
        """This thread's part of the destination: ((V, rest_v), rest_m, rest_n, ...)."""
        return self._partition(dst, self.layout_dst_tv_tiled, "partition_D")

    def _partition(self, tensor: Tensor, layout_tv: Layout, what: str) -> Tensor:
        if not isinstance(tensor, Tensor):
            raise DSLUserCodeTypeError(f"{what} takes a tensor, and this is a {type(tensor).__name__}",
                                       fix="cute.make_tensor(pointer, layout) makes one")
        if lay.rank(tensor) < len(self.tiler_mn):
            raise DSLUserCodeError(f"{what}: the tile has {len(self.tiler_mn)} modes, and the tensor is "
                                   f"{text(tensor.shape)}", fix="give the tensor as many modes as the tile")
        tiles = lay.zipped_divide(tensor.layout, self.tiler_mn)
        parts = tensor.with_layout(lay.composition(tiles, (layout_tv, None)))
        rest = lay.rank(tiles, 1)
        return slice_(parts, ((self.thr_idx, None), (None,) * rest if rest > 1 else None))


def _extents(tiler: tuple) -> tuple:
    return tuple(lay.size(mode) for mode in tiler)


def _check_fragment(src: Any) -> None:
    if not isinstance(src, Tensor) or not lay.is_static(src.layout) or lay.rank(src) < 2:
        shown = text(src.shape) if isinstance(src, Tensor) else type(src).__name__
        raise DSLUserCodeError(f"retile takes a static fragment of shape ((V, rest_v), rest...), and this is {shown}",
                               fix="retile what partition_S, partition_D or a fragment like them gave")


def make_tiled_copy(atom: CopyAtom, layout_tv: Layout, tiler_mn: Any) -> TiledCopy:
    """A tiled copy from its TV layout, (thread, value) -> index in the tile `tiler_mn`."""
    if not isinstance(atom, CopyAtom):
        raise DSLUserCodeTypeError(f"a tiled copy is made of a copy atom, and this is a {type(atom).__name__}",
                                   fix="cute.make_copy_atom(op, dtype) makes one")
    tiler = wrap(as_tiler(tiler_mn))
    if not isinstance(layout_tv, Layout) or not lay.is_static(layout_tv) or lay.rank(layout_tv) != 2:
        raise DSLUserCodeError(f"a TV layout is static and has the modes thread and value, and this is {layout_tv}",
                               fix="make it with cute.make_layout_tv(thr_layout, val_layout)")
    values = lay.size(layout_tv, 1)
    if values % atom.count:
        raise DSLUserCodeError(f"the atom copies {atom.count} values at once, and a thread has {values}",
                               fix=f"give each thread a multiple of {atom.count} values, or the atom fewer bits")
    return TiledCopy(atom.op, atom.value_type, atom.num_bits_per_copy, layout_tv, tiler)


def make_tiled_copy_tv(atom: CopyAtom, thr_layout: Layout, val_layout: Layout) -> TiledCopy:
    """A tiled copy in which each thread of `thr_layout` owns a block of the shape of `val_layout`."""
    tiler, layout_tv = lay.make_layout_tv(thr_layout, val_layout)
    return make_tiled_copy(atom, layout_tv, tiler)
