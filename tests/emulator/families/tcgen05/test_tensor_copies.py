"""tcgen05.cp: which 16 bytes of shared memory are in which lanes and columns, and elements that it widens.

The table of lanes is written from PTX ISA 9.0, section 9.7.16.9.2. C++ tested here: tensor_copies.cc, matrix_reads.h.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.families.tcgen05 import program
from tests.emulator.families.tcgen05.matrices import CHUNK, SWIZZLES, Layout

COLUMNS, LANES = 64, 128
# chunks of 16 bytes in a row, and the lanes of each row
SHAPES = {
    "128x256b": (2, {row: [row] for row in range(128)}),
    "128x128b": (1, {row: [row] for row in range(128)}),
    "4x256b": (2, {0: [0], 1: [32], 2: [64], 3: [96]}),
    "64x128b.warpx2::02_13": (1, {row: [row, row + 64] for row in range(64)}),
    "64x128b.warpx2::01_23": (1, {row: [row + row // 32 * 32, row + row // 32 * 32 + 32] for row in range(64)}),
    "32x128b.warpx4": (1, {row: [row, row + 32, row + 64, row + 96] for row in range(32)}),
}
NARROW = {"": 8, ".b8x16.b4x16_p64": 4, ".b8x16.b6x16_p32": 6}


def layouts() -> list[Layout]:
    """Two without a swizzle, and each swizzle from a start that is and that is not aligned to its pattern."""
    plain = [Layout(0, False, 1024, 128, 256), Layout(0, False, 2048 + 16, 4096, 144)]
    found = [Layout(each, False, 1024, CHUNK, 8 * CHUNK * SWIZZLES[each][0]) for each in (6, 4, 2)]
    return [*plain, *found, Layout(2, False, 4096 + 256, CHUNK, 1024, base=2)]


def widened(chunk: np.ndarray, width: int) -> np.ndarray:
    """16 bytes of 16 elements of `width` bits, in the low bits; 4 bits are in the middle of their byte. ISA 9.7.16.9.1"""
    if width == 8:
        return chunk
    bits = np.unpackbits(chunk, bitorder="little")[: CHUNK * width].reshape(CHUNK, width)
    return (np.packbits(bits, axis=1, bitorder="little")[:, 0] << (2 if width == 4 else 0)).astype(np.uint8)


def expected(cells: np.ndarray, image: np.ndarray, layout: Layout, shape: str, width: int, column: int) -> np.ndarray:
    chunks, lanes = SHAPES[shape]
    after = cells.copy()
    for row, targets in lanes.items():
        for chunk in range(chunks):
            address = int(layout.address(np.array(row), np.array(chunk)))
            words = widened(image[address : address + CHUNK], width).view(np.uint32)
            after[targets, column + 4 * chunk : column + 4 * chunk + 4] = words
    return after


def check(shape: str, layout: Layout, narrow: str, blocks: int, column: int) -> None:
    stream = np.random.default_rng(layout.start + blocks)
    cells = stream.integers(0, 1 << 32, (blocks, LANES, COLUMNS), np.uint32)
    images = stream.integers(0, 256, (blocks, program.SMEM_BYTES), np.uint8)
    operation = f"add.u32 %i, %d, {column};\ntcgen05.cp.cta_group::{blocks}.{shape}{narrow} [%i], %da;"
    source = program.descriptor(layout.start, layout.leading, layout.stride, layout.swizzle, layout.base)
    shared = [each[program.FIRST :].tobytes() for each in images]
    one = blocks == 1
    after = program.run(operation, cells[0] if one else cells, shared[0] if one else shared, source)
    wanted = [expected(*each, layout, shape, NARROW[narrow], column) for each in zip(cells, images)]
    assert np.array_equal(after.reshape(cells.shape), wanted), (shape, layout)


@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize("narrow", NARROW)
@pytest.mark.parametrize("shape", SHAPES)
def test_copies(shape, narrow, blocks):
    for layout in layouts():
        check(shape, layout, narrow, blocks, column=12)


def test_scales_for_a_product_come_from_an_atom_of_512_bytes():
    """Row m of 128 is at 16 * (m % 32) + 4 * (m / 32), as cuBLAS has scales; then in lane m % 32, word m / 32."""
    scales = np.random.default_rng(0).integers(0, 256, (128, 4), np.uint8)
    row, byte = np.mgrid[:128, :4]
    atom = np.zeros(512, np.uint8)
    atom[row % 32 * 16 + row // 32 * 4 + byte] = scales
    operation = "tcgen05.cp.cta_group::1.32x128b.warpx4 [%d], %da;"
    source = program.descriptor(program.FIRST, CHUNK, 128)
    after = program.run(operation, np.zeros((LANES, 32), np.uint32), atom.tobytes(), source)
    for quarter in range(4):
        words = after[row[:, 0] % 32 + 32 * quarter, row[:, 0] // 32]
        assert np.array_equal(words.view(np.uint8).reshape(128, 4), scales)
