"""ldmatrix and stmatrix of rows of 16 elements of 8, 6 and 4 bits. PTX ISA 9.7.14.5.15, 9.7.14.5.16.

Transposed matrices have the layouts of SM100_U8x8_LDSM_T, SM100_U8x16_LDSM_T and SM100_U8x4_STSM_T in
include/cute/atom/copy_traits_sm100.hpp of NVIDIA/cutlass: shapes and strides from (thread, value) to a bit. The values of
the first two are those after the exchange of bytes that include/cute/arch/copy_sm100.hpp makes when it has loaded.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.families.matrix.test_emit import rows_kernel


def unfolded(number: int, modes) -> int:
    """The sum of the strides of a number's digits, the first mode fastest, as a CuTe layout maps an index."""
    total = 0
    for extent, stride in modes:
        total += number % extent * stride
        number //= extent
    return total


def place_in_square(lane: int, register: int, byte: int) -> tuple[int, int]:
    """(row as lanes name them, column) of a byte that a lane gets, by the bit that both sides of the layout give. CUTLASS
    makes {x0, y0, x1, y1} and {z0, w0, z1, w1} of the bytes x, y, z, w of two registers."""
    exchanged = [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3)].index((register % 2, byte))
    bit = unfolded(lane, ((4, 256), (8, 8)))
    bit += unfolded(exchanged + 8 * (register // 2), ((2, 128), (2, 64), (4, 1024)))
    row, column = divmod(bit // 8, 16)
    named = next(i for i in range(32) if unfolded(i, ((2, 1), (2, 8), (4, 2), (2, 16))) == row)
    return named, column


def packed(elements: np.ndarray, bits: int) -> np.ndarray:
    """Rows of 16 elements as 16 bytes: one after another from the lowest bit on, then padding that has ones."""
    out = np.full((len(elements), 16), 0xFF, np.uint8)
    for row, values in enumerate(elements.tolist()):
        number = sum(value << bits * i for i, value in enumerate(values))
        out[row, : 2 * bits] = list(number.to_bytes(2 * bits, "little"))
    return out


def ready(bits: int, seed: int):
    rng = np.random.default_rng(seed)
    elements = rng.integers(0, 1 << bits, (32, 16), dtype=np.uint8)
    named = rng.permutation(32).astype(np.uint32)
    return elements, packed(elements, bits), named


FORMATS = [(8, "b8"), (6, "b8x16.b6x16_p32"), (4, "b8x16.b4x16_p64")]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("bits, name", FORMATS)
def test_square_matrices_are_loaded(machine_100, ptxas, bits, name, count):
    elements, data, named = ready(bits, count)
    offsets = named * 16
    offsets[16 * count :] = 0xFFFFFF00  # no row: never looked at
    values = np.zeros((32, 2 * count, 4), np.uint8)
    kernel = rows_kernel(f"ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.{name}", 2 * count, True)
    machine_100.run(kernel, block=32, data=data, offsets=offsets, values=values)
    for lane, register, byte in itertools.product(range(32), range(2 * count), range(4)):
        row, column = place_in_square(lane, register, byte)
        assert values[lane, register, byte] == elements[named[row], column]
    ptxas(machine_100.header + kernel, "sm_100a")


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("bits, name", FORMATS[1:])
def test_matrices_of_eight_rows_are_loaded(machine_100, ptxas, bits, name, count):
    """Four lanes have a row, four elements each."""
    elements, data, named = ready(bits, count)
    offsets = named * 16
    offsets[8 * count :] = 0xFFFFFF00
    values = np.zeros((32, count, 4), np.uint8)
    kernel = rows_kernel(f"ldmatrix.sync.aligned.m8n16.x{count}.shared.{name}", count, True)
    machine_100.run(kernel, block=32, data=data, offsets=offsets, values=values)
    wanted = elements[named[: 8 * count]].reshape(count, 8, 4, 4).transpose(1, 2, 0, 3).reshape(32, count, 4)
    np.testing.assert_array_equal(values, wanted)
    ptxas(machine_100.header + kernel, "sm_100a")


@pytest.mark.parametrize("count", [1, 2, 4])
def test_bytes_are_stored(machine_100, ptxas, count):
    _, data, named = ready(8, count)
    before = data.copy()
    offsets = named * 16
    offsets[8 * count :] = 0xFFFFFF00
    values = np.random.default_rng(count).integers(0, 256, (32, count, 4), dtype=np.uint8)
    kernel = rows_kernel(f"stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8", count, False)
    machine_100.run(kernel, block=32, data=data, offsets=offsets, values=values.copy())
    for lane, matrix, byte in itertools.product(range(32), range(count), range(4)):
        bit = unfolded(lane, ((4, 256), (8, 8))) + unfolded(byte, ((2, 128), (2, 64)))
        row, column = divmod(bit // 8, 16)
        assert data[named[8 * matrix + row], column] == values[lane, matrix, byte]
    np.testing.assert_array_equal(data[named[8 * count :]], before[named[8 * count :]])
    ptxas(machine_100.header + kernel, "sm_100a")


@pytest.mark.parametrize("offset, kind", [(504, "misaligned"), (512, "out_of_bounds")])
def test_each_of_sixteen_rows_is_checked(machine_100, offset, kind):
    offsets = np.zeros(32, np.uint32)
    offsets[15] = offset
    kernel = rows_kernel("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8", 2, True)
    with pytest.raises(emulator.Fault) as caught:
        machine_100.run(kernel, block=32, data=np.zeros(512, np.uint8), offsets=offsets, values=np.zeros(64, np.uint32))
    assert caught.value.kind == kind and caught.value.thread == (15, 0, 0)


PADDED = """
.visible .entry k(.param .u64 out)
{
  .shared .align 16 .b8 rows[512];
  .reg .b32 %a, %x, %r<2>; .reg .b64 %o;
  mov.u32 %x, %tid.x; mov.u32 %a, rows; mad.lo.u32 %a, %x, 16, %a; ld.param.u64 %o, [out]; mad.wide.u32 %o, %x, 4, %o;
  st.shared.v2.b32 [%a], {%x, %x}; MORE
  bar.warp.sync -1; xor.b32 %a, %a, 16;
  ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.FORMAT {%r0}, [%a]; st.global.b32 [%o], %r0; ret;
}
"""


@pytest.mark.parametrize("name, more", [("b4x16_p64", ""), ("b6x16_p32", "st.shared.b32 [%a+8], %x;")])
def test_padding_may_be_unwritten(machine_100, name, more):
    text = PADDED.replace("FORMAT", name).replace("MORE", more)
    machine_100.run(text, block=32, out=np.zeros(32, np.uint32), checks=("race", "undefined"))
    if more:
        with pytest.raises(emulator.Fault, match="UNDEFINED_READ"):
            machine_100.run(text.replace(more, ""), block=32, out=np.zeros(32, np.uint32), checks=("undefined",))
    with pytest.raises(emulator.Fault, match="RACE"):
        machine_100.run(text.replace("bar.warp.sync -1;", ""), block=32, out=np.zeros(32, np.uint32), checks=("race",))
