"""Copies by TMA between blocks of a cluster, and reductions: values by numpy, on the emulator."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Constexpr, Float32, Int32, Int64, cute, memory
from dsl.cutlass.cute import arch
from dsl.cutlass.cute.nvgpu import cpasync
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.tile.tma.tma_copy import create_tma_multicast_mask

TILE = (16, 8)


@cute.kernel
def loads(load: cute.CopyAtom, coords: cute.Tensor, out: cute.Tensor, blocks: Constexpr):
    """Each block loads its part of one tile for all, and writes the whole tile to its place of `out`."""
    thread, rank = arch.thread_idx()[0], arch.make_warp_uniform(arch.block_idx_in_cluster())
    smem = memory.SmemAllocator()
    box = smem.allocate_tensor(Float32, cute.make_layout(TILE, stride=(8, 1)), 128)
    barrier = smem.allocate_array(Int64, 1)
    if thread == 0:
        arch.mbarrier_init(barrier, 1)
        arch.mbarrier_init_fence()
        arch.mbarrier_arrive_and_expect_tx(barrier, 16 * 8 * 4)
    arch.cluster_arrive()
    arch.cluster_wait()
    tiles = cute.group_modes(cute.local_tile(coords, TILE, (None, None)), 0, 2)
    to, start = cpasync.tma_partition(load, rank, cute.make_layout(blocks), cute.group_modes(box, 0, 2), tiles)
    mask = create_tma_multicast_mask(cute.make_layout((1, blocks, 1, 1)), (0, rank, 0, 0), 1)
    cute.copy(load, start[(None, 1, 2)], to, tma_bar_ptr=barrier, mcast_mask=mask)
    arch.mbarrier_wait(barrier, 0)
    for i in range(4):
        out[thread + 32 * i, rank] = box[thread + 32 * i]
    arch.cluster_arrive()
    arch.cluster_wait()


@cute.jit
def load_for_all(a: cute.Tensor, out: cute.Tensor, blocks: Constexpr):
    op = cpasync.CopyBulkTensorTileG2SMulticastOp()
    load, coords = cpasync.make_tiled_tma_atom(op, a, cute.make_layout(TILE, stride=(8, 1)), TILE, num_multicast=blocks)
    loads(load, coords, out, blocks).launch(grid=(blocks, 1, 1), block=(32, 1, 1), cluster=(blocks, 1, 1))


@pytest.mark.parametrize("blocks", (2, 4))
def test_every_block_gets_the_whole_tile(blocks, aligned):
    a = aligned((32, 24), np.float32)
    a[:] = np.arange(32 * 24).reshape(32, 24)
    out = np.full((128, blocks), -1, np.float32)
    load_for_all(from_dlpack(a, assumed_align=16), out, blocks)
    tile = a[16:, 16:].T.reshape(-1)
    for rank in range(blocks):
        np.testing.assert_array_equal(out[:, rank], tile)


@cute.kernel
def reduces(reduce: cute.CopyAtom, coords: cute.Tensor):
    thread = arch.thread_idx()[0]
    box = memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(TILE, stride=(8, 1)), 128)
    for i in range(4):
        box[thread + 32 * i] = thread
    arch.fence_proxy("async.shared", space="cta")
    arch.sync_threads()
    tiles = cute.group_modes(cute.local_tile(coords, TILE, (None, None)), 0, 2)
    source, to = cpasync.tma_partition(reduce, 0, cute.make_layout(1), cute.group_modes(box, 0, 2), tiles)
    cute.copy(reduce, source, to[(None, 0, 1)])
    arch.cp_async_bulk_commit_group()
    arch.cp_async_bulk_wait_group(0)


@cute.jit
def reduce_tile(a: cute.Tensor, kind: Constexpr):
    op = cpasync.CopyReduceBulkTensorTileS2GOp(kind)
    atom, coords = cpasync.make_tiled_tma_atom(op, a, cute.make_layout(TILE, stride=(8, 1)), TILE)
    reduces(atom, coords).launch(grid=1, block=32)


@pytest.mark.parametrize(
    "kind, by", [("ADD", np.add), ("MAX", np.maximum), ("MIN", np.minimum), ("XOR", np.bitwise_xor)]
)
def test_a_box_is_reduced_into_memory(kind, by, aligned):
    a = aligned((16, 16), np.int32)
    a[:] = np.arange(256).reshape(16, 16) % 29
    before = a.copy()
    reduce_tile(from_dlpack(a, assumed_align=16), cpasync.ReductionKind[kind])
    box = (np.arange(128) % 32).reshape(8, 16).T
    np.testing.assert_array_equal(a[:, 8:], by(before[:, 8:], box))
    np.testing.assert_array_equal(a[:, :8], before[:, :8])


def test_a_copy_that_multicasts_needs_its_blocks(aligned):
    @cute.kernel
    def kernel(load: cute.CopyAtom, coords: cute.Tensor):
        smem = memory.SmemAllocator()
        box = smem.allocate_tensor(Float32, cute.make_layout(TILE, stride=(8, 1)), 128)
        tiles = cute.group_modes(cute.local_tile(coords, TILE, (None, None)), 0, 2)
        to, start = cpasync.tma_partition(load, 0, cute.make_layout(2), cute.group_modes(box, 0, 2), tiles)
        cute.copy(load, start[(None, 0, 0)], to, tma_bar_ptr=smem.allocate_array(Int64, 1))

    @cute.jit
    def host(a: cute.Tensor):
        op = cpasync.CopyBulkTensorTileG2SMulticastOp()
        layout = cute.make_layout(TILE, stride=(8, 1))
        kernel(*cpasync.make_tiled_tma_atom(op, a, layout, TILE, num_multicast=2)).launch(grid=2, block=32)

    with pytest.raises(DSLUserCodeError, match="a copy that multicasts needs the blocks it is for"):
        host(from_dlpack(aligned((32, 24), np.float32), assumed_align=16))


@cute.kernel
def prefetches(load: cute.CopyAtom, coords: cute.Tensor):
    smem = memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(TILE, stride=(8, 1)), 128)
    tiles = cute.group_modes(cute.local_tile(coords, TILE, (None, None)), 0, 2)
    _, start = cpasync.tma_partition(load, 0, cute.make_layout(1), cute.group_modes(smem, 0, 2), tiles)
    cute.prefetch(load, start[(None, None, 2)])


@cute.jit
def prefetch_tiles(a: cute.Tensor, stores: Constexpr):
    op = cpasync.CopyBulkTensorTileS2GOp() if stores else cpasync.CopyBulkTensorTileG2SOp()
    atom, coords = cpasync.make_tiled_tma_atom(op, a, cute.make_layout(TILE, stride=(8, 1)), TILE)
    prefetches(atom, coords).launch(grid=(1, 1, 1), block=(32, 1, 1))


def test_boxes_are_prefetched(aligned, tmp_path):
    a = from_dlpack(aligned((32, 24), np.float32), assumed_align=16)
    compiled = cute.compile(prefetch_tiles, a, False, options=f"--keep-ptx --dump-dir {tmp_path}")
    assert compiled.__ptx__.count("cp.async.bulk.prefetch.tensor.2d.L2.global") == 2  # two tiles of 16 rows, a box each
    compiled(a)
    with pytest.raises(DSLUserCodeError, match="loads nothing that could be fetched before"):
        prefetch_tiles(a, True)
