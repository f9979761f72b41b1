"""The shared memory allocator: places, alignment, swizzles, the size the launch asks for."""

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import cute


def test_allocations_do_not_overlap_and_are_aligned(run, emulator):
    @cute.kernel
    def kernel(out: cute.Tensor):
        smem = cutlass.utils.SmemAllocator()
        start = smem.allocate(3)
        numbers = smem.allocate_array(cutlass.Float32, 5)
        wide = smem.allocate(cutlass.Float64, byte_alignment=64)
        tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float16, cute.make_layout((4, 4)), 128)
        out[0] = numbers.toint() - start.toint()
        out[1] = wide.toint() - start.toint()
        out[2] = tile.iterator.toint() - start.toint()

    out = np.zeros(3, np.int32)
    run(kernel, out, threads=1)
    assert list(out) == [4, 64, 128]
    assert emulator.facts()["kernels"][0]["launches"][0]["smem_bytes"] == 128 + 32


def test_reserved_memory_goes_where_an_alignment_has_left_some(run, emulator):
    reserved = cutlass.memory.SmemPartition.RESERVED

    @cute.kernel
    def kernel(out: cute.Tensor):
        smem = cutlass.memory.SmemAllocator()
        start = smem.allocate(4)
        tile = smem.allocate_tensor(cutlass.Float16, cute.make_layout((8, 64)), 1024)
        places = [
            smem.allocate_array(cutlass.Int64, 3, partition=reserved),
            smem.allocate_tensor(cutlass.Int8, cute.make_layout(1000), partition=reserved).iterator,
            smem.allocate(cutlass.Int64, partition=reserved),
            smem.allocate(8, partition=reserved),
            tile.iterator,
        ]
        for i in cutlass.range_constexpr(5):
            out[i] = places[i].toint() - start.toint()

    out = np.zeros(5, np.int32)
    run(kernel, out, threads=1)
    assert list(out) == [8, 2048, 32, 40, 1024]
    assert emulator.facts()["kernels"][0]["launches"][0]["smem_bytes"] == 2048 + 1000


def test_shared_memory_is_shared(run):
    @cute.kernel
    def kernel(out: cute.Tensor):
        tid, _, _ = cute.arch.thread_idx()
        tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(32), 16)
        tile[tid] = tid * tid
        cute.arch.sync_threads()
        out[tid] = tile[31 - tid]

    out = np.zeros(32, np.int32)
    run(kernel, out)
    assert (out == (31 - np.arange(32)) ** 2).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "in_bytes, alignment, before", [(True, 1024, 0), (False, 1024, 0), (False, 16, 0), (False, 16, 48)]
)
def test_a_swizzled_tile_keeps_its_elements_and_spreads_its_columns(run, in_bytes, alignment, before):
    @cute.kernel
    def kernel(out: cute.Tensor, places: cute.Tensor):
        tid, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        if cutlass.const_expr(before):
            smem.allocate(before)  # the tile then begins inside a period of addresses
        rows = cute.make_layout((8, 64), stride=(64, 1))
        if cutlass.const_expr(in_bytes):
            tile = smem.allocate_tensor(cutlass.Float16, rows, 1024, cute.make_swizzle(3, 4, 3))
        else:
            composed = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, rows)
            tile = smem.allocate_tensor(cutlass.Float16, composed, alignment)
        plain = cute.make_tensor(cute.recast_ptr(tile.iterator), rows)
        for i in cutlass.range_constexpr(64):
            tile[tid, i] = tid * 64 + i
        cute.arch.sync_threads()
        for i in cutlass.range_constexpr(64):
            out[tid, i] = tile[tid, None][i]
            places[tid, i] = plain[tid, i]

    out, places = np.zeros((8, 64), np.float32), np.zeros((8, 64), np.float32)
    run(kernel, out, places, threads=8)
    assert (out.ravel() == np.arange(512)).all()
    index = np.arange(512)
    assert (places.ravel()[index ^ ((index >> 6 & 7) << 3)] == index).all()


def test_size_in_bytes_counts_whole_swizzle_periods():
    rows = cute.make_layout((3, 8), stride=(10, 1))
    assert cute.size_in_bytes(cutlass.Float16, rows) == 56
    assert cute.size_in_bytes(cutlass.Boolean, cute.make_composed_layout(cute.make_swizzle(2, 3, 3), 0, rows)) == 32


def test_capacity():
    assert cutlass.utils.SmemAllocator.capacity_in_bytes("sm_90a") == 227 * 1024
    assert cutlass.utils.SmemAllocator.capacity_in_bytes("sm_80") == 163 * 1024


def test_mistakes_are_named(refused):
    @cute.kernel
    def alignment(a: cute.Tensor):
        cutlass.utils.SmemAllocator().allocate(16, 3)

    @cute.kernel
    def dynamic(a: cute.Tensor, n: cutlass.Int32):
        cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((n, 4)), 16)

    @cute.kernel
    def count(a: cute.Tensor, n: cutlass.Int32):
        cutlass.utils.SmemAllocator().allocate_array(cutlass.Float32, n)

    @cute.kernel
    def swizzle(a: cute.Tensor):
        swizzle = cute.make_swizzle(2, 1, 3)
        cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(64), 16, swizzle)

    a = np.zeros(4, np.float32)
    assert refused(alignment, a) == (
        "alignment of shared memory must be a power of two up to 1024 bytes, got 3",
        "byte_alignment=16, for example",
    )
    assert refused(dynamic, a, 4) == (
        "layout of shared memory must be static, got (?,4):(1,?)",
        "make its shape and strides static",
    )
    assert refused(count, a, 4) == (
        "size of shared memory must be static, got Int32",
        "pass the count as cutlass.Constexpr; it must be 1 or more",
    )
    assert refused(swizzle, a) == ("the swizzle S<2,1,3> would split an element of 4 bytes", "a base of 2 bits or more")
