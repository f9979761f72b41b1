"""`cutlass.cute.arch`: instructions under upstream's names."""

from dsl.core.value import maximum as _maximum
from dsl.gpu.copy import cp_async_commit_group, cp_async_wait_group
from dsl.gpu.index import block_dim, block_idx, dynamic_smem_size, grid_dim, lane_idx, thread_idx, warp_idx
from dsl.gpu.math import fmax, fmin, popc
from dsl.gpu.sync import (barrier, barrier_arrive, elect_one, fence_acq_rel_cta, fence_acq_rel_gpu, sync_threads,
                          sync_warp)
from dsl.gpu.warp import (FULL_MASK, WARP_SIZE, make_warp_uniform, shuffle_sync, shuffle_sync_bfly, shuffle_sync_down,
                          shuffle_sync_op, shuffle_sync_up, vote_all_sync, vote_any_sync, vote_ballot_sync,
                          vote_uni_sync)
from dsl.gpu.warp import warp_reduction as _warp_reduction


def warp_reduction_sum(val, threads_in_group=32):
    """The sum over each group of `threads_in_group` lanes."""
    return _warp_reduction(val, lambda a, b: a + b, threads_in_group)


def warp_reduction_max(val, threads_in_group=32):
    """The maximum over each group of `threads_in_group` lanes."""
    return _warp_reduction(val, lambda a, b: fmax(a, b) if val.is_float else _maximum(a, b), threads_in_group)
