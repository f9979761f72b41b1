"""Matrix descriptors: their bits, by the layouts that the PTX ISA draws; layouts that they cannot describe."""

import itertools
import re

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import Float16, Int32, Int64, cute
from dsl.cutlass.cute.nvgpu import OperandMajorMode
from dsl.cutlass.memory import SmemAllocator
from dsl.layout import tile_to_shape
from dsl.tile.mma.matrix_descriptor import descriptor_tensor
from dsl.tile.mma.warpgroup import SmemLayoutAtomKind, make_smem_layout_atom

K, MN = OperandMajorMode.K, OperandMajorMode.MN
SWIZZLES = {0: 0, 3: 1, 2: 2, 1: 3}  # the code in a descriptor -> bits


def offset_of(descriptor: int, major, row: int, k: int) -> int:
    """The place of element (row, k) of two bytes, in bytes before the swizzle.  PTX ISA: Strides, canonical layouts."""
    leading, stride = (descriptor >> 16 & 0x3FFF) * 16, (descriptor >> 32 & 0x3FFF) * 16
    width = 16 << SWIZZLES[descriptor >> 62]  # bytes of a row
    if major is K:
        within = k * 2 if width > 16 else k // 8 * leading + k % 8 * 2
        return row // 8 * stride + row % 8 * width + within
    if width == 16:
        return row // 8 * stride + row % 8 * 2 + k // 8 * leading + k % 8 * 16
    across = width // 2
    return row // across * leading + row % across * 2 + k // 8 * stride + k % 8 * width


@pytest.mark.parametrize("kind, order", list(itertools.product(SmemLayoutAtomKind, ((0, 1), (1, 0)))))
def test_a_descriptor_finds_every_element(run, kind, order):
    major = K if kind.name.startswith("K") else MN
    layout = tile_to_shape(make_smem_layout_atom(kind, Float16), (128, 64), order)

    @cute.kernel
    def kernel(out: cute.Tensor):
        start = SmemAllocator().allocate_array(Float16, 128 * 64, byte_alignment=1024)
        whole = cute.make_tensor(cute.recast_ptr(start, layout.inner, dtype=Float16), layout.outer)
        part = cute.group_modes(cute.flat_divide(whole, (64, 16)), 0, 2)
        fragment = descriptor_tensor(part, major, 16, "make_fragment_A")
        out[0] = Int64(fragment[0, 0, 0].ir())
        out[1] = Int64(fragment[0, 1, 2].ir())
        out[2] = Int64(fragment[0, Int32(out[3]), Int32(out[4])].ir())

    out = np.array([0, 0, 0, 1, 2])
    run(kernel, out)
    first, other, dynamic, *_ = (int(word) & (1 << 64) - 1 for word in out)
    assert dynamic == other
    assert SWIZZLES[first >> 62] == layout.inner.bits
    for row, k in itertools.product(range(64), range(16)):
        assert offset_of(first, major, row, k) == layout.outer((row, k)) * 2
    assert ((other ^ first) >> 14) == 0
    assert ((other & 0x3FFF) - (first & 0x3FFF)) * 16 == layout.outer((64, 32)) * 2


def test_products_of_a_stage_share_its_sum(run, emulator):
    layout = tile_to_shape(make_smem_layout_atom(SmemLayoutAtomKind.K_SW128, Float16), (64, 64, 4), (0, 1, 2))

    @cute.kernel
    def kernel(out: cute.Tensor):
        fragments = []
        for _ in cutlass.range_constexpr(2):
            whole = SmemAllocator().allocate_tensor(Float16, layout.outer, 1024, layout.inner)
            part = cute.group_modes(cute.flat_divide(whole, (64, 16)), 0, 2)
            fragments.append(descriptor_tensor(part, K, 16, "make_fragment_A"))
        stage = Int32(out[0])
        for k in cutlass.range(4, unroll_full=True):
            out[2 * k + 1] = Int64(fragments[0][0, 0, k, stage].ir())
            out[2 * k + 2] = Int64(fragments[1][0, 0, k, stage].ir())

    out = np.zeros(9, np.int64)
    out[0] = 3
    run(kernel, out)
    assert [int(each - out[1]) for each in out[1::2]] == [0, 2, 4, 6]
    sums = re.findall(r"^\t(?:add|or)\.\w?32\b", emulator.show("ptx"), re.MULTILINE)
    assert len(sums) == 5, "where the second one lies and, for each, a start and a stage: what follows are constants"


WRONG = [
    (lambda t: t, MN, "it is not major in MN"),
    (
        lambda t: cute.make_tensor(t.iterator, cute.make_layout(((64, 16), 1), stride=((72, 1), 0))),
        K,
        "it is not major in K",
    ),
    (lambda t: cute.make_tensor(t.iterator, cute.make_layout((64, 1))), K, "its first mode is not (M or N, K)"),
]


@pytest.mark.parametrize("change, major, text", WRONG, ids=range(len(WRONG)))
def test_layouts_without_a_descriptor_are_refused(refused, change, major, text):
    layout = tile_to_shape(make_smem_layout_atom(SmemLayoutAtomKind.K_SW128, Float16), (64, 64), (0, 1))

    @cute.kernel
    def kernel():
        whole = SmemAllocator().allocate_tensor(Float16, layout.outer, 1024, layout.inner)
        descriptor_tensor(
            change(cute.group_modes(cute.flat_divide(whole, (64, 16)), 0, 2)), major, 16, "make_fragment_A"
        )

    message, fix = refused(kernel)
    assert message.startswith("make_fragment_A: no matrix descriptor describes ") and text in message
    assert fix == "a layout of warpgroup.make_smem_layout_atom(kind, dtype), tiled by cute.tile_to_shape"


def test_an_operand_is_in_shared_memory(refused):
    @cute.kernel
    def kernel():
        descriptor_tensor(cute.make_rmem_tensor((64, 16), Float16), K, 16, "make_fragment_B")

    assert refused(kernel)[0] == (
        "make_fragment_B of a warpgroup takes a partition in shared memory, got Tensor of Float16 (64,16):(1,64)"
    )
