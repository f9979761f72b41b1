"""block_copy: boxes there and back against numpy, with and without a cluster that shares them; what is refused.

Modules tested here: dsl/cutlass/block.py.
"""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Constexpr, Float32, Int64, block, cute, memory, utils
from dsl.cutlass.cute import arch
from dsl.cutlass.cute.nvgpu import cpasync
from dsl.cutlass.cute.runtime import from_dlpack

TILE = (8, 16)
LOAD, STORE = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
SHARED = {"cluster_shape": (2, 1), "multicast_dim": "M", "use_2cta_mma_inst": False}


@cute.kernel
def doubled(load: cute.CopyAtom, source: cute.Tensor, store: cute.CopyAtom, target: cute.Tensor, shared: Constexpr):
    """Each block brings in the tile of its column, doubles it, and sends it to its row."""
    x, y, _ = arch.block_idx()
    tidx, _, _ = arch.thread_idx()
    smem = memory.SmemAllocator()
    barrier = smem.allocate_array(Int64, 1)
    box = smem.allocate_tensor(Float32, cute.make_layout(TILE, stride=(16, 1)), 128)
    if tidx == 0:
        arch.mbarrier_init(barrier, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    inside = cute.group_modes(box, 0, 2)
    if arch.warp_idx() == 0:
        with arch.elect_one():
            arch.mbarrier_arrive_and_expect_tx(barrier, cute.size(TILE) * 4)
        tile = cute.group_modes(cute.local_tile(source, TILE, (0, y)), 0, 2)
        block.block_copy(load, tile, inside, tma_bar_ptr=barrier, **shared)
    arch.mbarrier_wait(barrier, 0)
    for i in range(tidx, cute.size(TILE), 32):
        box[i] = box[i] * 2
    arch.fence_proxy("async.shared", space="cta")
    arch.sync_threads()
    if arch.warp_idx() == 0:
        block.block_copy(store, inside, cute.group_modes(cute.local_tile(target, TILE, (x, y)), 0, 2))


@cute.jit
def host(source: cute.Tensor, target: cute.Tensor, shared: Constexpr):
    layout = cute.make_layout(TILE, stride=(16, 1))
    load, tiles = cpasync.make_tiled_tma_atom(LOAD, source, layout, TILE)
    store, places = cpasync.make_tiled_tma_atom(STORE, target, layout, TILE)
    doubled(load, tiles, store, places, shared).launch(grid=(2, 2, 1), block=(32, 1, 1), cluster=(2, 1, 1))


@pytest.mark.parametrize("shared", [{}, {"tma_multicast": SHARED}], ids=["alone", "shared"])
def test_a_tile_goes_there_and_back(shared):
    source = np.random.default_rng(0).standard_normal((8, 32)).astype(np.float32)
    target = np.zeros((16, 32), np.float32)
    host(*(from_dlpack(array, assumed_align=16) for array in (source, target)), shared)
    np.testing.assert_array_equal(target, np.concatenate([source, source]) * 2)
    assert utils.block_copy is block.block_copy


@pytest.mark.parametrize(
    "changed, text",
    [
        ({"multicast_dim": "K"}, "tma_multicast must name a cluster's shape and a dimension of it, got"),
        ({"use_2cta_mma_inst": True}, r"products of two blocks \(use_2cta_mma_inst\) are of Blackwell"),
    ],
)
def test_wrong_clusters_are_refused(changed, text):
    arrays = [from_dlpack(np.zeros((16, 32), np.float32), assumed_align=16) for _ in range(2)]
    with pytest.raises(DSLUserCodeError, match=text):
        host(*arrays, {"tma_multicast": {**SHARED, **changed}})
