"""Tilings: a layout divided into tiles, and a block repeated into a layout (CuTe's divide and product families)."""

from __future__ import annotations

from typing import Any

from dsl.layout import int_tuple
from dsl.layout.algebra import Tiler, by_mode, coalesce, complement, composition, right_inverse
from dsl.layout.int_tuple import IntTuple, LayoutError, mode_products, mul, text, wrap
from dsl.layout.layout import ComposedLayout, Layout, append, cosize, get, make_layout, rank, size
from dsl.layout.making import make_ordered_layout

# --- divide ---------------------------------------------------------------------------------------------------------


def ceil_div(input: Any, tiler: Tiler) -> IntTuple:
    """How many tiles cover the target, mode by mode; the rest mode of logical_divide."""
    if isinstance(tiler, Layout):
        return complement(tiler, input).shape
    if isinstance(tiler, tuple) and isinstance(input, tuple) and len(tiler) <= len(input):
        return (*map(ceil_div, input, tiler), *input[len(tiler) :])
    return int_tuple.ceil_div(input, tiler)


def logical_divide(target: Any, tiler: Tiler) -> Any:
    """(tile, rest): the elements the tiler points at, and the layout that repeats them over the target."""
    if isinstance(target, ComposedLayout):
        return target.with_outer(logical_divide(target.outer, tiler))
    if tiler is None:
        return target
    if isinstance(tiler, tuple):
        return by_mode(logical_divide, target, tiler, "logical_divide")
    tiler = tiler if isinstance(tiler, Layout) else make_layout(tiler)
    return composition(target, make_layout((tiler, complement(tiler, coalesce(target).shape))))


def _unzip(x: Any, tiler: Tiler, name: str) -> tuple:
    """The (tile, rest) pairs of `x` at the leaves of the tiler, gathered as (tiles, rests)."""
    if isinstance(tiler, tuple):
        pairs = [_unzip(mode, t, name) for mode, t in zip(x, tiler, strict=False)]
        return tuple(p[0] for p in pairs), (*(p[1] for p in pairs), *x[len(tiler) :])
    if tiler is None:
        raise LayoutError(f"{name}: a tiler mode is None, which has no rest", "give the extent of that mode")
    return x[0], x[1]


def _zip_layout(layout: Layout, tiler: Tiler, name: str) -> Layout:
    return Layout(_unzip(layout.shape, tiler, name), _unzip(layout.stride, tiler, name))


def _open(layout: Any, *, first: bool) -> Any:
    """((tile...), (rest...)) with the modes of the rest, and of the tile too if `first`, on the top level."""
    if isinstance(layout, ComposedLayout):
        return layout.with_outer(_open(layout.outer, first=first))

    def spread(x: Any) -> tuple:
        return (*(wrap(x[0]) if first else (x[0],)), *wrap(x[1]))

    return Layout(spread(layout.shape), spread(layout.stride))


def zipped_divide(target: Any, tiler: Tiler) -> Any:
    """((tile modes), (rest modes))."""
    if isinstance(target, ComposedLayout):
        return target.with_outer(zipped_divide(target.outer, tiler))
    return _zip_layout(logical_divide(target, tiler), tiler, "zipped_divide")


def tiled_divide(target: Any, tiler: Tiler) -> Any:
    """((tile modes), rest mode, rest mode, ...)."""
    return _open(zipped_divide(target, tiler), first=False)


def flat_divide(target: Any, tiler: Tiler) -> Any:
    """(tile mode, ..., rest mode, ...)."""
    return _open(zipped_divide(target, tiler), first=True)


# --- product --------------------------------------------------------------------------------------------------------


def logical_product(block: Any, tiler: Tiler) -> Any:
    """(block, repeats): the block repeated as the tiler gives it, each repeat on its own indices."""
    if isinstance(block, ComposedLayout):
        return block.with_outer(logical_product(block.outer, tiler))
    if tiler is None:
        return block
    if isinstance(tiler, tuple):
        return by_mode(logical_product, block, tiler, "logical_product")
    tiler = tiler if isinstance(tiler, Layout) else make_layout(tiler)
    free = complement(block, mul(size(block), cosize(tiler)))
    return make_layout((block, composition(free, tiler)))


def zipped_product(block: Any, tiler: Tiler) -> Any:
    """((block modes), (repeat modes))."""
    if isinstance(block, ComposedLayout):
        return block.with_outer(zipped_product(block.outer, tiler))
    return _zip_layout(logical_product(block, tiler), tiler, "zipped_product")


def tiled_product(block: Any, tiler: Tiler) -> Any:
    """((block modes), repeat mode, repeat mode, ...)."""
    return _open(zipped_product(block, tiler), first=False)


def flat_product(block: Any, tiler: Tiler) -> Any:
    """(block mode, ..., repeat mode, ...)."""
    return _open(zipped_product(block, tiler), first=True)


def _ranked_product(block: Any, tiler: Layout, *, raked: bool) -> Any:
    """The modes of block and repeats zipped, (block, repeat) or, raked, (repeat, block) in each."""
    if isinstance(block, ComposedLayout):
        return block.with_outer(_ranked_product(block.outer, tiler, raked=raked))
    count = max(rank(block), rank(tiler))
    one = Layout(1, 0)
    both = logical_product(append(block, one, count), append(tiler, one, count))
    inner, outer = (both[1], both[0]) if raked else (both[0], both[1])
    if count == 1 and not (isinstance(block.shape, tuple) and isinstance(tiler.shape, tuple)):
        modes = make_layout((make_layout((inner, outer)),))
    else:
        modes = make_layout(tuple(make_layout((get(inner, i), get(outer, i))) for i in range(count)))
    return coalesce(modes, target_profile=(1,) * count) if raked else modes


def blocked_product(block: Any, tiler: Layout) -> Any:
    """Blocks laid side by side in each mode: mode i is (block mode i, repeat mode i)."""
    return _ranked_product(block, tiler, raked=False)


def raked_product(block: Any, tiler: Layout) -> Any:
    """Blocks interleaved in each mode: mode i is (repeat mode i, block mode i), coalesced."""
    return _ranked_product(block, tiler, raked=True)


def tile_to_shape(atom: Any, trg_shape: IntTuple, order: IntTuple | None = None) -> Any:
    """The atom repeated to cover `trg_shape`, over its modes by increasing `order` (column-major without one)."""
    if isinstance(atom, ComposedLayout):
        return atom.with_outer(tile_to_shape(atom.outer, trg_shape, order))
    count = len(wrap(trg_shape))
    if rank(atom.shape) > count:
        raise LayoutError(
            f"tile_to_shape: {atom} has more modes than the shape {text(trg_shape)}",
            fix="give the atom at most as many modes as the shape",
        )
    padded = append(atom, Layout(1, 0), count)
    repeats = int_tuple.ceil_div(mode_products(trg_shape), mode_products(padded.shape))
    return blocked_product(padded, make_ordered_layout(repeats, tuple(range(count)) if order is None else order))


def make_layout_tv(thr_layout: Layout, val_layout: Layout) -> tuple[tuple, Layout]:
    """The tile (extents by mode) that threads and their values cover together, and (thread, value) -> index in it.

    Each thread owns a block of the shape of `val_layout`; `thr_layout` defines where a thread's block is.
    """
    tile = raked_product(thr_layout, val_layout)
    layout_tv = composition(right_inverse(tile), make_layout((size(thr_layout), size(val_layout))))
    return mode_products(tile.shape), layout_tv
