"""T.cuda of tvm_tirx: the functions that tvm's T.cuda has, launches, and the indices of a thread."""

from dsl.tirx.errors.unsupported import module_getattr as _refuser
from dsl.tirx.functions import cuda as _shared
from dsl.tirx.tvm_tirx import indices as _indices
from dsl.tirx.tvm_tirx.indices import *  # noqa: F403
from dsl.tirx.tvm_tirx.launch import KernelAttributes, LaunchConfig
from dsl.tirx.tvm_tirx.upstream_names import CUDA as _UPSTREAM

SHARED = tuple(
    """
__activemask __shfl_down_sync __shfl_sync __shfl_up_sync __shfl_xor_sync any_sync atomic_add atomic_cas
ballot_sync bfloat1622float2 bfloat162float clock64 cluster_sync cta_max cta_min cta_reduce cta_sum cta_sync
cvta_generic_to_shared elect_sync fdividef ffs_u32 float22bfloat162_rn float22bfloat162_rn_from_float2
float22half2 float2_x float2_y float8tohalf8 float_as_uint fp8x4_e4m3_from_float4 half2float half8tofloat8 hmax2
hmin2 make_float2 mbarrier_wait mbarrier_wait_acquire_cluster mov_sreg nano_sleep printf reduce_add_sync_u32
reduce_min_sync_u32 smem_addr_from_uint64 syncthreads_and syncthreads_or thread_fence thread_rank
trap_when_assert_failed uint_as_float warp_max warp_min warp_reduce warp_sum warp_sync warpgroup_sync
""".split()
)
globals().update({name: getattr(_shared, name) for name in SHARED})

__all__ = ["KernelAttributes", "LaunchConfig"]
__all__ += [*_indices.__all__, *SHARED]
__getattr__ = _refuser("T.cuda", globals(), _UPSTREAM)
