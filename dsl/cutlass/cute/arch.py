"""`cutlass.cute.arch`: instructions under upstream's names."""

from importlib import import_module as _import_module

from dsl.core.control_flow.branches.callbacks import if_generate
from dsl.core.diagnosis.author_traceback import stripped as _stripped
from dsl.core.number.operators import maximum as _maximum
from dsl.cutlass.cuda_version import target_version
from dsl.cutlass.cute import scalars as _scalars
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.gpu.arithmetic.bits import (
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
from dsl.gpu.arithmetic.math import cvt_f32_bf16, cvt_f32_tf32, exp, exp2, fma_bf16, fma_f16, fmax, fmin, rcp_approx
from dsl.gpu.memory.copy import (
    cp_async_bulk_commit_group,
    cp_async_bulk_wait_group,
    cp_async_commit_group,
    cp_async_wait_group,
)
from dsl.gpu.memory.dsmem import map_dsmem_ptr, store_async_dsmem
from dsl.gpu.threads.index import (
    block_dim,
    block_idx,
    block_idx_in_cluster,
    block_in_cluster_dim,
    block_in_cluster_idx,
    cluster_dim,
    cluster_idx,
    cluster_size,
    dynamic_smem_size,
    dynamic_smem_size as get_dyn_smem_size,
    grid_dim,
    lane_idx,
    thread_idx,
    total_smem_size,
    warp_idx,
)
from dsl.gpu.threads.launch_control import (
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    setmaxregister_decrease,
    setmaxregister_decrease as warpgroup_reg_dealloc,
    setmaxregister_increase,
    setmaxregister_increase as warpgroup_reg_alloc,
)
from dsl.gpu.threads.mbarrier import (
    arrive as mbarrier_arrive,
    arrive_expect_tx as mbarrier_arrive_and_expect_tx,
    conditional_try_wait as mbarrier_conditional_try_wait,
    cp_async_arrive_noinc as cp_async_mbarrier_arrive_noinc,
    expect_tx as mbarrier_expect_tx,
    init as mbarrier_init,
    init_fence as mbarrier_init_fence,
    poll as mbarrier_try_wait,
    test_wait as mbarrier_test_wait,
    wait as mbarrier_wait,
)
from dsl.gpu.threads.registers import (
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
from dsl.gpu.threads.sync import (
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
from dsl.gpu.threads.warp import (
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
    warp_reduction as _warp_reduction,
    warp_redux_sync,
)
from dsl.tile.memory.memory import get_dyn_smem

__all__ = [
    "FULL_MASK",
    "WARP_SIZE",
    "activemask",
    "add_sat_int",
    "barrier",
    "barrier_arrive",
    "bfe",
    "bfi",
    "bfind",
    "block_dim",
    "block_idx",
    "block_idx_in_cluster",
    "block_in_cluster_dim",
    "block_in_cluster_idx",
    "brev",
    "clock",
    "clock64",
    "cluster_arrive",
    "cluster_arrive_relaxed",
    "cluster_dim",
    "cluster_idx",
    "cluster_size",
    "cluster_wait",
    "clz",
    "cp_async_bulk_commit_group",
    "cp_async_bulk_wait_group",
    "cp_async_commit_group",
    "cp_async_mbarrier_arrive_noinc",
    "cp_async_wait_group",
    "cvt_f32_bf16",
    "cvt_f32_tf32",
    "dynamic_smem_size",
    "elect_one",
    "exp",
    "exp2",
    "fence_acq_rel_cluster",
    "fence_acq_rel_cta",
    "fence_acq_rel_gpu",
    "fence_acq_rel_sys",
    "fence_proxy",
    "fence_view_async_shared",
    "fma_bf16",
    "fma_f16",
    "fmax",
    "fmin",
    "get_dyn_smem",
    "get_dyn_smem_size",
    "globaltimer",
    "globaltimer_lo",
    "grid_dim",
    "griddepcontrol_launch_dependents",
    "griddepcontrol_wait",
    "gridid",
    "if_generate",
    "lane_idx",
    "lanemask_eq",
    "lanemask_ge",
    "lanemask_gt",
    "lanemask_le",
    "lanemask_lt",
    "log2_of_pow2_int",
    "lop3",
    "mad24",
    "make_warp_uniform",
    "map_dsmem_ptr",
    "match_sync",
    "mbarrier_arrive",
    "mbarrier_arrive_and_expect_tx",
    "mbarrier_conditional_try_wait",
    "mbarrier_expect_tx",
    "mbarrier_init",
    "mbarrier_init_fence",
    "mbarrier_test_wait",
    "mbarrier_try_wait",
    "mbarrier_wait",
    "mul24",
    "mul_hi",
    "mul_wide",
    "nsmid",
    "nwarpid",
    "physical_warp_id",
    "popc",
    "prmt",
    "rcp_approx",
    "setmaxregister_decrease",
    "setmaxregister_increase",
    "shf",
    "shuffle_sync",
    "shuffle_sync_bfly",
    "shuffle_sync_down",
    "shuffle_sync_op",
    "shuffle_sync_up",
    "smid",
    "store_async_dsmem",
    "sub_sat_int",
    "sync_threads",
    "sync_warp",
    "target_version",
    "thread_idx",
    "total_smem_size",
    "vote_all_sync",
    "vote_any_sync",
    "vote_ballot_sync",
    "vote_sync_op",
    "vote_uni_sync",
    "warp_idx",
    "warp_reduction_max",
    "warp_reduction_sum",
    "warp_redux_sync",
    "warpgroup_reg_alloc",
    "warpgroup_reg_dealloc",
    "warpsize",
]
__all__ += _scalars._NAMES


def warp_reduction_sum(val, threads_in_group=32):
    """The sum over each group of `threads_in_group` lanes."""
    return _warp_reduction(val, lambda a, b: a + b, threads_in_group)


def warp_reduction_max(val, threads_in_group=32):
    """The maximum over each group of `threads_in_group` lanes."""
    return _warp_reduction(val, lambda a, b: fmax(a, b) if a.is_float else _maximum(a, b), threads_in_group)


globals().update({_name: getattr(_scalars, _name) for _name in _scalars._NAMES})
_refused = _refuser("cutlass.cute.arch")


@_stripped
def __getattr__(name: str) -> object:
    """`nvvm`, the dialect's module, which is there too and not listed; its import costs."""
    return _import_module("dsl.cutlass._mlir.dialects").nvvm if name == "nvvm" else _refused(name)
