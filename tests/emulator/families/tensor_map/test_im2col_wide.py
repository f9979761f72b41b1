"""Columns of pixels along W against a numpy model that is written from the PTX ISA: 5.5.5 (im2col::w, im2col::w::128).

No figure and no measurement was at hand. The model lists the positions of each image's row of pixels and takes them
out of a padded tensor; the emulator walks from pixel to pixel.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dsl import emulator
from dsl.emulator.families.tensor_map.tensor_map import BadTensorMap, Wide, decode
from tests.emulator.families.tensor_map.test_box_copies import SWIZZLES, swizzled
from tests.emulator.families.tensor_map.test_im2col import column_of

_TEMPLATE = """
.version 9.0
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry load(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 n, .param .align 4 .b8 at[28])
{{
  .shared .align 8 .b64 bar; .reg .b32 %c<8>, %b, %s, %n, %v; .reg .b16 %h<3>; .reg .b64 %m, %o, %w; .reg .pred %p;
  mov.b64 %m, map; cvta.param.u64 %m, %m; ld.param.u64 %o, [out]; ld.param.u32 %n, [n]; mov.u32 %b, bar;
  mov.u32 %s, smem;
  {loads}
  {prefetch}
  mbarrier.init.shared.b64 [%b], 1; fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 %w, [%b], %n;
  cp.async.bulk.tensor.{rank}d.{to}.global.{mode}.mbarrier::complete_tx::bytes [%s], [%m, {{{names}}}], [%b], {{%h0, %h1}};
wait:
  mbarrier.try_wait.parity.shared.b64 %p, [%b], 0; @!%p bra wait;
  add.u32 %n, %n, 127; and.b32 %n, %n, 0xFFFFFF80;
again:
  ld.shared.b32 %v, [%s]; st.global.b32 [%o], %v; add.u32 %s, %s, 4; add.u64 %o, %o, 4; sub.u32 %n, %n, 4;
  setp.ne.u32 %p, %n, 0; @%p bra again;
  ret;
}}
"""
MODES = "im2col::w", "im2col::w::128"


def ptx(rank: int, mode: int, to: str) -> str:
    loads = [f"ld.param.b32 %c{i}, [at+{4 * i}];" for i in range(7)] + [
        f"cvt.u16.u32 %h{i}, %c{5 + i};" for i in (0, 1)
    ]
    names = ", ".join(f"%c{i}" for i in range(rank))
    prefetch = f"cp.async.bulk.prefetch.tensor.{rank}d.L2.global.{MODES[mode]} [%m, {{{names}}}], {{%h0, %h1}};"
    return _TEMPLATE.format(rank=rank, mode=MODES[mode], to=to, loads=" ".join(loads), names=names, prefetch=prefetch)


def wide_of(tensor, lower, upper, channels, pixels, step, mode=0, swizzle=64, dtype=6) -> Wide:
    steps = (1, step, *(1,) * (tensor.ndim - 2))
    return Wide(dtype, tensor.ctypes.data, tensor.shape[::-1], tensor.strides[::-1][1:], lower, upper, channels, pixels,
                steps, mode=mode, swizzle=SWIZZLES[swizzle])  # fmt: skip


def main_pixels(wide: Wide, at: tuple, offset: int, count: int) -> list[tuple[int, int]]:
    """(w, image) of the pixels of a column, row by row."""
    end, step = wide.extents[1] + wide.upper + offset, wide.steps[1]
    rows = [np.arange(at[1] + offset, end, step)]
    while sum(map(len, rows)) < count:
        rows.append(np.arange(wide.lower + offset, end, step))
    pixels = [(int(w), at[-1] + image) for image, row in enumerate(rows) for w in row]
    return pixels[:count]


def model(tensor: np.ndarray, wide: Wide, at: tuple, halo: int, offset: int) -> tuple[np.ndarray, bool]:
    """The rows of channels in shared memory, and whether each halo pixel is at the same place in both readings."""
    count, group = (128, 32) if wide.mode else (wide.pixels, wide.pixels)
    walk = main_pixels(wide, at, offset, count + halo)
    pixels, is_defined = [], True
    for first in range(0, count, group):
        pixels += walk[first : first + group + halo]
        w, image = walk[first + group - 1]
        in_row = [(w + wide.steps[1] * (i + 1), image) for i in range(halo)]
        differ = [pair for pair in zip(walk[first + group : first + group + halo], in_row) if pair[0] != pair[1]]
        inside = [is_inside(tensor, at, *pixel) for pair in differ for pixel in pair]
        is_defined &= not any(inside)
    padded = np.zeros((len(pixels), wide.channels), tensor.dtype)
    for row, (w, image) in zip(padded, pixels):
        if is_inside(tensor, at, w, image):
            channels = tensor[(image, *at[2:-1][::-1], w)]
            low, high = max(at[0], 0), min(at[0] + wide.channels, len(channels))
            row[low - at[0] : max(high - at[0], low - at[0])] = channels[low : max(high, low)]
    return padded, is_defined


def is_inside(tensor: np.ndarray, at: tuple, w: int, image: int) -> bool:
    return all(0 <= p < e for p, e in zip((w, *at[2:-1], image), tensor.shape[::-1][1:]))


def load(tensor, wide, at, halo, offset, checks=(), to="shared::cta", allocated_bytes=None) -> np.ndarray:
    groups, pixels = (4, 128) if wide.mode else (1, wide.pixels)
    n_bytes = (pixels + groups * halo) * wide.channels * tensor.itemsize
    out = np.zeros(-(-n_bytes // 128) * 128, np.uint8)
    memory = emulator.Memory()
    memory.register(tensor.ctypes.data, tensor.nbytes if allocated_bytes is None else allocated_bytes, "tensor")
    memory.register(out.ctypes.data, out.nbytes, "out")
    numbers = np.array([*at, *(0,) * (5 - len(at)), halo, offset], np.int32)
    params = [wide.encode(), out.ctypes.data.to_bytes(8, "little"), n_bytes.to_bytes(4, "little"), numbers.tobytes()]
    program = emulator.load(ptx(tensor.ndim, wide.mode, to), gpu_model="b200")
    emulator.launch(program, "load", (1, 1, 1), (1, 1, 1), params, memory, smem_bytes=out.nbytes, checks=checks)
    return out[:n_bytes]


def image(*shape: int) -> np.ndarray:
    return (np.arange(1, 1 + int(np.prod(shape))) % 2000).astype(np.float16).reshape(shape)


@st.composite
def columns(draw):
    """(tensor, map, coordinates, halo, offset), anywhere over the tensor's edges."""
    rank, mode = draw(st.integers(3, 5)), draw(st.integers(0, 1))
    channels, width = draw(st.sampled_from([8, 16, 32])), draw(st.integers(1, 40))
    tensor = image(draw(st.integers(1, 20)), *(draw(st.integers(1, 3)) for _ in range(rank - 3)), width, 40)
    lower = draw(st.integers(-2, 1))
    upper = draw(st.integers(max(-2, lower - width + 1), 3))
    swizzle = draw(st.sampled_from([s for s in (64, 128) if channels * 2 <= s]))
    wide = wide_of(tensor, lower, upper, channels, draw(st.integers(1, 70)), draw(st.integers(1, 3)), mode, swizzle)
    at = (8 * draw(st.integers(-1, 5)), draw(st.integers(lower - 2, width - 1 + upper)),
          *(draw(st.integers(-1, 3)) for _ in range(rank - 3)), draw(st.integers(-1, tensor.shape[0])))  # fmt: skip
    return tensor, wide, at, draw(st.sampled_from([0, 0, 1, 2, 31])), draw(st.sampled_from([0, 0, 1, 2, 31]))


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(columns(), st.sampled_from(["shared::cta", "shared::cluster"]))
def test_columns_equal_the_model(case, to):
    tensor, wide, at, halo, offset = case
    expected, is_defined = model(tensor, wide, at, halo, offset)
    if not is_defined:
        with pytest.raises(emulator.Fault, match="the halo goes past the last pixel of a row of the box"):
            load(tensor, wide, at, halo, offset)
        return
    span = {number: span for span, number in SWIZZLES.items()}[wide.swizzle]
    raw = expected.view(np.uint8).reshape(-1)
    whole = len(raw) // 128 * 128  # a last part of a line is not swizzled within the bytes of the column alone
    got = load(tensor, wide, at, halo, offset, to=to)
    assert got[:whole].tolist() == swizzled(raw, span)[:whole].tolist()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(columns())
def test_a_map_is_decoded(case):
    _, wide, *_ = case
    found = decode(wide.encode())
    assert found == (Wide(**{**vars_of(wide), "pixels": 128}) if wide.mode else wide)


def vars_of(wide: Wide) -> dict:
    return {name: getattr(wide, name) for name in wide.__dataclass_fields__}


def test_the_example_of_the_isa_with_128_pixels_and_two_of_the_halo():
    """PTX ISA 5.5.5.3: 130 pixels from (7, 2, 3, 0) on; the third coordinate is the same row of each image."""
    tensor = image(64, 7, 9, 128)
    wide = wide_of(tensor, 0, 0, 64, 128, 1, swizzle=128)
    got = unswizzled(load(tensor, wide, (8, 2, 3, 0), 2, 0))
    flat = tensor[:, 3, :, 8:72].reshape(-1, 64)  # rows of 9 pixels, image by image
    np.testing.assert_array_equal(got, flat[2 : 2 + 130])


def unswizzled(raw: np.ndarray) -> np.ndarray:
    """Pixels of 64 channels, whose 128 bytes are swizzled."""
    chunks = raw.reshape(-1, 8, 16)
    rows = np.array([line[np.arange(8) ^ number % 8] for number, line in enumerate(chunks)], np.uint8)
    return rows.reshape(-1).view(np.float16).reshape(-1, 64)


@pytest.mark.parametrize("step, taps", [(2, [(0, 0), (1, 0), (0, 1)]), (3, [(0, 0), (1, 0), (2, 0)])])
def test_buffers_of_a_strided_filter_give_the_convolution(step, taps):
    """PTX ISA 5.5.5.4, the examples: each tap of a filter of three is a buffer, at an offset, from a pixel on."""
    tensor = image(64, 7, 9 if step == 2 else 7, 128)
    upper = 0 if step == 2 else -1
    wide = wide_of(tensor, -1, upper, 64, 128, step, swizzle=128)
    width = len(range(-1, tensor.shape[2] + upper, step))
    padded = np.pad(tensor, ((0, 0), (0, 0), (1, 8), (0, 0)))
    firsts = range(0, width * step, step)
    for tap, (offset, later) in enumerate(taps):
        halo = max(each for at, each in taps if at == offset)
        got = unswizzled(load(tensor, wide, (0, -1, 2, 0), halo, offset))
        wanted = padded[:, 2, [first + tap for first in firsts], :64].reshape(-1, 64)[:128]
        np.testing.assert_array_equal(got[later : later + 128], wanted)


def test_groups_of_32_pixels_have_their_own_halo():
    tensor = image(4, 2, 160, 64)
    wide = wide_of(tensor, 0, 0, 64, 1, 1, mode=1, swizzle=128)
    got = unswizzled(load(tensor, wide, (0, 5, 1, 2), 3, 1)).reshape(4, 35, 64)
    for number, group in enumerate(got):
        first = 6 + 32 * number
        np.testing.assert_array_equal(group, tensor[2, 1, first : first + 35])


def test_no_finding_in_a_right_program():
    tensor = image(8, 2, 20, 64)
    got = load(tensor, wide_of(tensor, 0, 0, 8, 37, 1), (0, 0, 1, 2), 3, 0, checks=("race", "undefined"))
    assert got.any()


@pytest.mark.parametrize("allocated", [0, 1])
def test_bytes_of_the_halo_are_in_bounds_too(allocated):
    """The last pixel of the halo is the last of the tensor that is touched."""
    tensor = image(1, 1, 40, 8)
    wide = wide_of(tensor, 0, 0, 8, 4, 1)
    nbytes = 6 * 16 - 16 * (not allocated)
    if allocated:
        load(tensor, wide, (0, 0, 0, 0), 2, 0, allocated_bytes=nbytes)
        return
    with pytest.raises(emulator.Fault) as caught:
        load(tensor, wide, (0, 0, 0, 0), 2, 0, allocated_bytes=nbytes)
    assert caught.value.kind == "out_of_bounds"


RUN_TIME = [
    (0, 512, 0, 0, "wHalo of `cp.async.bulk.tensor.4d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes` must be 0 to "
     "511, got 512"),
    (1, 32, 0, 0, "must be 0 to 31, got 32"),
    (0, 0, 32, 0, "wOffset of `cp.async.bulk.tensor.4d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes` must be 0 to "
     "31, got 32"),
    (0, 0, 0, 10, "the first pixel, 10 along W, is past the last one of the box of the tensor map"),
    (0, 1, 0, 7, "the halo goes past the last pixel of a row of the box; no document gives its pixels"),
]  # fmt: skip


@pytest.mark.parametrize("mode, halo, offset, first, why", RUN_TIME, ids=[row[-1][:30] for row in RUN_TIME])
def test_wrong_numbers_at_run_time(mode, halo, offset, first, why):
    tensor = image(3, 2, 10, 8)
    with pytest.raises(emulator.Fault) as caught:
        load(tensor, wide_of(tensor, 0, 0, 8, 3, 1, mode), (0, first, 0, 0), halo, offset)
    assert why in str(caught.value) and "fix: " in str(caught.value)


def test_the_map_has_the_mode_of_the_instruction():
    tensor = image(3, 2, 10, 8)
    wide = wide_of(tensor, 0, 0, 8, 3, 1)
    for other in (wide_of(tensor, 0, 0, 8, 3, 1, mode=1), column_of(tensor, (0, 0), (0, 0), 8, 3, (1, 1, 1, 1))):
        program = emulator.load(ptx(4, 0, "shared::cta"), gpu_model="b200")
        memory = emulator.Memory()
        memory.register(tensor.ctypes.data, tensor.nbytes, "tensor")
        params = [other.encode(), bytes(8), (48).to_bytes(4, "little"), bytes(28)]
        with pytest.raises(emulator.Fault) as caught:
            emulator.launch(program, "load", (1, 1, 1), (1, 1, 1), params, memory, smem_bytes=128)
        assert caught.value.kind == "illegal"
    assert decode(wide.encode()) == wide


WRONG = [
    ({"lower": -32769}, "the lower corner of the box must be -32768 to 32767, got -32769"),
    ({"upper": 32768}, "the upper corner of the box must be -32768 to 32767, got 32768"),
    ({"lower": 6, "upper": -1}, "the box from 6 to 4 is empty"),
    ({"pixels": 1025}, "pixels of a column must be 1 to 1024, got 1025"),
    ({"mode": 2}, "the mode of a wide im2col map must be 0 or 1, got 2"),
    ({"swizzle": 32}, "a wide im2col map has a swizzle of mode 2, 3 or 4, got 1"),
    ({"swizzle": None}, "a wide im2col map has a swizzle of mode 2, 3 or 4, got 0"),
    ({"channels": 4}, "a row of the box has 8 bytes; it has to be a multiple of 16"),
]


@pytest.mark.parametrize("change, text", WRONG, ids=[text[:30] for _, text in WRONG])
def test_maps_that_the_driver_refuses(change, text):
    tensor = image(2, 5, 6, 8)
    arguments = {"lower": 0, "upper": 0, "channels": 8, "pixels": 4, "step": 1} | change
    with pytest.raises(BadTensorMap) as raised:
        wide_of(tensor, **arguments).encode()
    assert str(raised.value) == text


def test_hopper_has_no_wide_maps_and_pixels_of_128_are_not_looked_at():
    tensor = image(2, 5, 6, 8)
    with pytest.raises(BadTensorMap, match="a wide im2col map needs compute capability 10.0; this device has 9.0"):
        wide_of(tensor, 0, 0, 8, 4, 1).encode((9, 0))
    assert decode(wide_of(tensor, 0, 0, 8, 5000, 1, mode=1).encode()).pixels == 128
