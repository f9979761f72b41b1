"""Boxes of interleaved tensors, NC/8HWC8 and NC/16HWC16, against numpy written from the names of the layouts:
N, slices of channels, D, H, W, the channels of a slice. PTX ISA 5.5.6; CUDA driver API, cuTensorMapEncodeTiled."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dsl import emulator
from dsl.emulator.families.tensor_map.tensor_map import BadTensorMap, Tiled
from tests.emulator.families.tensor_map.test_box_copies import (
    DTYPES,
    SWIZZLES,
    aligned,
    assert_bounds,
    launch,
    swizzled,
)


def interleaved(tensor: np.ndarray, channels: int) -> np.ndarray:
    """(N, ..., C) as (N, C/channels, ..., channels), zeros after the last channel."""
    missing = -tensor.shape[-1] % channels
    padded = np.pad(tensor, [(0, 0)] * (tensor.ndim - 1) + [(0, missing)])
    return np.moveaxis(padded.reshape(*tensor.shape[:-1], -1, channels), -2, 1)


def map_of(memory: np.ndarray, channels: int, unit: int, box, steps, swizzle=None, **more) -> Tiled:
    """The map of an array of `interleaved` with `channels` channels: dimension 0 is C, then W, H, D, N."""
    extents = channels, *memory.shape[2:-1][::-1], memory.shape[0]
    strides = *memory.strides[2:-1][::-1], memory.strides[0]
    return Tiled(DTYPES[memory.dtype], memory.ctypes.data, extents, strides, tuple(box), tuple(steps),
                 interleave=unit // 16, swizzle=SWIZZLES[swizzle], **more)  # fmt: skip


def model(tensor: np.ndarray, unit: int, box, steps, at) -> np.ndarray:
    """The box as it is in shared memory: the box of `tensor`, (N, ..., C), filled and interleaved."""
    channels = unit // tensor.itemsize
    counts = [-(-box[0] // channels) * channels, *(-(-b // s) for b, s in zip(box[1:], steps[1:]))]
    part = np.zeros(counts[::-1], tensor.dtype)
    for index in itertools.product(*map(range, counts[::-1])):
        place = [a + i * s for a, i, s in zip(at, index[::-1], (1, *steps[1:]))]
        if all(0 <= p < e for p, e in zip(place, tensor.shape[::-1])):
            part[index] = tensor[tuple(place[::-1])]
    return interleaved(part, channels)


@st.composite
def boxes(draw, types=(np.uint8, np.float16, np.int32)):
    """(tensor as (N, ..., C), unit of bytes, box, steps, swizzle, coordinates)."""
    dtype = np.dtype(draw(st.sampled_from(types)))
    unit = draw(st.sampled_from([16, 32]))
    rank, channels = draw(st.integers(3, 5)), unit // dtype.itemsize
    swizzle = 32 if unit == 32 else draw(st.sampled_from([None, 32, 64, 128]))
    shape = [draw(st.integers(1, 3 * channels)), *(draw(st.integers(1, 4)) for _ in range(rank - 1))]
    box = [draw(st.integers(1, 3 * channels)), *(draw(st.integers(1, 3)) for _ in range(rank - 1))]
    steps = [1, *(draw(st.sampled_from([1, 1, 2])) for _ in range(rank - 1))]
    at = [draw(st.integers(-2, 3)) * channels, *(draw(st.integers(-2, extent)) for extent in shape[1:])]
    tensor = (1 + np.arange(np.prod(shape)) % 250).astype(dtype).reshape(shape[::-1])
    return tensor, unit, box, steps, swizzle, at


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(boxes())
def test_a_box_of_slices_is_loaded_and_stored(case):
    tensor, unit, box, steps, swizzle, at = case
    memory = aligned(interleaved(tensor, unit // tensor.itemsize))
    box_in_shared = model(tensor, unit, box, steps, at)
    expected = swizzled(box_in_shared.reshape(-1).view(np.uint8), swizzle)
    out = np.zeros(len(expected), np.uint8)
    described = map_of(memory, tensor.shape[-1], unit, box, steps, swizzle)
    launch("load", memory, described, out, at, box_in_shared.nbytes)
    assert out.tolist() == expected.tolist()

    target = aligned(np.full_like(memory, 99))
    launch("store", target, map_of(target, tensor.shape[-1], unit, box, steps, swizzle), expected, at)
    channels = unit // tensor.itemsize
    stored = interleaved(tensor, channels)
    keeps = interleaved(np.ones_like(tensor, bool), channels)  # nothing is written after the last channel
    whole = [-(-box[0] // channels) * channels, *box[1:]]  # a box has whole slices
    for dimension, (start, extent, step) in enumerate(zip(at, whole, steps)):
        axis = tensor.ndim - 1 - dimension
        covered = np.isin(np.arange(tensor.shape[axis]), range(start, start + extent, step))
        covered = np.broadcast_to(np.expand_dims(covered, [a for a in range(tensor.ndim) if a != axis]), tensor.shape)
        keeps &= interleaved(covered, channels)
    assert target.tolist() == np.where(keeps, stored, 99).tolist()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["load", "store", "reduce"]), boxes((np.float16, np.int32)), st.integers(0, 100))
def test_a_tensor_of_which_only_a_part_is_allocated(entry, case, percent):
    """A fault if a channel inside the tensor is after the allocation, and no other."""
    tensor, unit, box, steps, swizzle, at = case
    channels = unit // tensor.itemsize
    memory = aligned(interleaved(tensor, channels))
    whole = [-(-box[0] // channels) * channels, *box[1:]]  # a box has whole slices
    sides = [range(start, start + extent, step) for start, extent, step in zip(at, whole, steps)]
    covered = [np.isin(np.arange(extent), side) for extent, side in zip(tensor.shape, sides[::-1])]
    inside = interleaved(functools.reduce(np.multiply.outer, covered), channels)
    described = map_of(memory, tensor.shape[-1], unit, box, steps, swizzle)
    n_bytes = model(tensor, unit, box, steps, at).nbytes
    part = memory.reshape(-1)[: memory.size * percent // 100]
    assert_bounds(entry, described, np.flatnonzero(inside).tolist(), n_bytes, part, at)


def test_a_box_by_hand():
    """NC/8HWC8 of (N, C, H, W) = (1, 20, 2, 3): 3 slices of 8 halves; channels 8 to 23 of the pixels of row 1."""
    nchw = np.arange(1, 121, dtype=np.float16).reshape(1, 20, 2, 3)
    memory = aligned(np.zeros((1, 3, 2, 3, 8), np.float16))
    for c, h, w in itertools.product(range(20), range(2), range(3)):
        memory[0, c // 8, h, w, c % 8] = nchw[0, c, h, w]
    described = Tiled(6, memory.ctypes.data, (20, 3, 2, 1), (16, 48, 288), (16, 3, 1, 1), (1,) * 4, interleave=1)
    out = np.zeros(128, np.uint8)
    launch("load", memory, described, out, (8, 0, 1, 0), 96)
    first = [[nchw[0, c, 1, w] for c in range(8, 16)] for w in range(3)]
    second = [[nchw[0, c, 1, w] if c < 20 else 0 for c in range(16, 24)] for w in range(3)]
    assert out[:96].view(np.float16).reshape(2, 3, 8).tolist() == [first, second]


def refused(described: Tiled, tensor: np.ndarray, at) -> str:
    with pytest.raises(emulator.Fault) as caught:
        launch("load", tensor, described, np.zeros(128, np.uint8), at)
    assert caught.value.kind in ("illegal", "out_of_bounds")
    return str(caught.value)


def test_copies_that_are_refused():
    memory = aligned(np.zeros((2, 2, 2, 2, 16), np.float16))
    described = map_of(memory, 32, 32, (16, 2, 2, 1), (1,) * 4, swizzle=32)
    text = refused(described, memory, (8, 0, 0, 0))
    assert "the box begins 16 bytes into a row of the tensor; it must begin at a multiple of 32" in text
    stepped = map_of(memory, 32, 32, (16, 2, 2, 1), (2, 1, 1, 1), swizzle=32)
    text = "a copy by an interleaved map of im2col, or with a step of channels, is not emulated"
    assert text in refused(stepped, memory, (0, 0, 0, 0))
    larger = map_of(memory, 40, 32, (16, 2, 2, 1), (1,) * 4, swizzle=32)  # a third slice is after the last image
    launch("load", memory, larger, np.zeros(128, np.uint8), (32, 0, 0, 0), 128)
    assert "just past the end of `tensor` (512 bytes)" in refused(larger, memory, (32, 0, 0, 1))


@pytest.mark.parametrize(
    "change, text",
    [
        ({"swizzle": 0}, "an interleave of 32 bytes needs a swizzle of 32 bytes"),
        ({"address": 4112}, "its address must be a multiple of 32 bytes, got 0x1010"),
        ({"strides": (48, 96)}, "the stride of dimension 1 is 48 bytes; it has to be a multiple of 32 below 2**40"),
        ({"interleave": 3}, "interleave must be 0 to 2, got 3"),
    ],
    ids=["swizzle", "address", "stride", "mode"],
)
def test_maps_that_the_driver_refuses(change, text):
    good = {"dtype": 6, "address": 4096, "extents": (16, 2, 2), "strides": (32, 64), "box": (16, 2, 1),
            "steps": (1, 1, 1), "interleave": 2, "swizzle": 1}  # fmt: skip
    Tiled(**good).encode()
    with pytest.raises(BadTensorMap) as caught:
        Tiled(**{**good, **change}).encode()
    assert str(caught.value) == text
