"""The algebra of layouts: coalesce, composition, complement, inverses, recast.

Definitions and their laws: CUTLASS media/docs/cpp/cute/02_layout_algebra.md. Every operation takes dynamic leaves
where the result's nesting does not depend on them, and raises LayoutError, naming the mode, where it does.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any

from dsl.layout import int_tuple
from dsl.layout.int_tuple import (
    IntTuple,
    LayoutError,
    ScaledBasis,
    basis_get,
    basis_value,
    flatten_to_tuple,
    floor_div,
    is_constant,
    is_static,
    mul,
    prefix_product,
    product,
    shape_of,
    transform_leaf,
    unwrap,
)
from dsl.layout.layout import ComposedLayout, Layout, cosize, make_layout, rank

Tiler = Any  # int | None | Layout | tuple of Tiler
_Mode = tuple[Any, Any]  # (extent, stride), both leaves


def _flat_modes(layout: Layout) -> list[_Mode]:
    return list(zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True))


def _sign(x: int) -> int:
    return 1 if x > 0 else -1


def _from_modes(modes: list[_Mode]) -> Layout:
    """A layout of flat modes: a leaf for one, 1:0 for none."""
    if not modes:
        return Layout(1, 0)
    return Layout(unwrap(tuple(s for s, _ in modes)), unwrap(tuple(d for _, d in modes)))


def by_mode(f: Callable[[Any, Any], Any], layout: Layout, tiler: tuple, name: str) -> Layout:
    """`f` on each mode that the tuple `tiler` reaches; the modes after them stay."""
    if len(tiler) > (count := rank(layout.shape)):
        raise LayoutError(
            f"{name}: the tiler has {len(tiler)} modes, but {layout} has {count}",
            fix="give the tiler at most one mode an extent of the layout",
        )
    modes = [f(layout[i], tiler[i]) for i in range(len(tiler))]
    return make_layout((*modes, *(layout[i] for i in range(len(tiler), rank(layout)))))


# --- coalesce and filter --------------------------------------------------------------------------------------------


def _merge(modes: list[_Mode]) -> list[_Mode]:
    """Flat modes without extents 1, neighbours merged where the strides are known to continue."""
    merged: list[_Mode] = []  # right to left
    for extent, stride in reversed(modes):
        if is_constant(extent, 1):
            continue
        if merged:
            next_extent, next_stride = merged[-1]
            if is_static((extent, next_extent)) and _continues(extent, stride, next_stride):
                merged[-1] = (extent * next_extent, stride)
                continue
        merged.append((extent, stride))
    return merged[::-1]


def _continues(extent: int, stride: Any, next_stride: Any) -> bool:
    if isinstance(stride, ScaledBasis) or isinstance(next_stride, ScaledBasis):
        return is_static(stride) and is_static(next_stride) and stride * extent == next_stride
    return isinstance(stride, int) and isinstance(next_stride, int) and extent * stride == next_stride


def coalesce(input: Any, *, target_profile: Any = None) -> Any:
    """The layout with the fewest modes that is the same function of its indices; by mode for a tuple profile."""
    if isinstance(input, ComposedLayout):
        return input.with_outer(coalesce(input.outer, target_profile=target_profile))
    if isinstance(target_profile, tuple):
        return by_mode(lambda mode, p: coalesce(mode, target_profile=p), input, target_profile, "coalesce")
    return _from_modes(_merge(_flat_modes(input)))


def _open_modes(layout: Layout) -> list[_Mode]:
    """Coalesced modes of the same function also past the end: a last extent 1 keeps its stride."""
    modes = _flat_modes(layout)
    last_extent, last_stride = modes[-1]
    return _merge([*modes[:-1], (2 if is_constant(last_extent, 1) else last_extent, last_stride)])


def filter_zeros(input: Any, *, target_profile: IntTuple | None = None) -> Any:
    """Extent 1 wherever the stride (or the leaf of `target_profile`) is static 0."""
    if isinstance(input, ComposedLayout):
        return input.with_outer(filter_zeros(input.outer, target_profile=target_profile))
    zeros = input.stride if target_profile is None else target_profile
    return Layout(transform_leaf(lambda s, d: 1 if is_constant(d, 0) else s, input.shape, zeros), input.stride)


def filter(input: Any) -> Any:
    """The layout without strides 0 and extents 1, coalesced; 1:0 if nothing is left."""
    return coalesce(filter_zeros(input))


def nullspace(layout: Layout) -> Layout:
    """The layout of the indices that `layout` sends to 0: its modes of stride 0."""
    flat = flatten_to_tuple(layout.shape)
    starts = prefix_product(flat)
    modes = zip(flat, flatten_to_tuple(layout.stride), starts, strict=True)
    return _from_modes([(extent, start) for extent, stride, start in modes if is_constant(stride, 0)])


# --- composition ----------------------------------------------------------------------------------------------------


def composition(lhs: Any, rhs: Tiler) -> Any:
    """R = lhs o rhs with R(c) == lhs(rhs(c)) for every coordinate c of rhs; R has the shape of rhs, refined.

    A tuple of tilers works mode by mode and drops the modes it does not reach; None keeps a mode whole.
    Raises LayoutError if no such layout exists or if that is not known while tracing.
    """
    if isinstance(lhs, ComposedLayout):
        return lhs.with_outer(composition(lhs.outer, rhs))
    if not isinstance(lhs, Layout):
        raise LayoutError(
            f"composition: the left side must be a layout, got {int_tuple.kind_of(lhs)}",
            "compose a swizzle with make_composed_layout",
        )
    if rhs is None:
        return lhs
    if isinstance(rhs, tuple):
        if len(rhs) > rank(lhs):
            raise LayoutError(
                f"composition: the tiler has {len(rhs)} modes, but {lhs} has {rank(lhs)}",
                fix="give the tiler at most one mode an extent of the layout",
            )
        return make_layout(tuple(composition(lhs[i], t) for i, t in enumerate(rhs)))
    if isinstance(rhs, ComposedLayout):
        raise LayoutError(f"composition: {lhs} o ({rhs}) is not a layout", "compose with the outer layout instead")
    if not isinstance(rhs, Layout):
        rhs = make_layout(rhs)
    return _compose(lhs, rhs.shape, rhs.stride, rhs)


def _compose(lhs: Layout, shape: IntTuple, stride: IntTuple, whole: Layout) -> Layout:
    if isinstance(shape, tuple):
        modes = tuple(_compose(lhs, s, d, whole) for s, d in zip(shape, stride, strict=True))
        return Layout(tuple(m.shape for m in modes), tuple(m.stride for m in modes))
    if is_constant(stride, 0):
        return Layout(shape, stride)
    if isinstance(stride, ScaledBasis):
        lhs = Layout(basis_get(stride, lhs.shape), basis_get(stride, lhs.stride))
        stride = basis_value(stride)
    modes = _open_modes(lhs)
    if len(modes) == 1:
        return Layout(shape, mul(stride, modes[0][1]))
    return _walk(modes, shape, stride, f"composition {lhs} o {whole}")


def _walk(modes: list[_Mode], extent: Any, stride: Any, what: str) -> Layout:
    """Every `stride`-th index, `extent` of them, of flat modes: taken from the left, mode by mode.

    If it is not known while tracing, each mode gives a part (of extent 1, if need be), and the author promises that the
    parts divide.
    """
    walked: list[_Mode] = []
    for number, (mode_extent, mode_stride) in enumerate(modes[:-1]):
        if is_static((mode_extent, stride)) and stride and stride % mode_extent == 0:  # steps over the whole mode
            stride //= mode_extent
            continue
        if not is_static((mode_extent, extent, stride)):
            if not is_constant(extent, 1):
                part = _least(int_tuple.ceil_div(mode_extent, stride), extent)
                walked.append((part, mul(stride, mode_stride)))
                extent = floor_div(extent, part)
            stride = int_tuple.ceil_div(stride, mode_extent)
            continue
        step = abs(stride)
        if step >= mode_extent or extent == 1:
            if step % mode_extent and extent != 1:
                raise LayoutError(
                    f"{what}: the stride {stride} is not a multiple of the extent {mode_extent} of mode {number}",
                    "choose a tile that divides the mode",
                )
            stride = -(-step // mode_extent) * _sign(stride)
            continue
        available = -(-mode_extent // step)
        part = min(available, extent)
        if part < extent and (extent % part or mode_extent % step):
            raise LayoutError(
                f"{what}: {extent} elements with stride {stride} cross mode {number}, whose extent "
                f"{mode_extent} they do not divide",
                "choose a tile that divides the mode",
            )
        walked.append((part, mul(stride, mode_stride)))
        extent //= part
        stride = _sign(stride)
    if not walked or not is_constant(extent, 1):
        walked.append((extent, mul(stride, modes[-1][1])))
    return _from_modes(walked if any(is_constant(part, 1) for part, _ in walked) else _merge(walked))


def _least(a: Any, b: Any) -> Any:
    """The smaller of two extents, by arithmetic where they are dynamic."""
    return min(a, b) if is_static((a, b)) else b + (a - b) * (a < b)


# --- complement and inverses ----------------------------------------------------------------------------------------


def complement(input: Layout, cotarget: Any = None) -> Layout:
    """The ordered layout of the indices up to `cotarget` that `input` leaves free.

    (layout, complement) together reach every index below the cotarget once. Raises LayoutError for a layout that
    reaches an index twice. `cotarget` is a size, shape or layout; without one, the layout's own cosize.
    """
    modes = _merge(_flat_modes(filter_zeros(input)))
    cotarget = cosize(_from_modes(modes)) if cotarget is None else shape_of(cotarget)
    if not modes:
        free = flatten_to_tuple(cotarget)
        return coalesce(Layout(unwrap(free), unwrap(prefix_product(free))))
    if any(isinstance(d, ScaledBasis) for _, d in modes):
        raise LayoutError(f"complement: the indices of {input} are coordinates", "take the complement mode by mode")
    if len(modes) > 1 and not is_static(tuple(d for _, d in modes)):
        raise LayoutError(f"complement: {input} has strides known only at run time", "make them static")
    free_modes: list[_Mode] = []
    reached: Any = 1
    for extent, stride in sorted(modes, key=lambda m: m[1]) if len(modes) > 1 else modes:
        if is_static((stride, reached)) and (stride // reached == 0 or stride % reached):
            raise LayoutError(
                f"complement: {input} reaches an index twice or leaves gaps that no layout describes",
                "the strides, sorted, must each be a multiple of the extent of the modes before",
            )
        free_modes.append((floor_div(stride, reached), reached))
        reached = mul(stride, extent)
    rest = _coalesce_shape(_ceil_div_shape(flatten_to_tuple(cotarget), reached))
    free_modes += zip(rest, prefix_product(rest, reached), strict=True)
    return _from_modes(_merge(free_modes))


def _ceil_div_shape(shape: tuple, divisor: Any) -> tuple:
    """A flat shape divided from the left, rounding up in each mode; what a mode cannot take divides the next one."""
    result = []
    for i, extent in enumerate(shape):
        if not is_static((extent, divisor)) and i < len(shape) - 1 and not is_constant(divisor, 1):
            return (*result, int_tuple.ceil_div(product(shape[i:]), divisor))
        result.append(int_tuple.ceil_div(extent, divisor))
        divisor = int_tuple.ceil_div(divisor, extent) if i < len(shape) - 1 else divisor
    return tuple(result)


def _coalesce_shape(shape: tuple) -> tuple:
    """Neighbouring static extents and neighbouring dynamic extents multiplied together."""
    merged: list[Any] = []
    for extent in shape:
        if merged and (is_static(merged[-1]) == is_static(extent) or is_constant(extent, 1)):
            merged[-1] = mul(merged[-1], extent)
        elif merged and is_constant(merged[-1], 1):
            merged[-1] = extent
        else:
            merged.append(extent)
    return tuple(merged)


def right_inverse(input: Layout) -> Layout:
    """The longest R with layout(R(i)) == i for every i < size(R)."""
    modes = _merge(_flat_modes(input))
    starts = prefix_product(tuple(s for s, _ in modes))
    candidates = [(d, s, start) for (s, d), start in zip(modes, starts, strict=True) if isinstance(d, int)]
    inverse: list[_Mode] = []
    reached: Any = 1
    for stride, extent, start in sorted(candidates, key=lambda m: m[0]):
        if is_constant(reached, stride):
            inverse.append((extent, start))
            reached = mul(extent, stride)
    return _from_modes(_merge(inverse))


def left_inverse(input: Layout) -> Layout:
    """R with R(layout(i)) == i for every i < size(layout), of an injective layout with static strides."""
    modes = _merge(_flat_modes(input))
    if not is_static(tuple(modes)) or any(isinstance(d, ScaledBasis) for _, d in modes):
        raise LayoutError(f"left_inverse: {input} must be static", "make its extents and strides static")
    starts = prefix_product(tuple(s for s, _ in modes))
    inverse: list[_Mode] = []
    reached, before = 1, 0
    extent = 1
    for (mode_extent, stride), start in sorted(zip(modes, starts, strict=True), key=lambda m: m[0][1]):
        if stride == 0:
            continue
        if stride < reached or stride % reached:
            raise LayoutError(
                f"left_inverse: the stride {stride} of {input} is not a multiple of {reached}, "
                "the extent of the strides below it",
                fix="invert a layout whose strides are multiples of the extents below them",
            )
        inverse.append((stride // reached, before))
        reached, before, extent = stride, start, mode_extent
    return _from_modes(_merge([*inverse, (extent, before)]))


def _common(a: Layout, b: Layout) -> tuple[Layout, Layout]:
    inverse = right_inverse(b)
    return coalesce(composition(a, inverse)), inverse


def max_common_layout(a: Layout, b: Layout) -> Layout:
    """The longest layout R with a(R(i)) == i and b(R(i)) == i."""
    common, inverse = _common(a, b)
    extent, stride = _flat_modes(common)[0]
    return composition(inverse, Layout(extent, 1)) if is_static(extent) and is_constant(stride, 1) else Layout(1, 0)


def max_common_vector(a: Layout, b: Layout) -> int:
    """How many elements are contiguous, and the same ones, in both layouts."""
    extent, stride = _flat_modes(_common(a, b)[0])[0]
    return extent if is_static(extent) and is_constant(stride, 1) else 1


# --- element types --------------------------------------------------------------------------------------------------


def recast_layout(new_type_bits: int, old_type_bits: int, src_layout: Any) -> Any:
    """The layout of the same memory seen as elements of `new_type_bits` instead of `old_type_bits`.

    Of a composed layout the swizzle's base moves by as many bits as an index gains or loses, and the offset with them.
    """
    common = gcd(new_type_bits, old_type_bits)
    wider, narrower = new_type_bits // common, old_type_bits // common
    if isinstance(src_layout, ComposedLayout):
        outer = recast_layout(new_type_bits, old_type_bits, src_layout.outer)
        if wider == narrower:
            return src_layout
        return ComposedLayout(
            _recast_inner(src_layout, wider, narrower), floor_div(mul(src_layout.offset, narrower), wider), outer
        )
    return _downcast(_upcast(src_layout, wider), narrower)


def _recast_inner(layout: ComposedLayout, wider: int, narrower: int) -> Any:
    inner, moved = layout.inner, narrower.bit_length() - wider.bit_length()
    fits = (isinstance(layout.offset, int) and layout.offset % wider == 0) or wider == 1
    if (
        not fits
        or not hasattr(inner, "with_base")
        or wider & wider - 1
        or narrower & narrower - 1
        or (inner.bits and inner.base + moved < 0)
    ):
        raise LayoutError(
            f"recast_layout: {layout} has no form in elements {wider}/{narrower} as large",
            "recast the pointer and the outer layout",
        )
    return inner.with_base(inner.base + moved)


def _upcast(layout: Layout, factor: int) -> Layout:
    """`factor` adjacent elements become one."""

    def leaf(extent: Any, stride: Any) -> Layout:
        if factor == 1 or is_constant(stride, 0):
            return Layout(extent, stride)
        if not isinstance(stride, int):
            return Layout(extent, floor_div(stride, factor))
        step = abs(stride)
        if step % factor and factor % step:
            raise LayoutError(
                f"recast_layout: the stride {stride} of {layout} is neither a multiple nor a divisor of "
                f"{factor}, the number of elements that become one",
                fix="recast a layout whose strides are multiples of that number",
            )
        shrink = -(-factor // step)
        return Layout(int_tuple.ceil_div(extent, shrink), -(-step // factor) * _sign(stride))

    return _map_leaves(leaf, layout)


def _downcast(layout: Layout, factor: int) -> Layout:
    """Every element becomes `factor` adjacent ones."""

    def leaf(extent: Any, stride: Any) -> Layout:
        if is_constant(stride, 1) or is_constant(stride, -1):
            return Layout(mul(extent, factor), stride)
        return Layout(extent, mul(stride, factor))

    if factor != 1 and not any(is_constant(d, 1) or is_constant(d, -1) for d in flatten_to_tuple(layout.stride)):
        raise LayoutError(
            f"recast_layout: {layout} has no static stride 1, so its elements have no room to be split",
            fix="recast a layout whose innermost stride is 1",
        )
    return _map_leaves(leaf, layout)


def _map_leaves(f: Callable[[Any, Any], Layout], layout: Layout) -> Layout:
    if not isinstance(layout.shape, tuple):
        return f(layout.shape, layout.stride)
    modes = [_map_leaves(f, layout[i]) for i in range(rank(layout))]
    return Layout(tuple(m.shape for m in modes), tuple(m.stride for m in modes))
