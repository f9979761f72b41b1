"""Prints the tiles that persistent blocks take. Run under both compilers by test_tile_scheduler.py."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass import utils
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(params: utils.PersistentTileSchedulerParams, out: cute.Tensor):
    scheduler = utils.StaticPersistentTileScheduler.create(params, cute.arch.block_idx(), cute.arch.grid_dim())
    work = scheduler.initial_work_tile_info()
    x, y, z = cute.arch.block_idx()
    columns, rows, _ = cute.arch.grid_dim()
    block, i = x + columns * (y + rows * z), cutlass.Int32(0)
    while work.is_valid_tile:
        m, n, batch = work.tile_idx
        out[block, i, 0] = m
        out[block, i, 1] = n
        out[block, i, 2] = batch
        out[block, i, 3] = scheduler.num_tiles_executed + 1
        i += 1
        scheduler.advance_to_next_work()
        work = scheduler.get_current_work()


@cute.kernel
def any_order(params: utils.PersistentTileSchedulerParams, out: cute.Tensor):
    scheduler = utils.StaticPersistentTileScheduler.create(params, cute.arch.block_idx(), cute.arch.grid_dim())
    for i in cutlass.range(out.shape[0]):
        work = scheduler._get_current_work_for_linear_idx(out.shape[0] - 1 - i)
        out[i, 0], out[i, 1], out[i, 2] = work.tile_idx
        out[i, 3] = cutlass.Int32(work.is_valid_tile)


@cute.jit
def backwards(out: cute.Tensor):
    params = utils.PersistentTileSchedulerParams((3, 2, 2), (1, 1, 1))
    any_order(params, out).launch(grid=(1, 1, 1), block=(1, 1, 1))


@cute.jit
def static(
    out: cute.Tensor, shape: cutlass.Constexpr, cluster: cutlass.Constexpr, most: cutlass.Int32, more: cutlass.Constexpr
):
    params = utils.PersistentTileSchedulerParams(shape, cluster, **more)
    grid = utils.StaticPersistentTileScheduler.get_grid_shape(params, most)
    cute.printf("grid %d %d %d", grid[0], grid[1], grid[2])
    kernel(params, out).launch(grid=grid, block=(1, 1, 1), cluster=cluster)


@cute.kernel
def endless(params: utils.PersistentTileSchedulerParams, out: cute.Tensor, inner: cutlass.Constexpr):
    place = cute.arch.block_idx(), cute.arch.grid_dim()
    scheduler = utils.StaticPersistentRuntimeTileScheduler.create(params, *place, inner_mode=inner)
    work = scheduler.initial_work_tile_info()
    x, _, z = cute.arch.block_idx()
    for i in range(6):
        out[x + 2 * z, i, 0], out[x + 2 * z, i, 1], out[x + 2 * z, i, 2] = work.tile_idx
        out[x + 2 * z, i, 3] = cutlass.Int32(work.is_valid_tile) + 10 * scheduler.num_tiles_executed
        scheduler.advance_to_next_work()
        work = scheduler.get_current_work()


@cute.jit
def runtime(out: cute.Tensor, m: cutlass.Int32, inner: cutlass.Constexpr, along_m: cutlass.Constexpr):
    params = utils.PersistentTileSchedulerParams((m, 3, 2), (2, 1, 1), raster_along_m=along_m)
    endless(params, out, inner).launch(grid=(2, 1, 2), block=(1, 1, 1), cluster=(2, 1, 1))


@cute.jit
def dynamic(out: cute.Tensor, m: cutlass.Int32, n: cutlass.Int32, batches: cutlass.Int32, most: cutlass.Int32):
    params = utils.PersistentTileSchedulerParams((m, n, batches), (2, 1, 1))
    grid = utils.StaticPersistentTileScheduler.get_grid_shape(params, most)
    kernel(params, out).launch(grid=grid, block=(1, 1, 1), cluster=(2, 1, 1))


def show(call, *arguments):
    out = torch.zeros(64, 64, 4, dtype=torch.int32).cuda()
    call(from_dlpack(out), *arguments)
    print(arguments)
    for block, row in enumerate(out.cpu().tolist()):
        tiles = [tuple(tile) for tile in row if tile[3] != 0]
        if tiles:
            print(block, tiles)


ALONG_N = {"raster_along_m": False}
for shape, cluster, most, more in (
    ((4, 3, 2), (1, 1, 1), 5, {}),
    ((4, 4, 2), (1, 2, 1), 3, {}),
    ((5, 3, 1), (2, 2, 1), 3, {}),
    ((5, 3, 2), (1, 1, 1), 4, {"swizzle_size": 2}),
    ((5, 3, 2), (1, 1, 1), 4, ALONG_N),
    ((6, 4, 1), (2, 1, 1), 4, {"swizzle_size": 2, **ALONG_N}),
    ((6, 4, 1), (2, 1, 1), 40, {"swizzle_size": 2}),
):
    show(static, shape, cluster, most, more)
show(dynamic, 5, 4, 2, 3)
for inner in (0, 1):
    for along_m in (True, False):
        show(runtime, 4, inner, along_m)
tiles = torch.zeros(14, 4, dtype=torch.int32).cuda()
backwards(from_dlpack(tiles))
print(tiles.tolist())
info = utils.HardwareInfo()
print(info.get_device_multiprocessor_count(), info.get_l2_cache_size_in_bytes())
print([info.get_max_active_clusters(size) for size in (1, 2, 4, 8)])
