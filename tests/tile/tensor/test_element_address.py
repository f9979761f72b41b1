"""Places of elements: offsets by the layout, alignment that is kept, and 64 bits if they are needed."""

import itertools

import pytest
import torch

from dsl import cutlass
from dsl.core.errors import DSLUserCodeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Float32, Int32
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.cutlass import cute
from dsl.layout import ComposedLayout, Layout, Swizzle
from dsl.tile.tensor.element_address import element_iterator, kept_together, needs_64_bits, static_size, strided_part
from dsl.tile.tensor.tensor import Tensor, make_identity_tensor

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


def test_an_unrolled_size_is_static_and_bounded():
    assert static_size(make_identity_tensor((3, 4)), "load") == 12
    with pytest.raises(DSLUserCodeError, match="load would be unrolled over 131072 elements in every thread"):
        static_size(make_identity_tensor(1 << 17), "load")


def test_a_dynamic_extent_needs_64_bits():
    module = mlir.Module()
    _, entry = module.function("f", [mlir.i32])
    with mlir.inside(entry):
        assert needs_64_bits(Layout((Int32(entry.arguments[0]), 4), (4, 1)))
        mlir.op("llvm.return")


@cute.kernel
def store_products(out: cute.Tensor):
    """Each thread stores its part of a product's (64, 64) in swizzled memory; out[row, column] is read from there."""
    thread, _, _ = cute.arch.thread_idx()
    atom = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))
    smem = cutlass.utils.SmemAllocator()
    tile = smem.allocate_tensor(cutlass.Int16, cute.tile_to_shape(atom, (64, 64), (0, 1)), 1024)
    operation = cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    product = cute.make_tiled_mma(operation, (4, 1, 1))
    copy = cute.make_tiled_copy_C(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Int16), product)
    places = product.get_slice(thread).partition_C(cute.make_identity_tensor((64, 64)))
    values = cute.make_rmem_tensor(places.shape, cutlass.Int16)
    for i in cutlass.range_constexpr(cute.size(places)):
        values[i] = cutlass.Int16(places[i][0] * 64 + places[i][1])
    part = copy.get_slice(thread)
    cute.copy(copy, part.retile(values), part.partition_D(tile))
    cute.arch.barrier()
    for i in cutlass.range(thread, 64 * 64, 128):
        out[i // 64, i % 64] = tile[i // 64, i % 64]


@cute.jit
def run_store_products(out: cute.Tensor):
    store_products(out).launch(grid=(1, 1, 1), block=(128, 1, 1))


def test_neighbours_in_swizzled_memory_are_stored_at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # KeepPTX writes a file
    out = torch.zeros((64, 64), dtype=torch.int16)
    compiled = cute.compile[cute.KeepPTX](run_store_products, out)
    compiled(out)
    assert out.flatten().tolist() == list(range(64 * 64))
    assert "st.shared.b16" not in compiled.__ptx__ and compiled.__ptx__.count("st.shared") == 16
