"""Prints the tiles of groups that persistent blocks take. Run under both compilers by test_grouped_scheduler.py."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass import utils
from cutlass.cute.runtime import from_dlpack


@cute.jit
def note(out: cute.Tensor, result, last: cutlass.Int32):
    out[0], out[1], out[2] = result.group_idx, result.cta_tile_idx_m, result.cta_tile_idx_n
    out[3], out[4], out[5] = result.problem_shape_m, result.problem_shape_n, result.problem_shape_k
    out[6], out[7] = result.cta_tile_count_k, last


def block_number():
    x, y, z = cute.arch.block_idx()
    columns, rows, _ = cute.arch.grid_dim()
    return x + columns * (y + rows * z)


@cute.kernel
def by_helper(
    params: utils.PersistentTileSchedulerParams, sizes: cute.Tensor, out: cute.Tensor, tile: cutlass.Constexpr
):
    scheduler = utils.StaticPersistentTileScheduler.create(params, cute.arch.block_idx(), cute.arch.grid_dim())
    helper = utils.GroupedGemmTileSchedulerHelper(sizes.shape[0], params, tile, utils.create_initial_search_state())
    work, i, block = scheduler.initial_work_tile_info(), cutlass.Int32(0), block_number()
    while work.is_valid_tile:
        result = helper.delinearize_z(work.tile_idx, sizes)
        steps, group = helper.search_cluster_tile_count_k(work.tile_idx, sizes)
        if cute.arch.thread_idx()[0] == 0:
            note(out[block, i, None], result, 100 * steps + group + 1)
        i += 1
        scheduler.advance_to_next_work()
        work = scheduler.get_current_work()


@cute.kernel
def by_scheduler(
    params: utils.PersistentTileSchedulerParams, sizes: cute.Tensor, out: cute.Tensor, tile: cutlass.Constexpr
):
    scheduler = utils.StaticPersistentGroupTileScheduler.create(
        params,
        cute.arch.block_idx(),
        cute.arch.grid_dim(),
        tile,
        utils.create_initial_search_state(),
        sizes.shape[0],
        sizes,
    )
    work, i, block = scheduler.initial_work_tile_info(), cutlass.Int32(0), block_number()
    while work.is_valid_tile:
        if cute.arch.thread_idx()[0] == 0:
            note(out[block, i, None], work.group_search_result, scheduler.num_tiles_executed + 1)
        i += 1
        scheduler.advance_to_next_work()
        work = scheduler.get_current_work()


@cute.jit
def host(
    sizes: cute.Tensor,
    out: cute.Tensor,
    cluster: cutlass.Constexpr,
    total: cutlass.Constexpr,
    tile: cutlass.Constexpr,
    most: cutlass.Int32,
    kernel: cutlass.Constexpr,
):
    params = utils.PersistentTileSchedulerParams((cluster[0], cluster[1], total), cluster)
    grid = utils.StaticPersistentTileScheduler.get_grid_shape(params, most)
    kernel(params, sizes, out, tile).launch(grid=grid, block=(32, 1, 1), cluster=cluster)


def show(sizes, cluster, tile, most, kernel):
    total = sum(-(-m // tile[0]) * -(-n // tile[1]) for m, n, _, _ in sizes)
    out = torch.zeros(32, 32, 8, dtype=torch.int32).cuda()
    host(
        from_dlpack(torch.tensor(sizes, dtype=torch.int32).cuda()), from_dlpack(out), cluster, total, tile, most, kernel
    )
    print(cluster, tile, most, total)
    for block, row in enumerate(out.cpu().tolist()):
        if any(tile[7] for tile in row):
            print(block, [tuple(tile) for tile in row if tile[7]])


SIZES = [(300, 200, 64, 1), (64, 64, 100, 1), (128, 500, 33, 1)]
for kernel in (by_helper, by_scheduler):
    show(SIZES, (1, 1, 1), (128, 128, 32), 3, kernel)
    show(SIZES, (2, 1, 1), (128, 128, 32), 2, kernel)
    show(SIZES + [(10, 10, 10, 1)] * 40, (1, 1, 1), (128, 128, 64), 9, kernel)
