"""Tiled mma: an mma atom repeated over the warps of a block, and each thread's part of the matrices.

`atom_layout_mnk` lays atoms side by side over M, N and K, each on its own threads; `permutation_mnk` gives the tile
of each mode and the order of elements in it. A thread's part of A (M, K, ...) has the shape (V, rest_m, rest_k, ...): V
values of one atom call. CuTe doc: 0x_gemm_tutorial, TiledMMA.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.phrase import shown
from dsl.layout import ComposedLayout, Layout, make_layout
from dsl.layout.int_tuple import product, text
from dsl.tile.mma.mma import MmaAtom, MmaOperation, make_mma_atom
from dsl.tile.tensor.constant import OneThread
from dsl.tile.tensor.index import as_index
from dsl.tile.tensor.modes import slice_
from dsl.tile.tensor.tensor import Tensor, inside

_MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}


@dataclass(frozen=True)
class TiledMma(MmaAtom):
    """An mma atom with the layout of atoms over threads and the tile of each mode."""

    atom_layout_mnk: Layout
    permutation_mnk: tuple

    @property
    def thr_layout_vmnk(self) -> Layout:
        """(thread of the atom, atom along M, along N, along K) -> thread of the block."""
        return lay.tiled_product(self.thr_id, self.atom_layout_mnk)

    @property
    def size(self) -> int:
        """The number of threads."""
        return lay.size(self.thr_layout_vmnk)

    def get_tile_size(self, mode_idx: int) -> int:
        """The extent of the tile in mode M (0), N (1) or K (2)."""
        if mode_idx not in (0, 1, 2) or not isinstance(mode_idx, int):
            raise DSLUserCodeValueError(
                f"mode_idx of get_tile_size must be 0, 1 or 2, got {shown(mode_idx)}", fix="0 is M, 1 is N and 2 is K"
            )
        permutation = self.permutation_mnk[mode_idx]
        if permutation is not None:
            return lay.size(permutation)
        return self.shape_mnk[mode_idx] * lay.size(self.thr_layout_vmnk, mode_idx + 1)

    @property
    def tv_layout_A_tiled(self) -> Layout:
        """(thread, (V, rest)) -> index in the tile (M, K)."""
        return self._tiled("A")

    @property
    def tv_layout_B_tiled(self) -> Layout:
        """(thread, (V, rest)) -> index in the tile (N, K)."""
        return self._tiled("B")

    @property
    def tv_layout_C_tiled(self) -> Layout:
        """(thread, (V, rest)) -> index in the tile (M, N)."""
        return self._tiled("C")

    def _tiled(self, name: str) -> Layout:
        modes = _MODES[name]
        parts = self._parts(make_layout(tuple(map(self.get_tile_size, modes))), name)
        vmnk = self.thr_layout_vmnk
        m, n = lay.size(vmnk, 1), lay.size(vmnk, 2)
        if name != "C":  # threads that differ in the other mode hold the same
            by_atom = make_layout((m, n), stride=(1, 0) if name == "A" else (0, 1))
            parts = lay.composition(parts, ((None, (by_atom, None)), None))
        inverse = lay.right_inverse(make_layout((vmnk, lay.complement(vmnk))))
        threads = lay.composition(make_layout((lay.size(vmnk), 1)), inverse)
        return lay.composition(parts, (threads, None))

    def _parts(self, layout: Any, name: str) -> Any:
        """((thread of atom, (atoms, atoms)), (V, (rest, rest, ...))) -> index, of a tensor with the modes of `name`."""
        if isinstance(layout, ComposedLayout):
            return layout.with_outer(self._parts(layout.outer, name))
        modes, tv = _MODES[name], getattr(self, f"tv_layout_{name}")
        tiled = lay.logical_divide(layout, tuple(self.permutation_mnk[mode] for mode in modes))
        atoms = lay.zipped_divide(tiled, tuple(make_layout(self.shape_mnk[mode]) for mode in modes))
        by_thread = lay.composition(atoms, (tv, None))
        threads = tuple(make_layout(lay.size(self.thr_layout_vmnk, mode + 1)) for mode in modes)
        rest = lay.logical_divide(by_thread[1], threads)
        thread = make_layout((by_thread[0][0], make_layout((rest[0][0], rest[1][0]))))
        others = tuple(rest[i] for i in range(2, lay.rank(rest)))
        return make_layout((thread, make_layout((by_thread[0][1], make_layout((rest[0][1], rest[1][1], *others))))))

    def partition_shape_A(self, shape_mk: Any) -> tuple:
        """The shape (V, rest_m, rest_k) of a thread's part of A (M, K)."""
        return self._shape(shape_mk, "A")

    def partition_shape_B(self, shape_nk: Any) -> tuple:
        """The shape (V, rest_n, rest_k) of a thread's part of B (N, K)."""
        return self._shape(shape_nk, "B")

    def partition_shape_C(self, shape_mn: Any) -> tuple:
        """The shape (V, rest_m, rest_n) of a thread's part of C (M, N)."""
        return self._shape(shape_mn, "C")

    def _shape(self, shape: Any, name: str) -> tuple:
        shape, modes = as_index(shape), _MODES[name]
        what = f"partition_shape_{name}"
        _check_rank(shape, name, what)
        tile = tuple(map(self.get_tile_size, modes))
        for extent, step in zip(shape, tile):
            if isinstance(lay.size(extent), int) and lay.size(extent) % step:
                raise DSLUserCodeValueError(
                    f"{what}: the shape must be a multiple of the tile {text(tile)}, got {text(shape)}",
                    fix=f"a multiple of {step} for {text(extent)}",
                )
        values, rest = self._parts(make_layout(shape), name)[1].shape
        return (values, *map(product, rest))

    def _thread(self, thr_idx: Any) -> Any:
        return inside(thr_idx, self.size, lambda: f"the tiled mma has {self.size} threads")

    def get_slice(self, thr_idx: Any) -> ThrMma:
        """The part of thread `thr_idx`."""
        return ThrMma(self.op, self.atom_layout_mnk, self.permutation_mnk, self._thread(thr_idx), fields=self.fields)

    def __str__(self) -> str:
        permutation = ",".join("_" if each is None else str(each) for each in self.permutation_mnk)
        return "\n".join(
            (
                "Tiled MMA",
                f"  Thr Layout VMNK: {self.thr_layout_vmnk}",
                f"  Permutation MNK: ({permutation})",
                "MMA Atom",
                *self._rows(8),
            )
        )


@dataclass(frozen=True)
class ThrMma(OneThread, TiledMma):
    """One thread's view of a tiled mma."""

    thr_idx: Any

    def partition_A(self, input_mk: Tensor) -> Tensor:
        """This thread's part of A (M, K, ...): (V, rest_m, rest_k, ...)."""
        return self._partition(input_mk, "A")

    def partition_B(self, input_nk: Tensor) -> Tensor:
        """This thread's part of B (N, K, ...): (V, rest_n, rest_k, ...)."""
        return self._partition(input_nk, "B")

    def partition_C(self, input_mn: Tensor) -> Tensor:
        """This thread's part of C (M, N, ...): (V, rest_m, rest_n, ...)."""
        return self._partition(input_mn, "C")

    def _partition(self, tensor: Tensor, name: str) -> Tensor:
        what = f"partition_{name}"
        if not isinstance(tensor, Tensor):
            raise DSLUserCodeTypeError(
                f"{what} takes a tensor, got {type(tensor).__name__}", fix="cute.make_tensor(pointer, layout) makes one"
            )
        _check_rank(tensor.shape, name, what)
        parts = tensor.with_layout(self._parts(tensor.layout, name))
        place = self.thr_layout_vmnk.get_flat_coord(self.thr_idx)
        first, second = (place[mode + 1] for mode in _MODES[name])
        return slice_(parts, ((place[0], (first, second)), (None, (None,) * lay.rank(parts, (1, 1)))))


def _check_rank(shape: Any, name: str, what: str) -> None:
    if not isinstance(shape, tuple) or len(shape) < 2:
        modes = "".join("MNK"[mode] for mode in _MODES[name])
        raise DSLUserCodeError(
            f"{what}: {name} must have the modes {modes[0]} and {modes[1]}, got {text(shape)}",
            fix=f"give it the shape ({modes[0]}, {modes[1]})",
        )


def make_tiled_mma(op_or_atom: Any, atom_layout_mnk: Any = (1, 1, 1), permutation_mnk: Any = None) -> TiledMma:
    """An mma operation or atom, repeated over threads by `atom_layout_mnk` (a layout or shape of three modes).

    `permutation_mnk` has an extent, a layout or None for each of M, N and K: what the tile covers in that mode.
    """
    if not isinstance(op_or_atom, (MmaAtom, MmaOperation)):
        raise DSLUserCodeTypeError(
            f"a tiled mma takes an mma operation or atom, got {type(op_or_atom).__name__}",
            fix="cute.make_tiled_mma(warp.MmaF16BF16Op(...), (2, 2, 1))",
        )
    atom = op_or_atom if isinstance(op_or_atom, MmaAtom) else make_mma_atom(op_or_atom)
    layout = atom_layout_mnk if isinstance(atom_layout_mnk, Layout) else make_layout(as_index(atom_layout_mnk))
    if lay.rank(layout) != 3 or not isinstance(layout.shape, tuple) or not lay.is_static(layout):
        raise DSLUserCodeValueError(
            f"atom layout of a tiled mma must be static with three modes M, N and K, got {layout}",
            fix="(2, 2, 1) is two atoms along M and two along N",
        )
    tiles = (None, None, None) if permutation_mnk is None else permutation_mnk
    if not isinstance(tiles, tuple) or len(tiles) != 3:
        raise DSLUserCodeTypeError(
            "permutation_mnk must have an extent, a layout or None for each of M, N and K, got "
            f"{text(tiles) if isinstance(tiles, (int, tuple)) else tiles}",
            fix="(32, 32, 16), for example",
        )
    return TiledMma(atom.op, layout, tuple(map(_as_tile, tiles)), fields=atom.op.fields)


def _as_tile(tile: Any) -> Layout | None:
    return tile if tile is None or isinstance(tile, Layout) else make_layout(as_index(tile))
