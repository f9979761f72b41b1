"""Columns of pixels against a numpy model that is written from the PTX ISA: 5.5.4 (im2col mode)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dsl import emulator
from dsl.emulator.families.tensor_map.tensor_map import BadTensorMap, Im2col, decode
from tests.emulator.families.tensor_map.test_box_copies import SWIZZLES, swizzled, words

_TEMPLATE = """
.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry load(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 n, .param .align 4 .b8 at[32])
{{
  .shared .align 8 .b64 bar; .reg .b32 %c<8>, %b, %s, %n, %v; .reg .b16 %h<3>; .reg .b64 %m, %o, %w; .reg .pred %p;
  mov.b64 %m, map; cvta.param.u64 %m, %m; ld.param.u64 %o, [out]; ld.param.u32 %n, [n]; mov.u32 %b, bar;
  mov.u32 %s, smem;
  {loads}
  mbarrier.init.shared.b64 [%b], 1;
  mbarrier.arrive.expect_tx.shared.b64 %w, [%b], %n;
  cp.async.bulk.tensor.{rank}d.im2col.shared::cluster.global.mbarrier::complete_tx::bytes \
[%s], [%m, {{{names}}}], [%b], {{{offsets}}};
wait:
  mbarrier.try_wait.parity.shared.b64 %p, [%b], 0; @!%p bra wait;
  add.u32 %n, %n, 127; and.b32 %n, %n, 0xFFFFFF80;
again:
  ld.shared.b32 %v, [%s]; st.global.b32 [%o], %v; add.u32 %s, %s, 4; add.u64 %o, %o, 4; sub.u32 %n, %n, 4;
  setp.ne.u32 %p, %n, 0; @%p bra again;
  ret;
}}
"""


def ptx(rank: int) -> str:
    loads = [f"ld.param.b32 %c{i}, [at+{4 * i}];" for i in range(8)]
    loads += [f"cvt.u16.u32 %h{i}, %c{5 + i};" for i in range(3)]
    names, offsets = ", ".join(f"%c{i}" for i in range(rank)), ", ".join(f"%h{i}" for i in range(rank - 2))
    return _TEMPLATE.format(rank=rank, loads=" ".join(loads), names=names, offsets=offsets)


def model(tensor: np.ndarray, column: Im2col, at: tuple, offsets: tuple) -> np.ndarray:
    """The pixels of a column, one row of channels each: tensor[n, d, h, w, c]."""
    rows = [[0 if index is None else tensor[index] for index in row] for row in indices(tensor, column, at, offsets)]
    return np.array(rows, tensor.dtype)


def indices(tensor: np.ndarray, column: Im2col, at: tuple, offsets: tuple) -> list[list[tuple | None]]:
    """The index of each channel of each pixel; None outside the tensor."""
    channel, *place = at
    extents, rows = tensor.shape[::-1], []
    for _ in range(column.pixels):
        here = [p + o for p, o in zip(place, (*offsets, 0))]
        inside = all(0 <= p < e for p, e in zip(here, extents[1:]))
        row = [(*here[::-1], c) if inside and 0 <= c < extents[0] else None
               for c in range(channel, channel + column.channels)]  # fmt: skip
        rows.append(row)
        for i in range(len(place)):
            place[i] += column.steps[1 + i]
            if i == len(place) - 1 or place[i] <= extents[1 + i] - 1 + column.upper[i]:
                break
            place[i] = column.lower[i]
    return rows


def column_of(tensor, lower, upper, channels, pixels, steps, swizzle=None, dtype=6) -> Im2col:
    return Im2col(dtype, tensor.ctypes.data, tensor.shape[::-1], tensor.strides[::-1][1:], lower, upper, channels, pixels,
                  steps, swizzle=SWIZZLES[swizzle])  # fmt: skip


def load(tensor, column, at, offsets, allocated_bytes=None) -> np.ndarray:
    n_bytes = column.pixels * column.channels * tensor.itemsize
    out = np.zeros(-(-n_bytes // 128) * 128, np.uint8)
    memory = emulator.Memory()
    memory.register(tensor.ctypes.data, tensor.nbytes if allocated_bytes is None else allocated_bytes, "tensor")
    memory.register(out.ctypes.data, out.nbytes, "out")
    coordinates = [*at, *(0,) * (5 - len(at)), *offsets, *(0,) * (3 - len(offsets))]
    params = [column.encode(), out.ctypes.data.to_bytes(8, "little"), n_bytes.to_bytes(4, "little"),
              np.array(coordinates, np.int32).tobytes()]  # fmt: skip
    program = emulator.load(ptx(tensor.ndim))
    emulator.launch(program, "load", (1, 1, 1), (1, 1, 1), params, memory, smem_bytes=out.nbytes)
    return out[:n_bytes]


@st.composite
def columns(draw):
    """(tensor, column, coordinates, offsets), anywhere over the tensor's edges."""
    rank = draw(st.integers(3, 5))
    channels = draw(st.sampled_from([8, 16, 32]))
    tensor = np.arange(1, 1 + int(np.prod(shape := [draw(st.integers(1, 5)) for _ in range(rank - 1)])) * 40)
    tensor = (tensor % 2000).astype(np.float16).reshape(*shape, 40)
    extents = tensor.shape[::-1][1:-1]
    lower = tuple(draw(st.integers(-2, 1)) for _ in extents)
    upper = tuple(draw(st.integers(max(-2, low - extent + 1), 3)) for extent, low in zip(extents, lower))
    steps = (1, *(draw(st.sampled_from([1, 1, 2, 3])) for _ in extents), 1)
    swizzle = draw(st.sampled_from([None, *(s for s in (32, 64, 128) if channels * 2 <= s)]))
    column = column_of(tensor, lower, upper, channels, draw(st.integers(1, 20)), steps, swizzle)
    at = (8 * draw(st.integers(-1, 5)), *(draw(st.integers(low, e)) for low, e in zip(lower, extents)),
          draw(st.integers(0, tensor.shape[0])))  # fmt: skip
    return tensor, column, at, tuple(draw(st.integers(0, 3)) for _ in extents)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(columns())
def test_columns_equal_the_model(case):
    tensor, column, at, offsets = case
    assert decode(column.encode()) == column
    swizzle = {number: span for span, number in SWIZZLES.items()}[column.swizzle]
    raw = model(tensor, column, at, offsets).view(np.uint8).reshape(-1)
    expected = swizzled(raw, swizzle)
    got = load(tensor, column, at, offsets)
    if swizzle is None:
        assert got.tolist() == raw.tolist()
    else:
        whole = len(raw) // 128 * 128  # a last part of a line is not swizzled within the bytes of the column alone
        assert got[:whole].tolist() == expected[:whole].tolist()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(columns(), st.integers(0, 100))
def test_a_tensor_of_which_only_a_part_is_allocated(case, percent):
    """A fault if a channel inside the tensor is after the allocation, and no other."""
    tensor, column, at, offsets = case
    touched = [index for row in indices(tensor, column, at, offsets) for index in row if index is not None]
    last = max((int(np.ravel_multi_index(index, tensor.shape)) for index in touched), default=-1)
    allocated = tensor.size * percent // 100
    if last < allocated:
        load(tensor, column, at, offsets, 2 * allocated)
        return
    with pytest.raises(emulator.Fault) as caught:
        load(tensor, column, at, offsets, 2 * allocated)
    assert caught.value.kind == "out_of_bounds"


def test_a_filter_of_3_by_3_with_padding_is_a_convolution():
    """The use of it: 9 taps, each one column over all output pixels, give the patches of im2col."""
    image = np.random.default_rng(0).integers(0, 100, (2, 5, 6, 8)).astype(np.float16)
    column = column_of(image, (-1, -1), (-1, -1), 8, 2 * 5 * 6, (1, 1, 1, 1))
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1), (0, 0)))
    for r, s in itertools.product(range(3), range(3)):
        got = load(image, column, (0, -1, -1, 0), (s, r)).view(np.float16).reshape(2, 5, 6, 8)
        assert (got == padded[:, r : r + 5, s : s + 6]).all()


WRONG = [
    ({"lower": (-129, 0)}, "the lower corner of the box must be -128 to 127, got -129"),
    ({"upper": (0, 128)}, "the upper corner of the box must be -128 to 127, got 128"),
    ({"lower": (5, 0), "upper": (-2, 0)}, "the box from 5 to 3 is empty"),
    ({"pixels": 0}, "pixels of a column must be 1 to 1024, got 0"),
    ({"pixels": 1025}, "pixels of a column must be 1 to 1024, got 1025"),
    ({"channels": 4}, "a row of the box has 8 bytes; it has to be a multiple of 16"),
    ({"channels": 264}, "extent 0 of the box must be 1 to 256, got 264"),
]


@pytest.mark.parametrize("change, text", WRONG, ids=[text[:30] for _, text in WRONG])
def test_maps_that_the_driver_refuses(change, text):
    tensor = np.zeros((2, 5, 6, 8), np.float16)
    arguments = {"lower": (0, 0), "upper": (0, 0), "channels": 8, "pixels": 4, "steps": (1, 1, 1, 1)} | change
    with pytest.raises(BadTensorMap) as raised:
        column_of(tensor, **arguments).encode()
    assert str(raised.value) == text


def test_an_instruction_in_another_mode_is_refused():
    tensor = np.zeros((2, 5, 6, 8), np.float16)
    column = column_of(tensor, (0, 0), (0, 0), 8, 4, (1, 1, 1, 1))
    tiled = column._tiled()
    memory = emulator.Memory()
    memory.register(tensor.ctypes.data, tensor.nbytes, "tensor")
    params = [tiled.encode(), bytes(8), (64).to_bytes(4, "little"), words([0] * 5) + bytes(12)]
    with pytest.raises(emulator.Fault) as raised:
        emulator.launch(emulator.load(ptx(4)), "load", (1, 1, 1), (1, 1, 1), params, memory, smem_bytes=128)
    assert raised.value.kind == "illegal"
