"""Layout functions that also take tensors: the iterator stays (or moves with a slice), the layout changes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from dsl import layout as lay
from dsl.core.ir import mlir
from dsl.core.number.dtypes import numeric
from dsl.layout import ComposedLayout, Layout
from dsl.layout.coord import dice_tuple
from dsl.layout.int_tuple import mode_products, text, wrap
from dsl.tile.tensor.index import as_index
from dsl.tile.tensor.tensor import Tensor, checked_coord, inside, slice_tensor


def _on_layout(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of a layout or int tuple, extended to tensors through their layout."""
    first = next(iter(inspect.signature(function).parameters))

    @functools.wraps(function)
    def extended(*arguments: Any, **options: Any) -> Any:
        x = arguments[0] if arguments else options.get(first)
        if not isinstance(x, Tensor):
            return function(*arguments, **options)
        if arguments:
            return x.through(lambda t: t.with_layout(function(t.layout, *arguments[1:], **options)))
        return x.through(lambda t: t.with_layout(function(**{**options, first: t.layout})))

    return extended


def make_layout(shape: Any, *, stride: Any = None) -> Layout:
    """shape:stride, column-major compact without a stride; a tuple of layouts makes a layout with those modes.

    Extents and strides may be SSA values. Raises LayoutError for an extent below 1 and where both are not congruent.
    """
    return lay.make_layout(_numbers(shape), stride=_numbers(stride))


def _numbers(tree: Any) -> Any:
    """A shape or stride whose SSA values are numbers."""
    if isinstance(tree, tuple):
        return tuple(map(_numbers, tree))
    return numeric(tree) if isinstance(tree, mlir.Value) else tree


append_ones = _on_layout(lay.append_ones)
coalesce = _on_layout(lay.coalesce)
composition = _on_layout(lay.composition)
filter = _on_layout(lay.filter)
filter_zeros = _on_layout(lay.filter_zeros)
flat_divide = _on_layout(lay.flat_divide)
flatten = _on_layout(lay.flatten)
group_modes = _on_layout(lay.group_modes)
logical_divide = _on_layout(lay.logical_divide)
prepend_ones = _on_layout(lay.prepend_ones)
select = _on_layout(lay.select)
tiled_divide = _on_layout(lay.tiled_divide)
zipped_divide = _on_layout(lay.zipped_divide)


def get(x: Any, mode: Any = ()) -> Any:
    """One mode of a tuple, layout or tensor."""
    if isinstance(x, Tensor):
        return x.through(lambda t: t.with_layout(lay.get(t.layout, mode)))
    return lay.get(x, mode)


def slice_(src: Any, coord: Any) -> Any:
    """The modes where `coord` is None; of a tensor, starting where its integers point."""
    if isinstance(src, Tensor):
        return slice_tensor(src, checked_coord(coord, src))
    coord = as_index(coord)
    return lay.slice_and_offset(coord, src)[0] if isinstance(src, ComposedLayout) else lay.slice_(src, coord)


def _tile_at(x: Any, tiler: Any, tile_coord: Any, rest_coord: Any) -> Any:
    """Modes of zipped_divide picked by two coordinates, None for every mode of the side that is None."""
    divided = zipped_divide(x, tiler)
    tile_modes, rest_modes = wrap(divided.shape[0]), wrap(divided.shape[1])
    rest = inside(
        _padded(rest_coord, rest_modes),
        divided.shape[1],
        lambda: f"the tensor {text(x.shape)} has {text(divided.shape[1])} tiles",
    )
    return slice_(divided, (_padded(tile_coord, tile_modes), rest))


def _padded(coord: Any, modes: tuple) -> Any:
    if coord is None:
        return (None,) * len(modes)
    if isinstance(coord, tuple):
        return coord + (None,) * (len(modes) - len(coord))
    return coord


def _projected(x: Any, proj: Any) -> Any:
    """The modes of `x` where the projector is not None, and the modes past its end; all of them without one."""
    if proj is None or not isinstance(proj, tuple):
        return x
    modes = wrap(x)
    return (*dice_tuple(modes[: len(proj)], proj[: len(modes)]), *modes[len(proj) :])


def local_tile(input: Tensor, tiler: Any, coord: Any, proj: Any = None) -> Any:
    """The tile at `coord` of the tiling of a tensor: (tile modes..., rest modes where coord is None).

    `proj`, for example (1, None, 1), picks the modes of tiler and coord that this tensor has.
    """
    return _tile_at(input, _projected(as_tiler(tiler), proj), None, _projected(as_index(coord), proj))


def local_partition(target: Tensor, tiler: Layout, index: Any, proj: Any = 1) -> Any:
    """The elements of a tensor that thread `index` of the thread layout `tiler` owns, one of every tile: (rest...)."""
    threads = tiler if isinstance(tiler, Layout) else lay.make_layout(as_index(tiler))
    coord = threads.get_flat_coord(inside(index, threads.shape, lambda: f"the threads are {text(threads.shape)}"))
    tile = mode_products(threads.shape)
    return _tile_at(target, _projected(tile, proj), _projected(coord, proj), None)


def as_tiler(tiler: Any) -> Any:
    """A tiler with Python numbers in place of Numerics that hold them."""
    if isinstance(tiler, (tuple, list)):
        return tuple(map(as_tiler, tiler))
    return tiler if isinstance(tiler, Layout) else as_index(tiler)
