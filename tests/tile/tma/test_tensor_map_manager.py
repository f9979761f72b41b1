"""Tensor map managers: a map changed for each block's tensor, values by numpy."""

import numpy as np
import pytest

from dsl.cutlass import Constexpr, Float32, Int64, cute, memory
from dsl.cutlass.cute import arch
from dsl.cutlass.cute.nvgpu import cpasync
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.tile.tma.tensor_map_manager import TensorMapManager, TensorMapUpdateMode

TILE = (8, 8)


@cute.kernel
def kernel(
    load: cute.CopyAtom, coords: cute.Tensor, a: cute.Tensor, maps: cute.Tensor, out: cute.Tensor, mode: Constexpr
):
    """Block i loads the first tile of matrix i."""
    thread, block = arch.thread_idx()[0], arch.block_idx()[0]
    smem, manager = memory.SmemAllocator(), TensorMapManager(mode, 128)
    box = smem.allocate_tensor(Float32, cute.make_layout(TILE, stride=(8, 1)), 128)
    barrier, kept = smem.allocate_array(Int64, 1), smem.allocate_array(Int64, 16, byte_alignment=128)
    if thread == 0:
        arch.mbarrier_init(barrier, 1)
        arch.mbarrier_init_fence()
        arch.mbarrier_arrive_and_expect_tx(barrier, 8 * 8 * 4)
    place = manager.get_tensormap_ptr(maps[None, block].iterator)
    manager.init_tensormap_from_atom(load, kept if mode is TensorMapUpdateMode.SMEM else place, 0)
    manager.fence_tensormap_initialization()
    matrix = cute.make_tensor((a.iterator + block * 16 * 16).align(16), cute.make_layout((16, 16), stride=(16, 1)))
    manager.update_tensormap((matrix,), (load,), (place,), 0, (kept,))
    manager.fence_tensormap_update(place)
    tiles = cute.group_modes(cute.local_tile(coords, TILE, (None, None)), 0, 2)
    to, start = cpasync.tma_partition(load, 0, cute.make_layout(1), cute.group_modes(box, 0, 2), tiles)
    of_copy = manager.get_tensormap_ptr(place, cute.AddressSpace.generic)
    cute.copy(load, start[(None, 0, 0)], to, tma_bar_ptr=barrier, tma_desc_ptr=of_copy)
    arch.mbarrier_wait(barrier, 0)
    for i in range(2):
        out[thread + 32 * i, block] = box[thread + 32 * i]


@cute.jit
def host(a: cute.Tensor, maps: cute.Tensor, out: cute.Tensor, mode: Constexpr):
    first = cute.make_tensor(a.iterator, cute.make_layout((16, 16), stride=(16, 1)))
    op = cpasync.CopyBulkTensorTileG2SOp()
    load, coords = cpasync.make_tiled_tma_atom(op, first, cute.make_layout(TILE, stride=(8, 1)), TILE)
    kernel(load, coords, a, maps, out, mode).launch(grid=3, block=32)


@pytest.mark.parametrize("mode", list(TensorMapUpdateMode))
def test_each_block_has_its_own_map(mode, aligned):
    a, out = aligned((3, 16, 16)), np.zeros((64, 3), np.float32)
    a[:] = np.arange(3 * 256).reshape(3, 16, 16)
    raw = np.zeros(3 * 16 + 16, np.int64)
    start = -raw.ctypes.data % 128 // 8
    maps = raw[start : start + 48].reshape(3, 16).T
    host(from_dlpack(a, assumed_align=16), from_dlpack(maps, assumed_align=128), out, mode)
    for block in range(3):
        np.testing.assert_array_equal(out[:, block], a[block, :8, :8].T.reshape(-1))


def test_its_mode_and_memory_are_checked(refused):
    @cute.kernel
    def mode():
        TensorMapManager("SMEM", 128)

    @cute.kernel
    def place():
        manager = TensorMapManager(TensorMapUpdateMode.GMEM, 128)
        manager.get_tensormap_ptr(memory.SmemAllocator().allocate_array(Int64, 16), cute.AddressSpace.smem)

    assert refused(mode)[0] == "mode must be TensorMapUpdateMode.GMEM or .SMEM, got Python str"
    assert refused(place)[0] == "a tensor map for copies is in gmem, or generic, got smem"
