"""Where elements are: offsets by the layout, alignment that is kept, and 64 bits where they are needed."""

import itertools

import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Float32, Int32
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.layout import ComposedLayout, Layout, Swizzle
from dsl.tile.element_address import element_iterator, kept_together, needs_64_bits, static_size, strided_part
from dsl.tile.tensor import Tensor, make_identity_tensor

SWIZZLED = ComposedLayout(Swizzle(2, 4, 3), 0, Layout((8, 128), (128, 1)))


@pytest.fixture
def start():
    """A pointer to shared memory, aligned to 128 bytes."""
    module = mlir.Module()
    _, entry = module.function("f", [mlir.ptr(3)])
    with mlir.inside(entry):
        yield Pointer(Float32, entry.arguments[0], AddressSpace.smem, 128)
        mlir.op("llvm.return")


def test_an_element_of_a_tensor_of_coordinates_is_the_coordinate():
    tensor = make_identity_tensor((3, 4))
    for coord in itertools.product(range(3), range(4)):
        assert element_iterator(tensor, coord) == coord
        assert element_iterator(tensor, coord[0] + 3 * coord[1]) == coord


def test_alignment_is_what_offset_and_start_have_in_common(start):
    tensor = Tensor(start, Layout((64, 64), (64, 1)))
    for coord, alignment_bytes in (((0, 0), 128), ((1, 0), 128), ((0, 16), 64), ((3, 4), 16), ((0, 1), 4)):
        assert element_iterator(tensor, coord).alignment_bytes == alignment_bytes


def test_a_swizzle_keeps_the_alignment_below_its_base(start):
    tensor = Tensor(start, SWIZZLED)
    for coord, alignment_bytes in (((0, 0), 64), ((1, 0), 64), ((0, 8), 32), ((0, 3), 4)):
        assert element_iterator(tensor, coord).alignment_bytes == alignment_bytes


@pytest.mark.parametrize("swizzle, offset, count", [((2, 4, 3), 0, 16), ((2, 4, 3), 8, 8), ((1, 0, 3), 0, 1)])
def test_elements_that_a_swizzle_keeps_together_are_contiguous(swizzle, offset, count):
    layout = ComposedLayout(Swizzle(*swizzle), offset, Layout(256, 1))
    assert kept_together(layout) == count
    for first in range(0, 256, count):
        assert [layout(first + k) - layout(first) for k in range(count)] == list(range(count))


def test_64_bits_are_for_layouts_that_may_pass_31():
    assert not needs_64_bits(Layout((1 << 15, 1 << 15), (1 << 15, 1)))
    assert needs_64_bits(Layout((1 << 16, 1 << 16), (1 << 16, 1)))
    assert not needs_64_bits(strided_part(SWIZZLED))


def test_what_is_unrolled_is_static_and_bounded():
    assert static_size(make_identity_tensor((3, 4)), "load") == 12
    with pytest.raises(DSLUserCodeError, match="load would be unrolled over 131072 elements in every thread"):
        static_size(make_identity_tensor(1 << 17), "load")


def test_a_dynamic_extent_needs_64_bits():
    module = mlir.Module()
    _, entry = module.function("f", [mlir.i32])
    with mlir.inside(entry):
        assert needs_64_bits(Layout((Int32(entry.arguments[0]), 4), (4, 1)))
        mlir.op("llvm.return")
