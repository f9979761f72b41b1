"""Layout: a function from coordinates to indices, given by a shape and a congruent stride. CuTe doc: 01_layout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from dsl.layout import coord as coords, int_tuple
from dsl.layout.coord import dice_tuple, slice_tuple
from dsl.layout.int_tuple import (
    Coord,
    IntTuple,
    LayoutError,
    Mode,
    ScaledBasis,
    add,
    divisor_of,
    equal,
    find,
    flatten_to_tuple,
    get_mode,
    group_tuple,
    is_congruent,
    is_constant,
    mul,
    prefix_product,
    product,
    quotient,
    remainder,
    shape_of,
    text,
    transform_leaf,
    wrap,
    zero_coord,
)


class Layout:
    """shape:stride, leaves static (int) or dynamic. Immutable; equal and hashed by its leaves."""

    __slots__ = ("shape", "stride")
    shape: IntTuple
    stride: IntTuple

    def __init__(self, shape: IntTuple, stride: IntTuple) -> None:
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "stride", stride)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Layout is immutable: cannot set {name}")

    def __call__(self, coord: Coord) -> Any:
        """The index of a coordinate (hierarchical, or a column-major index); a coordinate for basis strides.

        A coordinate with None gives the layout of the modes where it is None, as `slice_`.
        """
        return slice_(self, coord) if int_tuple.has_none(coord) else self.index_of(coord)

    def index_of(self, coord: Coord) -> Any:
        """The index of a coordinate, whose None counts 0."""
        index = coords.crd2idx(coord, self.shape, self.stride)
        zero = zero_coord(self.stride)
        return add(zero, index) if isinstance(zero, tuple) else index

    def __getitem__(self, mode: int) -> Layout:
        return get(self, mode)

    def __len__(self) -> int:
        return len(wrap(self.shape))

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and equal(self.shape, other.shape) and equal(self.stride, other.stride)

    def __hash__(self) -> int:
        return hash((text(self.shape), text(self.stride)))

    @property
    def type_text(self) -> str:
        """The type in an error: `Layout (4,2):(1,4)`."""
        return f"Layout {self}"

    def __str__(self) -> str:
        return f"{text(self.shape)}:{text(self.stride)}"

    __repr__ = __str__

    @property
    def max_alignment(self) -> int:
        """The most elements that follow each other from every multiple of that number; dynamic strides are taken for
        multiples of it."""
        modes = [
            (s, d)
            for s, d in zip(flatten_to_tuple(self.shape), flatten_to_tuple(self.stride), strict=True)
            if not is_constant(s, 1) and not is_constant(d, 0) and isinstance(d, int)
        ]
        run, others = 1, []
        for extent, stride in sorted(modes, key=lambda mode: mode[1]):
            if stride == run and stride > 0:
                run *= extent if isinstance(extent, int) else divisor_of(extent)
            else:
                others.append(stride)
        return math.gcd(run, *others)

    def get_hier_coord(self, idx: Any) -> Coord:
        """The hierarchical coordinate that has this index in the layout: (index // stride) % extent in each mode."""
        return transform_leaf(
            lambda s, d: 0 if is_constant(d, 0) or is_constant(s, 1) else remainder(quotient(idx, d), s),
            self.shape,
            self.stride,
        )

    def get_flat_coord(self, idx: Any) -> Coord:
        """The coordinate that has this index in the layout, one integer a mode."""
        coord = self.get_hier_coord(idx)
        if not isinstance(coord, tuple):
            return coord
        return tuple(coords.crd2idx(c, s) for c, s in zip(coord, self.shape, strict=True))

    def __flatten__(self) -> tuple[tuple, Any]:
        """The dynamic leaves, and the rest as a hashable key (core.pytree)."""
        return int_tuple.split_dynamic((self.shape, self.stride))

    @classmethod
    def __unflatten__(cls, key: Any, children: Sequence[Any]) -> Layout:
        return cls(*int_tuple.join_dynamic(key, iter(children)))


class ComposedLayout:
    """c -> inner(offset + outer(c)); `inner` is a swizzle, a layout or a function, `outer` a layout."""

    __slots__ = ("inner", "offset", "outer")

    def __init__(self, inner: Any, offset: IntTuple, outer: Layout) -> None:
        self.inner, self.offset, self.outer = inner, offset, outer

    @property
    def shape(self) -> IntTuple:
        return self.outer.shape

    @property
    def is_normal(self) -> bool:
        """Whether this is its outer layout alone: the inner function is a swizzle of no bits, the offset 0."""
        return getattr(self.inner, "bits", 1) == 0 and is_constant(self.offset, 0)

    @property
    def static_parts(self) -> tuple:
        """What `is_static` asks: the offset, the outer layout, and the inner one if it is a layout."""
        return self.offset, self.outer, self.inner if isinstance(self.inner, Layout) else 0

    def with_outer(self, outer: Layout) -> ComposedLayout:
        return ComposedLayout(self.inner, self.offset, outer)

    def __flatten__(self) -> tuple[tuple, Any]:
        """The dynamic leaves, and the rest as a hashable key (core.pytree)."""
        leaves, holes = int_tuple.split_dynamic((self.offset, self.outer.shape, self.outer.stride))
        if not isinstance(self.inner, Layout):
            return leaves, (self.inner, None, len(leaves), holes)
        more, key = self.inner.__flatten__()
        return (*leaves, *more), (Layout, key, len(leaves), holes)

    @classmethod
    def __unflatten__(cls, key: Any, children: Sequence[Any]) -> ComposedLayout:
        inner, inner_key, count, holes = key
        offset, shape, stride = int_tuple.join_dynamic(holes, iter(children[:count]))
        if inner is Layout:
            inner = Layout.__unflatten__(inner_key, children[count:])
        return cls(inner, offset, Layout(shape, stride))

    def __call__(self, coord: Coord) -> Any:
        return slice_(self, coord) if int_tuple.has_none(coord) else self.index_of(coord)

    def index_of(self, coord: Coord) -> Any:
        """The index of a coordinate, whose None counts 0."""
        return self.inner(add(self.offset, self.outer.index_of(coord)))

    def __getitem__(self, mode: int) -> ComposedLayout:
        return get(self, mode)

    def __len__(self) -> int:
        return len(self.outer)

    def __iter__(self):
        return (self[mode] for mode in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ComposedLayout)
            and self.inner == other.inner
            and self.outer == other.outer
            and equal(self.offset, other.offset)
        )

    def __hash__(self) -> int:
        return hash((self.inner, text(self.offset), self.outer))

    type_text = property(lambda self: f"ComposedLayout {self}", doc="The type in an error.")

    def __str__(self) -> str:
        if isinstance(self.inner, FunctionType):
            return f"({self.inner} o {self.offset} o {self.outer})"
        return f"{self.inner} o {text(self.offset)} o {self.outer}"

    __repr__ = __str__


def make_composed_layout(inner: Any, offset: IntTuple, outer: Layout) -> ComposedLayout:
    """c -> inner(offset + outer(c))."""
    return ComposedLayout(inner, offset, outer)


# --- making ---------------------------------------------------------------------------------------------------------


def compact_stride(shape: IntTuple, init: Any = 1) -> IntTuple:
    """Column-major compact strides, a static extent 1 having stride 0."""
    return transform_leaf(lambda s, d: 0 if is_constant(s, 1) else d, shape, prefix_product(shape, init))


def make_layout(shape: Any, *, stride: IntTuple | None = None) -> Layout:
    """shape:stride, column-major compact without a stride; a tuple of layouts makes a layout with those modes.

    Raises LayoutError for an extent below 1 and where shape and stride are not congruent.
    """
    if isinstance(shape, Layout):
        shape = (shape,)
    if isinstance(shape, tuple) and shape and all(isinstance(mode, Layout) for mode in shape):
        if stride is not None:
            raise LayoutError("make_layout: layouts bring their own strides", "leave `stride` out")
        return Layout(tuple(mode.shape for mode in shape), tuple(mode.stride for mode in shape))
    check_shape(shape)
    if stride is None:
        return Layout(shape, compact_stride(shape))
    for leaf in flatten_to_tuple(stride):
        if isinstance(leaf, int_tuple.NO_INTEGERS):
            raise LayoutError(
                f"make_layout: {text(leaf)!r} is not a stride", "a stride is an integer or a tuple of strides"
            )
    if not is_congruent(shape, stride):
        raise LayoutError(
            f"make_layout: shape {text(shape)} and stride {text(stride)} are not congruent",
            "give one stride an extent, nested like the shape",
        )
    return Layout(shape, stride)


def check_shape(shape: Any) -> None:
    """Raises LayoutError if an extent is not a positive integer, as far as that is known."""
    for leaf in flatten_to_tuple(shape):
        if isinstance(leaf, int) and leaf < 1:
            raise LayoutError(
                f"make_layout: an extent must be positive, but {text(shape)} has {leaf}", fix="write a positive extent"
            )
        if isinstance(leaf, (*int_tuple.NO_INTEGERS, Layout, ScaledBasis)):
            raise LayoutError(
                f"make_layout: {text(leaf)} is not an extent", "a shape is an integer or a tuple of shapes"
            )


# --- asking ---------------------------------------------------------------------------------------------------------


def _mode_shape(x: Any, mode: Mode) -> IntTuple:
    return get_mode(shape_of(x), mode)


def shape(input: Any, mode: Mode = ()) -> IntTuple:
    """The shape of a layout or tensor, or of one of its modes; an int tuple is its own shape."""
    extents = _mode_shape(input, mode)
    for leaf in flatten_to_tuple(extents):
        if isinstance(leaf, int_tuple.NO_INTEGERS[1:]) or hasattr(leaf, "bits"):
            raise LayoutError(
                f"shape takes something with a shape, got {text(extents)}", "give a tuple, a layout or a tensor"
            )
    return extents


def rank(x: Any, mode: Mode = ()) -> int:
    """The number of modes; of an integer, 1."""
    return len(wrap(_mode_shape(x, mode)))


def size(x: Any, mode: Mode = ()) -> Any:
    """The number of coordinates of a shape, layout or tensor, or of one of its modes; the threads of a tiled copy."""
    return product(_mode_shape(x, mode))


def cosize(layout: Any, mode: Mode = ()) -> Any:
    """One more than the largest index (of the absolute strides); for a composed layout, its outer layout's cosize."""
    if not hasattr(layout, "stride") and not isinstance(layout, ComposedLayout):
        raise LayoutError(f"cosize takes a layout, got {text(layout)}", "use size for a shape, or make_layout")
    layout = get(layout, mode)
    if isinstance(layout, ComposedLayout):
        if isinstance(layout.inner, Layout):
            raise LayoutError(f"cosize: {layout} and its outer layout have different largest indices", "evaluate it")
        return cosize(layout.outer)
    last: Any = 0
    for extent, stride in zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True):
        if isinstance(stride, ScaledBasis):
            raise LayoutError(f"cosize: the indices of {layout} are coordinates", "use size")
        distance = abs(stride) if isinstance(stride, int) else stride
        last = add(last, mul(add(extent, -1), distance))
    return add(last, 1)


def is_major(mode: int, stride: IntTuple) -> bool:
    """Whether the first stride of the mode is static 1."""
    return is_constant(flatten_to_tuple(get_mode(stride, mode))[0], 1)


def leading_dim(shape: IntTuple, stride: IntTuple) -> Any:
    """The mode (or path) that is contiguous: static stride 1, of an extent that is not 1; None without one."""
    return find(transform_leaf(lambda s, d: 0 if is_constant(s, 1) else d, shape, stride), 1)


# --- modes ----------------------------------------------------------------------------------------------------------


def get(x: Any, mode: Mode = ()) -> Any:
    """The mode at a path of mode numbers, of a tuple or a layout."""
    if isinstance(x, ComposedLayout):
        return x.with_outer(get(x.outer, mode))
    if isinstance(x, Layout):
        return Layout(get_mode(x.shape, mode), get_mode(x.stride, mode))
    return get_mode(x, mode)


def select(x: Any, mode: Sequence[int]) -> Any:
    """The listed modes, in that order, of a tuple or a layout."""
    modes = (mode,) if isinstance(mode, int) else tuple(mode)
    if isinstance(x, ComposedLayout):
        return x.with_outer(select(x.outer, modes))
    if isinstance(x, Layout):
        return Layout(select(wrap(x.shape), modes), select(wrap(x.stride), modes))
    if not isinstance(x, tuple):
        raise LayoutError(f"select: {text(x)} has no modes", "give a tuple or a layout")
    return tuple(get_mode(x, i) for i in modes)


def group_modes(input: Any, begin: int, end: int | None = None) -> Any:
    """Modes begin..end gathered into one, of a tuple or a layout, counted as Python's slices are.

    Without `end`, to the last mode. Raises LayoutError where they are none.
    """
    if isinstance(input, ComposedLayout):
        return input.with_outer(group_modes(input.outer, begin, end))
    if isinstance(input, Layout):
        return Layout(group_modes(input.shape, begin, end), group_modes(input.stride, begin, end))
    first, last, _ = slice(begin, end).indices(len(wrap(input)))
    if first >= last:
        raise LayoutError(
            f"group_modes: {text(input)} has {len(wrap(input))} modes, but none from {begin} to {end}",
            fix="count modes from 0; the end is one past the last",
        )
    return group_tuple(input, first, last) if isinstance(input, tuple) else (input,)


def flatten(a: Any) -> Any:
    """A tuple or layout without nesting; a single leaf stays one, and so does a composed layout, as in upstream."""
    if isinstance(a, ComposedLayout):
        return a
    if isinstance(a, Layout):
        return Layout(flatten(a.shape), flatten(a.stride))
    return flatten_to_tuple(a) if isinstance(a, tuple) else a


def append(input: Any, elem: Any, up_to_rank: int | None = None) -> Any:
    """`elem` after the last mode: once, or until there are `up_to_rank` modes."""
    return _extend(input, elem, up_to_rank, last=True)


def prepend(input: Any, elem: Any, up_to_rank: int | None = None) -> Any:
    """`elem` before the first mode: once, or until there are `up_to_rank` modes."""
    return _extend(input, elem, up_to_rank, last=False)


def append_ones(t: Any, up_to_rank: int | None = None) -> Any:
    """Modes 1:0 after the last mode of a layout: one, or until there are `up_to_rank` modes."""
    return append(t, _one("append_ones", t), up_to_rank)


def prepend_ones(t: Any, up_to_rank: int | None = None) -> Any:
    """Modes 1:0 before the first mode of a layout: one, or until there are `up_to_rank` modes."""
    return prepend(t, _one("prepend_ones", t), up_to_rank)


def _one(name: str, x: Any) -> Layout:
    if not isinstance(x, (Layout, ComposedLayout)):
        raise LayoutError(f"{name} takes a layout or a tensor, got {text(x)}", "use append or prepend with 1")
    return Layout(1, 0)


def _extend(x: Any, elem: Any, up_to_rank: int | None, *, last: bool) -> Any:
    missing = 1 if up_to_rank is None else up_to_rank - rank(x)
    if missing < 0:
        raise LayoutError(
            f"cannot extend {x if isinstance(x, Layout) else text(x)} to rank {up_to_rank}: it has more",
            fix="give a larger rank",
        )
    if missing == 0:
        return x
    if isinstance(x, ComposedLayout):
        return x.with_outer(_extend(x.outer, elem, up_to_rank, last=last))
    if isinstance(x, Layout):
        if not isinstance(elem, Layout):
            raise LayoutError(f"a layout is extended by a layout, not by {text(elem)}", "wrap it in make_layout")
        return Layout(
            _extend(x.shape, elem.shape, up_to_rank, last=last), _extend(x.stride, elem.stride, up_to_rank, last=last)
        )
    return wrap(x) + (elem,) * missing if last else (elem,) * missing + wrap(x)


# --- coordinates ----------------------------------------------------------------------------------------------------


def crd2idx(coord: Coord, layout: Any) -> Any:
    """The index of a coordinate in a layout, or in the compact column-major layout of a shape."""
    return layout.index_of(coord) if hasattr(layout, "index_of") else coords.crd2idx(coord, layout)


def slice_(src: Any, coord: Coord) -> Any:
    """The modes where `coord` is None, of a tuple or a layout.

    Of a composed layout the integers move the offset.
    """
    if isinstance(src, ComposedLayout):
        return ComposedLayout(src.inner, add(src.offset, src.outer.index_of(coord)), slice_(src.outer, coord))
    if isinstance(src, Layout):
        return Layout(slice_tuple(src.shape, coord), slice_tuple(src.stride, coord))
    return slice_tuple(src, coord)


def dice(src: Any, dicer: Coord) -> Any:
    """The modes where `dicer` is an integer, of a tuple or a layout."""
    if isinstance(src, ComposedLayout):
        return src.with_outer(dice(src.outer, dicer))
    if isinstance(src, Layout):
        return Layout(dice_tuple(src.shape, dicer), dice_tuple(src.stride, dicer))
    return dice_tuple(src, dicer)


def check_coord(coord: Coord, shape: IntTuple, path: tuple[int, ...] = ()) -> None:
    """Raises LayoutError if a static coordinate is outside a static shape, or does not fit it."""
    if coord is None:
        return
    if isinstance(coord, tuple):
        if not isinstance(shape, tuple) or len(coord) != len(shape):
            raise LayoutError(
                f"the coordinate {text(coord)} does not fit the shape {text(shape)}",
                f"give {len(wrap(shape))} coordinates, or one index",
            )
        for mode, (c, s) in enumerate(zip(coord, shape, strict=True)):
            check_coord(c, s, (*path, mode))
        return
    extent = product(shape)
    if isinstance(coord, int) and isinstance(extent, int) and not 0 <= coord < extent:
        where = f"mode {'.'.join(map(str, path))}, whose extent is {extent}" if path else f"the {extent} elements"
        raise LayoutError(f"the index {coord} is outside {where}", f"valid are 0 to {extent - 1}")
