"""TMA in mode im2col: atoms that copy columns of pixels, the patches that a convolution multiplies by its filter.

The tensor is ((W, H, D, N), C), W, H and D as there are. The kernel sees the matrix that the convolution is a product
of: (output pixels, (C, S, R, T)), S, R and T the filter's taps along W, H and D; its elements are TMA's coordinates (C,
(W, H, D), N, (S, R, T)), the last the offsets of an instruction. Of a tensor (C, (W, H, D, N)) it is the transpose.
CUTLASS, media/docs/cpp/implicit_gemm_convolution.md; PTX ISA 5.5.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dsl import layout as lay
from dsl.core import trace
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, warn_not_portable
from dsl.core.number.dtypes import Numeric
from dsl.core.number.operators import select, type_name
from dsl.layout import ComposedLayout, E, Layout, Swizzle
from dsl.layout.int_tuple import flatten_to_tuple, is_constant, product, quotient, text, wrap
from dsl.tile.tensor.index import as_index
from dsl.tile.tensor.tensor import Tensor
from dsl.tile.tma.tensor_map_words import columns, corner_limit, describe
from dsl.tile.tma.tma import (
    MOST_BOX,
    CopyBulkTensorTileG2SOp,
    TmaAtom,
    TmaInfo,
    TmaOp,
    check_gmem,
    check_steps,
    smem_tile,
)

MOST_PIXELS, MOST_STEP = 1024, 8


@dataclass(frozen=True)
class CopyBulkTensorIm2ColG2SOp(CopyBulkTensorTileG2SOp):
    """TMA from global to shared memory, in mode im2col."""

    takes_columns = True


@dataclass(frozen=True)
class CopyBulkTensorIm2ColG2SMulticastOp(CopyBulkTensorIm2ColG2SOp):
    """TMA in mode im2col to the shared memory of several blocks of the cluster: each loads some of the pixels for
    all."""

    multicasts = True
    title = "cp.async GMEM -> SMEM bulk tensor multicast copy Operation"


@dataclass(frozen=True)
class CopyBulkTensorIm2ColS2GOp(TmaOp):
    """TMA from shared to global memory, in mode im2col: of pixels as they follow one another, without offsets."""

    takes_columns = True
    loads = False
    elects = False
    title = "cp.async SMEM -> GMEM bulk tensor copy Operation"


@dataclass(frozen=True)
class _Window:
    """The window of pixels that is read: numbers of W, H and D, as there are, by the names that an author uses."""

    lower_corner: tuple
    upper_corner: tuple
    lower_padding: tuple
    upper_padding: tuple
    stride: tuple
    lower_tap: tuple
    dilation: tuple

    def outputs(self, extents: tuple) -> tuple:
        """The output pixels along each dimension."""
        sides = zip(extents, self.lower_corner, self.upper_corner, self.stride)
        return tuple(quotient(extent + high - low - 1, step) + 1 for extent, low, high, step in sides)

    def taps(self) -> tuple:
        """The filter's taps along each dimension: from a corner to the edge of the padding, which way by the sign."""
        counts = []
        for i, step in enumerate(self.dilation):
            ahead, back = (self.upper_padding[i] - self.upper_corner[i], self.lower_corner[i] - self.lower_padding[i])
            if isinstance(step, int):
                distance = ahead if step > 0 else back
            else:
                distance = select(step > 0, ahead, back)
            counts.append(quotient(distance, step) + 1)
        return tuple(counts)

    def last_taps(self) -> tuple:
        return tuple(
            first + (count - 1) * step for first, count, step in zip(self.lower_tap, self.taps(), self.dilation)
        )


def make_im2col_tma_atom(
    op: Any,
    gmem_tensor: Tensor,
    smem_layout_: Layout | ComposedLayout,
    cta_tiler: Any,
    lower_corner_whd: Any = None,
    upper_corner_whd: Any = None,
    lower_padding_whd: Any = None,
    upper_padding_whd: Any = None,
    stride_whd: Any = None,
    lower_srt: Any = None,
    stride_srt: Any = None,
    num_multicast: int = 1,
    *,
    internal_type: type[Numeric] | None = None,
) -> TmaInfo:
    """The atom that copies tiles (pixels, channels) of a convolution's matrix from or to shared memory, and the tensor
    of that matrix's coordinates.

    A column goes from `lower_corner_whd` to the last pixel plus `upper_corner_whd`, in steps of `stride_whd`; the taps
    begin at `lower_srt` and are `stride_srt` apart, as many as the paddings leave room for. Stores take none of these.
    Raises DSLUserCodeError for what TMA cannot copy.
    """
    _check_call(op, num_multicast)
    dtype = internal_type or gmem_tensor.element_type
    check_gmem(gmem_tensor, dtype)
    channel, extents = _channel_mode(gmem_tensor)
    given = {
        "lower_corner_whd": lower_corner_whd,
        "upper_corner_whd": upper_corner_whd,
        "lower_padding_whd": lower_padding_whd,
        "upper_padding_whd": upper_padding_whd,
        "stride_whd": stride_whd,
        "lower_srt": lower_srt,
        "stride_srt": stride_srt,
    }
    window = _window(given, extents[:-1]) if op.loads else _whole(len(extents) - 1)
    if not isinstance(smem_layout_, ComposedLayout):
        warn_not_portable(
            "the layout of shared memory of an atom in mode im2col has no swizzle",
            fix="cute.make_composed_layout(cute.make_swizzle(0, 4, 3), 0, layout)",
        )
    swizzle, slayout = smem_tile(smem_layout_, _tile(cta_tiler), dtype)
    channels, pixels = _column(slayout, channel, swizzle, dtype)
    if pixels % num_multicast:
        raise DSLUserCodeError(
            f"a column of {pixels} pixels has no equal parts for {num_multicast} blocks", fix="a larger tile, or fewer"
        )
    modes = _modes(gmem_tensor, channel)
    shapes, strides = flatten_to_tuple(gmem_tensor.shape), flatten_to_tuple(gmem_tensor.stride)
    check_steps(gmem_tensor, modes[1:], dtype)
    described = describe(
        gmem_tensor.pointer(),
        [shapes[m] for m in modes],
        [strides[m] for m in modes],
        dtype,
        swizzle,
        columns(channels, pixels // num_multicast, window.lower_corner, window.upper_corner, window.stride),
    )
    matrix = _matrix(window, extents, shapes[modes[0]], channel)
    return TmaInfo(TmaAtom(op, dtype, (channels, pixels), modes, described), matrix, smem_layout_)


# --- what is given ---------------------------------------------------------------------------------------------------


def _check_call(op: Any, num_multicast: int) -> None:
    if not isinstance(op, TmaOp) or not op.takes_columns:
        raise DSLUserCodeTypeError(
            f"an atom in mode im2col takes one of its operations, got {type_name(op)}",
            fix="cpasync.CopyBulkTensorIm2ColG2SOp(), or ...S2GOp()",
        )
    if num_multicast != 1 and not op.multicasts:
        raise DSLUserCodeError(
            f"{type(op).__name__} does not multicast, got num_multicast={num_multicast}",
            fix="cpasync.CopyBulkTensorIm2ColG2SMulticastOp()",
        )
    if trace.in_kernel():
        raise DSLUserCodeError(
            "make_im2col_tma_atom runs on the host, but this is a kernel",
            fix="make the atom in the @cute.jit function and pass it to the kernel",
        )


def _channel_mode(tensor: Tensor) -> tuple[int, tuple]:
    """Which of the tensor's two modes are the channels, and the extents of the other: W, H, D as there are, and N."""
    modes = wrap(tensor.shape)
    nested = [i for i, mode in enumerate(modes) if isinstance(mode, tuple)]
    if (
        len(modes) != 2
        or len(nested) != 1
        or not 2 <= len(pixels := modes[nested[0]]) <= 4
        or any(isinstance(extent, tuple) for extent in pixels)
    ):
        raise DSLUserCodeError(
            "a tensor in mode im2col has a mode of pixels, (W, N), (W, H, N) or (W, H, D, N), and one of channels, got "
            f"{tensor.layout}",
            fix="make_tensor(t.iterator, make_layout(((w, h, n), c), stride=((c, w * c, h * w * c), 1)))",
        )
    channel = 1 - nested[0]
    if not is_constant(stride := wrap(tensor.stride)[channel], 1):
        raise DSLUserCodeError(
            f"channels must be contiguous, but the stride of mode {channel} of {tensor.layout} is {text(stride)}",
            id="TMA_MAJOR_MODE",
            fix="keep the tensor as (N, D, H, W, C) in memory",
        )
    return channel, pixels


def _modes(tensor: Tensor, channel: int) -> tuple[int, ...]:
    """The tensor's leaves as dimensions of the map: C, W, H, D, N."""
    count = len(flatten_to_tuple(tensor.shape))
    return (count - 1, *range(count - 1)) if channel else tuple(range(count))


def _window(given: dict[str, Any], extents: tuple) -> _Window:
    numbers = {name: _per_dimension(name, value, len(extents)) for name, value in given.items()}
    window = _Window(*numbers.values())
    limit = corner_limit(len(extents))
    names = list(given)
    _check_range(names[0], window.lower_corner, -limit, limit - 1)
    _check_range(names[1], window.upper_corner, -limit, limit - 1)
    _check_range(names[4], window.stride, 1, MOST_STEP)
    if any(is_constant(step, 0) for step in window.dilation):
        raise DSLUserCodeError("stride_srt must not be 0: it is the distance of the filter's taps", fix="1, or more")
    for what, counts in (("output pixels", window.outputs(extents)), ("taps", window.taps())):
        if any(isinstance(count, int) and count < 1 for count in counts):
            raise DSLUserCodeError(
                f"corners, padding and strides leave {text(counts)} {what} along W, H and D of pixels {text(extents)}",
                fix="lower_corner = -padding, upper_corner = padding - (taps - 1) * dilation",
            )
    _check_range("taps by lower_srt and stride_srt", window.lower_tap, 0, 2 * limit - 1)
    _check_range("taps by lower_srt and stride_srt", window.last_taps(), 0, 2 * limit - 1)
    return window


def _per_dimension(name: str, value: Any, count: int) -> tuple:
    numbers = None if value is None else wrap(as_index(value))
    if numbers is None or len(numbers) != count or not all(_is_number(each) for each in numbers):
        raise DSLUserCodeError(
            f"loading in mode im2col takes {name}, {count} integer{'s' * (count > 1)} for this tensor, got "
            f"{text(numbers) if numbers else value}",
            fix=f"{name}=({', '.join(['1'] * count)}{',' * (count == 1)}), of W, H and D as there are",
        )
    return numbers


def _is_number(value: Any) -> bool:
    return type(value) is int or (isinstance(value, Numeric) and value.is_integer)


def _check_range(name: str, numbers: tuple, first: int, last: int) -> None:
    for number in numbers:
        if isinstance(number, int) and not first <= number <= last:
            raise DSLUserCodeError(
                f"{name} of a tensor with {len(numbers)} of W, H and D must be {first} to {last}, got {number}",
                fix="a smaller filter, or less padding" if first != 1 else "a step that TMA has",
            )


def _whole(count: int) -> _Window:
    """Every pixel once, for stores."""
    zero, one = (0,) * count, (1,) * count
    return _Window(zero, zero, zero, zero, one, zero, one)


# --- the column ------------------------------------------------------------------------------------------------------


def _tile(tiler: Any) -> tuple[int, int]:
    tile = as_index(tiler) if isinstance(tiler, (tuple, list)) else tiler
    if not isinstance(tile, tuple) or len(tile) != 2 or not all(type(each) is int and each > 0 for each in tile):
        raise DSLUserCodeError(
            f"tiler of an atom in mode im2col must be two static extents, got {text(tile)}",
            fix="cta_tiler=(128, 64): pixels, channels",
        )
    return tile


def _column(slayout: Layout, channel: int, swizzle: Swizzle, dtype: type[Numeric]) -> tuple[int, int]:
    """Channels and pixels that one instruction copies: they follow one another in shared memory, channels first."""
    shape = tuple(product(mode) for mode in slayout.shape)
    runs = lay.coalesce(lay.composition(Layout(shape, (E(0), E(1))), lay.right_inverse(slayout)))
    flat = [each for each in zip(flatten_to_tuple(runs.shape), flatten_to_tuple(runs.stride)) if each[0] != 1]
    expected = (E(channel), E(1 - channel))
    if not flat or flat[0][1] != expected[0]:
        raise DSLUserCodeError(
            f"TMA cannot transpose: channels are contiguous in the tensor, but not in shared memory of {slayout}",
            id="TMA_MAJOR_MODE",
            fix="lay shared memory out with the channels contiguous",
        )
    channels = flat[0][0]
    element_bytes = dtype.storage_width // 8
    most_bytes = min(MOST_BOX * element_bytes, 16 << swizzle.bits if swizzle.bits else MOST_BOX * element_bytes)
    if channels * element_bytes % 16 or channels * element_bytes > most_bytes:
        raise DSLUserCodeError(
            f"channels of a column must be a multiple of 16 bytes and at most {most_bytes}, got {channels} elements, "
            f"{channels * element_bytes} bytes",
            id="TMA_ALIGNMENT",
            fix=f"lay shared memory out in rows of at most {most_bytes} bytes, or make the tile's channels fewer",
        )
    if len(flat) < 2 or flat[1][1] != expected[1]:
        raise DSLUserCodeError(
            f"pixels of a column must follow one another in shared memory, {channels} channels each, but they do not "
            f"in {slayout}",
            fix=f"a stride of {channels} for the pixels, of which there are at least two",
        )
    count = flat[1][0]
    return channels, next(part for part in range(min(count, MOST_PIXELS), 0, -1) if count % part == 0)


def _matrix(window: _Window, extents: tuple, channels: Any, channel: int) -> Tensor:
    """The coordinates of the convolution's matrix: its pixels counted as one number, its taps as they are."""
    count = len(extents) - 1
    outputs, taps = (*window.outputs(extents[:-1]), extents[-1]), (channels, *window.taps())
    pixel_steps = (*(E((1, i)) * window.stride[i] for i in range(count)), E(2))
    tap_steps = (E(0), *(E((3, i)) * window.dilation[i] for i in range(count)))
    order = slice(None, None, 1 if channel else -1)  # pixels first, unless the tensor has the channels first
    grid = Layout((outputs, taps)[order], (pixel_steps, tap_steps)[order])
    counted, taken = E(1 - channel), tuple(E((channel, i)) for i in range(count + 1))
    linear = Layout((product(outputs), taps)[order], (counted, taken)[order])
    start = (0, (0,) * (count + 1))[order]
    return Tensor((0, window.lower_corner, 0, window.lower_tap), ComposedLayout(grid, start, linear))
