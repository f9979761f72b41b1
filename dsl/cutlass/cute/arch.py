"""`cutlass.cute.arch`: instructions under upstream's names."""

from dsl.core.value import maximum as _maximum
from dsl.cutlass.cute import scalars as _scalars
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.gpu.copy import (
    cp_async_bulk_commit_group,
    cp_async_bulk_wait_group,
    cp_async_commit_group,
    cp_async_wait_group,
)
from dsl.gpu.index import (
    block_dim,
    block_idx,
    block_idx_in_cluster,
    block_in_cluster_dim,
    block_in_cluster_idx,
    cluster_dim,
    cluster_idx,
    cluster_size,
    dynamic_smem_size,
    grid_dim,
    lane_idx,
    thread_idx,
    total_smem_size,
    warp_idx,
)
from dsl.gpu.index import dynamic_smem_size as get_dyn_smem_size
from dsl.gpu.launch_control import (
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    setmaxregister_decrease,
    setmaxregister_increase,
)
from dsl.gpu.launch_control import setmaxregister_decrease as warpgroup_reg_dealloc
from dsl.gpu.launch_control import setmaxregister_increase as warpgroup_reg_alloc
from dsl.gpu.mbarrier import arrive as mbarrier_arrive
from dsl.gpu.mbarrier import arrive_expect_tx as mbarrier_arrive_and_expect_tx
from dsl.gpu.mbarrier import conditional_try_wait as mbarrier_conditional_try_wait
from dsl.gpu.mbarrier import cp_async_arrive_noinc as cp_async_mbarrier_arrive_noinc
from dsl.gpu.mbarrier import expect_tx as mbarrier_expect_tx
from dsl.gpu.mbarrier import init as mbarrier_init
from dsl.gpu.mbarrier import init_fence as mbarrier_init_fence
from dsl.gpu.mbarrier import poll as mbarrier_try_wait
from dsl.gpu.mbarrier import test_wait as mbarrier_test_wait
from dsl.gpu.mbarrier import wait as mbarrier_wait
from dsl.gpu.bits import (
    add_sat_int,
    bfe,
    bfi,
    bfind,
    brev,
    clz,
    log2_of_pow2_int,
    lop3,
    mad24,
    mul24,
    mul_hi,
    mul_wide,
    popc,
    prmt,
    shf,
    sub_sat_int,
)
from dsl.gpu.math import cvt_f32_bf16, cvt_f32_tf32, exp, exp2, fma_bf16, fma_f16, fmax, fmin, rcp_approx
from dsl.gpu.registers import (
    activemask,
    clock,
    clock64,
    globaltimer,
    globaltimer_lo,
    gridid,
    lanemask_eq,
    lanemask_ge,
    lanemask_gt,
    lanemask_le,
    lanemask_lt,
    nsmid,
    nwarpid,
    physical_warp_id,
    smid,
    warpsize,
)
from dsl.gpu.sync import (
    barrier,
    barrier_arrive,
    cluster_arrive,
    cluster_arrive_relaxed,
    cluster_wait,
    elect_one,
    fence_acq_rel_cluster,
    fence_acq_rel_cta,
    fence_acq_rel_gpu,
    fence_acq_rel_sys,
    fence_proxy,
    fence_view_async_shared,
    sync_threads,
    sync_warp,
)
from dsl.gpu.warp import (
    FULL_MASK,
    WARP_SIZE,
    make_warp_uniform,
    match_sync,
    shuffle_sync,
    shuffle_sync_bfly,
    shuffle_sync_down,
    shuffle_sync_op,
    shuffle_sync_up,
    vote_all_sync,
    vote_any_sync,
    vote_ballot_sync,
    vote_sync_op,
    vote_uni_sync,
    warp_redux_sync,
)
from dsl.gpu.warp import warp_reduction as _warp_reduction
from dsl.tile.memory import get_dyn_smem


def warp_reduction_sum(val, threads_in_group=32):
    """The sum over each group of `threads_in_group` lanes."""
    return _warp_reduction(val, lambda a, b: a + b, threads_in_group)


def warp_reduction_max(val, threads_in_group=32):
    """The maximum over each group of `threads_in_group` lanes."""
    return _warp_reduction(val, lambda a, b: fmax(a, b) if a.is_float else _maximum(a, b), threads_in_group)


globals().update({_name: getattr(_scalars, _name) for _name in _scalars._NAMES})
__getattr__ = _refuser("cutlass.cute.arch")
