"""Arguments that the driver's encoder refuses, and its 128 bytes, equal to the bytes of NVIDIA's compiler.
CUDA driver API, cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col."""

from __future__ import annotations

import numpy as np
import pytest

from dsl.emulator.families.tensor_map.tensor_map import BadTensorMap, Im2col, Tiled, decode

GOOD = Tiled(6, 4096, (64, 64), (128,), (64, 8), (1, 1))
BAD = [
    ({"address": 4104}, "its address must be a multiple of 16 bytes, got 0x1008"),
    ({"strides": (130,)}, "the stride of dimension 1 is 130 bytes; it has to be a multiple of 16 below 2**40"),
    ({"box": (64, 257)}, "extent 1 of the box must be 1 to 256, got 257"),
    ({"box": (4, 8)}, "a row of the box has 8 bytes; it has to be a multiple of 16"),
    ({"box": (128, 8), "swizzle": 3}, "a row of the box has 256 bytes, but a swizzle of 128 bytes takes at most 128"),
    ({"steps": (1, 9)}, "element stride 1 must be 1 to 8, got 9"),
    ({"extents": (0, 64)}, "extent 0 must be 1 to 2**32, got 0"),
    ({"dtype": 13}, "a tensor map of data type 13 needs compute capability 10.0; this device has 9.0"),
    ({"interleave": 1}, "an interleaved tensor has 3 to 5 dimensions, got 2"),
    ({"swizzle": 4}, "a swizzle of mode 4 needs compute capability 10.0; this device has 9.0"),
    ({"dtype": 1, "fill": 1}, "only elements of a floating-point type are filled with NaN"),
]
NARROW = Tiled(14, 4096, (256, 64), (128,), (128, 8), (1, 1))
BAD_OF_BLACKWELL = [
    ({"dtype": 16}, "a tensor map of data type 16 does not exist"),
    ({"swizzle": 7}, "a swizzle of mode 7 does not exist"),
    ({"dtype": 13, "extents": (255, 64)}, "extent 0 of elements of 4 bits must be a multiple of 2, got 255"),
    ({"dtype": 13, "box": (16, 8)}, "a row of the box has 8 bytes; it has to be a multiple of 16"),
    ({"dtype": 13, "fill": 1}, "only elements of a floating-point type are filled with NaN"),
    ({"address": 4112}, "its address must be a multiple of 32 bytes, got 0x1010"),
    ({"strides": (144,)}, "the stride of dimension 1 is 144 bytes; it has to be a multiple of 32 below 2**40"),
    ({"extents": (192, 64)}, "extent 0 of padded elements of 4 bits must be a multiple of 128, got 192"),
    (
        {"dtype": 15, "strides": (192,), "box": (64, 8)},
        "extent 0 of a box of padded elements of 6 bits must be 128, got 64",
    ),
    ({"swizzle": 6}, "padded elements of 4 bits have no swizzle of mode 6"),
    ({"dtype": 15, "strides": (192,), "swizzle": 1}, "padded elements of 6 bits have no swizzle of mode 1"),
]


@pytest.mark.parametrize("change, text", BAD_OF_BLACKWELL, ids=[text[:40] for _, text in BAD_OF_BLACKWELL])
def test_maps_that_the_driver_of_blackwell_refuses(change, text):
    """cuda.h of CUDA 13.0, cuTensorMapEncodeTiled."""
    assert NARROW.encode((10, 0))
    with pytest.raises(BadTensorMap) as caught:
        Tiled(**{**vars_of(NARROW), **change}).encode((10, 0))
    assert str(caught.value) == text


@pytest.mark.parametrize("change, text", BAD, ids=[text[:30] for _, text in BAD])
def test_maps_that_the_driver_refuses(change, text):
    with pytest.raises(BadTensorMap) as caught:
        Tiled(**{**vars_of(GOOD), **change}).encode()
    assert str(caught.value) == text


def vars_of(tiled: Tiled) -> dict:
    return {name: getattr(tiled, name) for name in tiled.__dataclass_fields__}


# (dtype, extents, strides, box, swizzle) and words 2 to 14 of what a host function by NVIDIA's compiler (4.8.1) wrote.
SEEN = [
    ((0, (512, 256), (512,), (32, 64), 0), "240012 20 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
    ((1, (512, 256), (1024,), (32, 64), 0), "240092 40 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
    ((2, (512, 256), (2048,), (32, 64), 0), "240112 80 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
    ((4, (512, 256), (4096,), (32, 64), 0), "240212 100 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
    ((6, (512, 256), (1024,), (32, 64), 0), "240312 40 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
    ((7, (512, 256), (2048,), (32, 64), 0), "240392 80 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
    ((8, (512, 256), (4096,), (32, 64), 0), "240492 100 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
    ((9, (512, 256), (1024,), (32, 64), 0), "240512 40 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
    ((11, (512, 256), (2048,), (32, 64), 0), "250392 80 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
    ((6, (512, 256), (1024,), (16, 1), 1), "242312 40 0 0 0 0 1ff ff 0 0 0 f000000 0"),
    ((6, (512, 256), (1024,), (32, 1), 2), "244312 40 0 0 0 0 1ff ff 0 0 0 1f000000 0"),
    ((6, (512, 256), (1024,), (64, 64), 3), "246312 40 0 0 0 0 1ff ff 0 0 0 3f000000 3f"),
    ((6, (64, 96), (128,), (8, 16), 0), "40312 8 0 0 0 0 3f 5f 0 0 0 7000000 f"),
    ((6, (64,), (), (32,), 0), "40302 0 0 0 0 0 3f 0 0 0 0 1f000000 0"),
    ((6, (64, 16, 8), (128, 2048), (16, 4, 2), 0), "40322 8 80 0 0 0 3f f 7 0 0 f000000 103"),
    ((6, (64, 16, 8, 3), (128, 2048, 16384), (16, 4, 2, 1), 0), "40332 8 80 400 0 0 3f f 7 2 0 f000000 103"),
    ((6, (504, 250), (1008,), (256, 8), 0), "240312 3f 0 0 0 0 1f7 f9 0 0 0 ff000000 7"),
]


@pytest.mark.parametrize("described, words", SEEN, ids=range(len(SEEN)))
def test_a_map_is_what_nvidias_compiler_writes(described, words):
    dtype, extents, strides, box, swizzle = described
    made = Tiled(dtype, 0x7F0DB86E0040, extents, strides, box, (1,) * len(extents), swizzle=swizzle).encode()
    expected = [0xB86E0040, 0x7F0D, *(int(word, 16) for word in words.split()), 0]
    assert np.frombuffer(made, np.uint32)[:16].tolist() == expected and len(made) == 128
    assert decode(made) == Tiled(dtype, 0x7F0DB86E0040, extents, strides, box, (1,) * len(extents), swizzle=swizzle)


# The same for sm_100a: 4 bits packed and padded, 6 bits, and atoms of 32 and 64 bytes.
SEEN_OF_BLACKWELL = [
    ((13, (512, 256), (256,), (64, 64), 0), "40592 10 0 0 0 0 1ff ff 0 0 0 3f000000 3f"),
    ((13, (512, 256), (256,), (256, 64), 3), "46592 10 0 0 0 0 1ff ff 0 0 0 ff000000 3f"),
    ((13, (512, 256), (256,), (128, 64), 2), "44592 10 0 0 0 0 1ff ff 0 0 0 7f000000 3f"),
    ((14, (512, 256), (256,), (128, 64), 0), "40612 10 0 0 0 0 1ff ff 0 0 0 7f000000 3f"),
    ((14, (512, 256), (256,), (128, 64), 3), "46612 10 0 0 0 0 1ff ff 0 0 0 7f000000 3f"),
    ((15, (512, 256), (384,), (128, 64), 0), "40692 18 0 0 0 0 1ff ff 0 0 0 7f000000 3f"),
    ((15, (512, 256), (384,), (128, 64), 3), "46692 18 0 0 0 0 1ff ff 0 0 0 7f000000 3f"),
    ((6, (512, 256), (1024,), (64, 64), 4), "2c6312 40 0 0 0 0 1ff ff 0 0 0 3f000000 3f"),
    ((6, (512, 256), (1024,), (64, 64), 6), "3c6312 40 0 0 0 0 1ff ff 0 0 0 3f000000 3f"),
    ((7, (512, 256), (2048,), (32, 64), 4), "2c6392 80 0 0 0 0 1ff ff 0 0 0 1f000000 3f"),
]


@pytest.mark.parametrize("described, words", SEEN_OF_BLACKWELL, ids=range(len(SEEN_OF_BLACKWELL)))
def test_a_map_of_blackwell_is_what_nvidias_compiler_writes(described, words):
    dtype, extents, strides, box, swizzle = described
    arguments = Tiled(dtype, 1 << 20, extents, strides, box, (1, 1), swizzle=swizzle)
    made = arguments.encode((10, 0))
    assert np.frombuffer(made, np.uint32)[2:16].tolist() == [*(int(word, 16) for word in words.split()), 0]
    assert decode(made) == arguments


# (dtype, extents, lower, upper, steps, channels, pixels, swizzle) of packed tensors, and words 2 to 15 that it wrote.
SEEN_COLUMNS = [
    ((6, (32, 7, 6, 2), (3, -5), (0, -2), (1, 1), 16, 16, 0), "40333 4 1c a8 0 0 1f 6 5 1 0 f000000 fe00fb03 f"),
    ((6, (32, 7, 6, 2), (-1, 0), (-1, 0), (8, 3), 32, 300, 3), "46333 4 1c a8 0 0 1f 6 5 1 0 1f0000b8 ff00ff 12b"),
    ((11, (32, 7, 6, 2), (0, 0), (0, 0), (1, 1), 16, 1024, 0), "503b3 8 38 150 0 0 1f 6 5 1 0 f000000 0 3ff"),
    ((6, (32, 7, 2), (-3,), (4,), (2,), 16, 16, 0), "40323 4 1c 0 0 0 1f 6 1 0 0 f000008 4fffd f"),
    ((6, (32, 70007, 2), (32767,), (-32768,), (8,), 16, 16, 0),
     "240323 4 445dc 0 0 0 1f 11176 1 0 0 f000038 80007fff f"),
    ((6, (32, 7, 6, 5, 2), (-1, -2, -3), (1, 2, 3), (2, 3, 4), 16, 16, 0),
     "40343 4 1c a8 348 0 1f 6 5 4 1 f000688 c4177df f"),
]  # fmt: skip


@pytest.mark.parametrize("described, words", SEEN_COLUMNS, ids=range(len(SEEN_COLUMNS)))
def test_a_map_of_columns_is_what_nvidias_compiler_writes(described, words):
    dtype, extents, lower, upper, steps, channels, pixels, swizzle = described
    strides = tuple(np.multiply.accumulate(extents)[:-1].tolist())
    strides = tuple(stride * (4 if dtype == 11 else 2) for stride in strides)
    column = Im2col(dtype, 4096, extents, strides, lower, upper, channels, pixels, (1, *steps, 1), swizzle=swizzle)
    made = column.encode()
    assert np.frombuffer(made, np.uint32)[2:].tolist() == [*(int(word, 16) for word in words.split()), *(0,) * 16]
    assert decode(made) == column


@pytest.mark.parametrize(
    "byte, bit, is_map",
    [(8, 1, False), (9, 0x80, False), (12, 1, True), (55, 1, False), (30, 1, False), (52, 8, True), (127, 1, False)],
    ids=["mode", "swizzle", "stride", "box of half a chunk", "NaN for integers", "element stride", "after the fields"],
)
def test_only_bytes_that_arguments_can_make_are_a_map(byte, bit, is_map):
    made = bytearray(Tiled(2, 0x7F0DB86E0040, (512, 256), (2048,), (32, 64), (1, 3)).encode())
    assert decode(bytes(made)).steps == (1, 3)
    made[byte] ^= bit
    assert (decode(bytes(made)) is not None) == is_map
