"""Tensor maps that a kernel writes itself: values by numpy, and what is refused."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Constexpr, Float32, Int64, cute, memory
from dsl.cutlass.cute import arch
from dsl.cutlass.cute.nvgpu import cpasync
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.tile.tma.tensor_map import (
    copy_tensormap,
    cp_fence_tma_desc_release,
    fence_tma_desc_acquire,
    fence_tma_desc_release,
    update_tma_descriptor,
)

TILE = (8, 8)


@cute.kernel
def kernel(
    load: cute.CopyAtom, coords: cute.Tensor, other: cute.Tensor, maps: cute.Tensor, out: cute.Tensor, way: Constexpr
):
    """Load a tile of `other` by a map that was made for another tensor."""
    thread, smem = arch.thread_idx()[0], memory.SmemAllocator()
    box = smem.allocate_tensor(Float32, cute.make_layout(TILE, stride=(8, 1)), 128)
    barrier, kept = smem.allocate_array(Int64, 1), smem.allocate_array(Int64, 16, byte_alignment=128)
    if thread == 0:
        arch.mbarrier_init(barrier, 1)
        arch.mbarrier_init_fence()
        arch.mbarrier_arrive_and_expect_tx(barrier, 8 * 8 * 4)
    if way == "smem":
        copy_tensormap(load, kept)
        arch.sync_warp()
        update_tma_descriptor(load, other, kept)
        arch.sync_warp()
        cp_fence_tma_desc_release(maps.iterator, kept)
    else:
        copy_tensormap(load, maps.iterator)
        arch.sync_warp()
        update_tma_descriptor(load, other, maps.iterator)
        fence_tma_desc_release()
        arch.sync_warp()
    fence_tma_desc_acquire(maps.iterator)
    tiles = cute.group_modes(cute.local_tile(coords, TILE, (None, None)), 0, 2)
    to, start = cpasync.tma_partition(load, 0, cute.make_layout(1), cute.group_modes(box, 0, 2), tiles)
    cute.copy(load, start[(None, 1, 0)], to, tma_bar_ptr=barrier, tma_desc_ptr=maps.iterator)
    arch.mbarrier_wait(barrier, 0)
    for i in range(2):
        out[thread + 32 * i] = box[thread + 32 * i]


@cute.jit
def host(a: cute.Tensor, other: cute.Tensor, maps: cute.Tensor, out: cute.Tensor, way: Constexpr):
    load, coords = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SOp(), a, cute.make_layout(TILE, stride=(8, 1)), TILE
    )
    kernel(load, coords, other, maps, out, way).launch(grid=1, block=32)


@pytest.mark.parametrize("way", ("smem", "gmem"))
def test_a_kernel_changes_the_tensor_of_a_map(way, aligned):
    a, other, out = aligned((16, 16)), aligned((12, 20)), aligned((64,))
    other[:] = np.arange(240).reshape(12, 20)
    raw = np.zeros(32, np.int64)
    start = -raw.ctypes.data % 128 // 8
    view = from_dlpack(other, assumed_align=16).mark_layout_dynamic(leading_dim=1)
    maps = from_dlpack(raw[start : start + 16], assumed_align=128)
    host(from_dlpack(a, assumed_align=16), view, maps, out, way)
    tile = np.zeros((8, 8), np.float32)
    tile[:4] = other[8:, :8]
    np.testing.assert_array_equal(out, tile.T.reshape(-1))


def test_a_map_is_in_memory_that_tma_reads(refused):
    @cute.kernel
    def fences():
        fence_tma_desc_acquire(memory.SmemAllocator().allocate_array(Int64, 16))

    message, fix = refused(fences)
    assert message == "tma_desc_ptr must be a pointer to a tensor map in gmem or generic, got one in smem"
    assert fix == "128 bytes of an Int64 tensor, aligned to 128"


def test_a_map_is_copied_from_an_atom_of_tma(refused):
    @cute.kernel
    def copies(out: cute.Tensor):
        copy_tensormap(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32), out.iterator)

    with pytest.raises(DSLUserCodeError):
        copies(np.zeros(16, np.int64))
    assert refused(copies, np.zeros(16, np.int64))[0] == "this takes a TMA atom, got CopyAtom"
