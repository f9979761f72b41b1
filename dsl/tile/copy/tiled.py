"""Tiled copies: a copy atom repeated over the threads of a block, and each thread's part of a tensor.

A tiled copy has a TV layout, (thread, value) -> index in a tile, and the tile by mode: extents, or layouts. A
thread's part of a tensor of shape (M, N, ...) has the shape ((V, rest_v), rest_m, rest_n, ...): V values one atom
call moves, rest_v calls a tile, and the tiles. CuTe doc: 0x_gemm_tutorial, TiledCopy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.layout import Layout, make_layout
from dsl.layout.int_tuple import text, wrap
from dsl.tile.copy.atom import CopyAtom
from dsl.tile.mma.tiled_mma import TiledMma
from dsl.tile.tensor.constant import OneThread
from dsl.tile.tensor.modes import as_tiler, slice_
from dsl.tile.tensor.tensor import Tensor, inside


@dataclass(frozen=True)
class TiledCopy(CopyAtom):
    """A copy atom with the layout of threads and values over a tile."""

    layout_tv_tiled: Layout
    tile_mn: tuple

    @property
    def tiler_mn(self) -> tuple[Layout, ...]:
        """The tile as a layout a mode."""
        return tuple(each if isinstance(each, Layout) else make_layout(each) for each in self.tile_mn)

    @property
    def size(self) -> int:
        """The number of threads."""
        return lay.size(self.layout_tv_tiled, 0)

    @property
    def layout_src_tv_tiled(self) -> Layout:
        """(thread, (V, rest_v)) -> index in the tile, where elements are read."""
        return self._by_call(self.layout_src_tv)

    @property
    def layout_dst_tv_tiled(self) -> Layout:
        """(thread, (V, rest_v)) -> index in the tile, where elements are written."""
        return self._by_call(self.layout_dst_tv)

    def _by_call(self, layout_tv: Layout) -> Layout:
        """The tile by threads and calls, of one side: `layout_tv` of the atom, in the place of the registers' side."""
        reference = self.layout_ref_tv
        divided = lay.zipped_divide(self.layout_tv_tiled, lay.mode_products(reference.shape))
        parts = lay.composition(divided, (lay.composition(lay.right_inverse(reference), layout_tv), None))
        zipped = make_layout(tuple(make_layout((parts[0][i], parts[1][i])) for i in (0, 1)))
        return lay.coalesce(zipped, target_profile=(1, (1, 1)))

    def __str__(self) -> str:
        tiler = ",".join(map(str, self.tiler_mn))
        return "\n".join(
            (
                "Tiled Copy",
                f"  Tiler MN:        ({tiler})",
                f"  TV Layout tiled: {self.layout_tv_tiled}",
                "Copy Atom",
                *self._rows(17),
            )
        )

    def _thread(self, thr_idx: Any) -> Any:
        return inside(thr_idx, self.size, lambda: f"the tiled copy has {self.size} threads")

    def get_slice(self, thr_idx: Any) -> ThrCopy:
        """The part of thread `thr_idx`."""
        return ThrCopy(
            self.op, self.value_type, self.num_bits_per_copy, self.layout_tv_tiled, self.tile_mn, self._thread(thr_idx)
        )

    def retile(self, src: Tensor) -> Tensor:
        """A thread's fragment, made for another tiled copy of the same tile, in this one's ((V, rest_v), ...) shape."""
        _check_fragment(src)
        vector = lay.size(src, 0)
        by_tile = lay.composition(lay.right_inverse(self.layout_tv_tiled), make_layout(_extents(self.tile_mn)))
        order = lay.recast_layout(self.size * vector, 1, by_tile)
        values = lay.zipped_divide(
            lay.logical_product(make_layout(vector), lay.right_inverse(order)), make_layout(self.count)
        )
        tiles = lay.zipped_divide(src.layout, (vector, *lay.mode_products(order.shape)))
        retiled = src.with_layout(lay.composition(tiles, (values, None)))
        return slice_(retiled, (None, (0, *(None,) * (lay.rank(src) - 1))))


@dataclass(frozen=True)
class ThrCopy(OneThread, TiledCopy):
    """One thread's view of a tiled copy."""

    thr_idx: Any

    def partition_S(self, src: Tensor) -> Tensor:
        """This thread's part of the source: ((V, rest_v), rest_m, rest_n, ...)."""
        return self._partition(src, self.layout_src_tv_tiled, "partition_S")

    def partition_D(self, dst: Tensor) -> Tensor:
        """This thread's part of the destination: ((V, rest_v), rest_m, rest_n, ...)."""
        return self._partition(dst, self.layout_dst_tv_tiled, "partition_D")

    def _partition(self, tensor: Tensor, layout_tv: Layout, what: str) -> Tensor:
        if not isinstance(tensor, Tensor):
            raise DSLUserCodeTypeError(
                f"{what} takes a tensor, got {type(tensor).__name__}", fix="cute.make_tensor(pointer, layout) makes one"
            )
        if lay.rank(tensor) < len(self.tile_mn):
            raise DSLUserCodeError(
                f"{what}: the tile has {len(self.tile_mn)} modes, but the tensor is {text(tensor.shape)}",
                fix="give the tensor as many modes as the tile",
            )
        tiles = lay.zipped_divide(tensor.layout, self.tile_mn)
        parts = tensor.with_layout(lay.composition(tiles, (layout_tv, None)))
        rest = lay.rank(tiles, 1)
        return slice_(parts, ((self.thr_idx, None), (None,) * rest if rest > 1 else None))


def _extents(tiler: tuple) -> tuple:
    return tuple(lay.size(mode) for mode in tiler)


def _check_fragment(src: Any) -> None:
    if not isinstance(src, Tensor) or not lay.is_static(src.layout) or lay.rank(src) < 2:
        shown = text(src.shape) if isinstance(src, Tensor) else type(src).__name__
        raise DSLUserCodeError(
            f"retile takes a static fragment of shape ((V, rest_v), rest...), got {shown}",
            fix="retile what partition_S, partition_D or a fragment like them gave",
        )


def make_tiled_copy(atom: CopyAtom, layout_tv: Layout, tiler_mn: Any) -> TiledCopy:
    """A tiled copy from its TV layout, (thread, value) -> index in the tile `tiler_mn`."""
    if not isinstance(atom, CopyAtom):
        raise DSLUserCodeTypeError(
            f"a tiled copy takes a copy atom, got {type(atom).__name__}", fix="cute.make_copy_atom(op, dtype) makes one"
        )
    tiler = wrap(as_tiler(tiler_mn))
    if not isinstance(layout_tv, Layout) or not lay.is_static(layout_tv) or lay.rank(layout_tv) != 2:
        raise DSLUserCodeError(
            f"a TV layout must be static and have the modes thread and value, got {layout_tv}",
            fix="make it with cute.make_layout_tv(thr_layout, val_layout)",
        )
    values = lay.size(layout_tv, 1)
    threads, at_once = lay.size(layout_tv, 0), lay.size(atom.thr_id)
    if threads % at_once:
        raise DSLUserCodeError(
            f"the atom is one instruction of {at_once} threads, but the TV layout has {threads}",
            fix=f"a multiple of {at_once} threads",
        )
    if values % atom.count:
        raise DSLUserCodeError(
            f"the atom copies {atom.count} values at once, but a thread has {values}",
            fix=f"give each thread a multiple of {atom.count} values, or the atom fewer bits",
        )
    return TiledCopy(atom.op, atom.value_type, atom.num_bits_per_copy, layout_tv, tiler)


def make_tiled_copy_tv(atom: CopyAtom, thr_layout: Layout, val_layout: Layout) -> TiledCopy:
    """A tiled copy in which each thread of `thr_layout` owns a block of the shape of `val_layout`."""
    tiler, layout_tv = lay.make_layout_tv(thr_layout, val_layout)
    return make_tiled_copy(atom, layout_tv, tiler)


# --- tiled copies that fit a tiled mma, or one another ----------------------------------------------------------------


def _of_mma(atom: CopyAtom, tiled_mma: TiledMma, name: str, modes: tuple[int, int]) -> TiledCopy:
    if not isinstance(tiled_mma, TiledMma):
        raise DSLUserCodeTypeError(
            f"make_tiled_copy_{name} takes a tiled mma, got {type(tiled_mma).__name__}",
            fix="cute.make_tiled_mma(op, atom_layout_mnk) makes one",
        )
    tiler = tuple(make_layout(tiled_mma.get_tile_size(mode)) for mode in modes)
    return make_tiled_copy(atom, getattr(tiled_mma, f"tv_layout_{name}_tiled"), tiler)


def make_tiled_copy_A(atom: CopyAtom, tiled_mma: TiledMma) -> TiledCopy:
    """A tiled copy whose threads own the elements of A that they own in `tiled_mma`."""
    return _of_mma(atom, tiled_mma, "A", (0, 2))


def make_tiled_copy_B(atom: CopyAtom, tiled_mma: TiledMma) -> TiledCopy:
    """A tiled copy whose threads own the elements of B that they own in `tiled_mma`."""
    return _of_mma(atom, tiled_mma, "B", (1, 2))


def make_tiled_copy_C(atom: CopyAtom, tiled_mma: TiledMma) -> TiledCopy:
    """A tiled copy whose threads own the elements of C that they own in `tiled_mma`."""
    return _of_mma(atom, tiled_mma, "C", (0, 1))


def make_tiled_copy_S(atom: CopyAtom, tiled_copy: TiledCopy) -> TiledCopy:
    """A tiled copy with the threads and values that the source of `tiled_copy` has."""
    return make_tiled_copy(atom, tiled_copy.layout_src_tv_tiled, tiled_copy.tile_mn)


def make_tiled_copy_D(atom: CopyAtom, tiled_copy: TiledCopy) -> TiledCopy:
    """A tiled copy with the threads and values that the destination of `tiled_copy` has."""
    return make_tiled_copy(atom, tiled_copy.layout_dst_tv_tiled, tiled_copy.tile_mn)


def make_tiled_copy_C_atom(atom: CopyAtom, mma: TiledMma) -> TiledCopy:
    """The least tiled copy of C: of each thread's elements in `mma` only as many as one call of the atom moves."""
    whole, count = mma.tv_layout_C_tiled, lay.size(atom.layout_src_tv, 1)
    if count > lay.size(whole, 1):
        raise DSLUserCodeValueError(
            f"one call of the atom takes {count} elements of a thread, but the tiled mma gives each "
            f"{lay.size(whole, 1)} elements of C",
            fix="a permutation_mnk with a larger tile",
        )
    layout_tv = lay.composition(whole, make_layout((lay.size(whole, 0), count)))
    return _of_elements(atom, layout_tv, tuple(mma.get_tile_size(mode) for mode in (0, 1)))


def make_cotiled_copy(atom: CopyAtom, atom_layout_tv: Layout, data_layout: Layout) -> TiledCopy:
    """A tiled copy from offsets in memory: `atom_layout_tv` maps (thread, value) to an offset of `data_layout`.

    Raises DSLUserCodeError where the values of a thread are not elements of `data_layout`.
    """
    inverse = make_layout((lay.left_inverse(data_layout), Layout(1, 0)))
    layout_tv = lay.composition(inverse, atom_layout_tv)
    values = lay.composition(data_layout, layout_tv[1])
    if any(values(i) != atom_layout_tv[1](i) for i in range(lay.size(atom_layout_tv, 1))):
        raise DSLUserCodeError(
            f"the values {atom_layout_tv[1]} of a thread are not elements of {data_layout}",
            fix="give the values strides that the data layout has",
        )
    return _of_elements(atom, layout_tv, lay.mode_products(data_layout.shape))


def _of_elements(atom: CopyAtom, layout_tv: Layout, extents: tuple) -> TiledCopy:
    """The tiled copy of the elements of a tile of `extents` that `layout_tv`, (thread, value) -> index, names."""
    whole = make_layout(extents)
    tiler = tuple(
        lay.filter(
            lay.composition(make_layout(extents, stride=tuple(int(i == mode) for i in range(len(extents)))), layout_tv)
        )
        for mode in range(len(extents))
    )
    place = lay.left_inverse(lay.composition(whole, tiler))
    return make_tiled_copy(atom, lay.composition(place, layout_tv), tiler)
