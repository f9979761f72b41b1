"""The position of a thread: the special registers.  PTX ISA: Special Registers."""

from __future__ import annotations

from dsl.core.number.dtypes import Int32
from dsl.gpu.inline import ptx, register


def _triple(name: str) -> tuple[Int32, Int32, Int32]:
    return register(f"{name}.x"), register(f"{name}.y"), register(f"{name}.z")


def thread_idx() -> tuple[Int32, Int32, Int32]:
    """The thread's (x, y, z) in its block."""
    return _triple("tid")


def block_dim() -> tuple[Int32, Int32, Int32]:
    """Threads of a block in (x, y, z)."""
    return _triple("ntid")


def block_idx() -> tuple[Int32, Int32, Int32]:
    """The block's (x, y, z) in the grid."""
    return _triple("ctaid")


def dynamic_smem_size() -> Int32:
    """The bytes of dynamic shared memory this kernel was launched with."""
    return ptx("mov.u32 $0, %dynamic_smem_size;", Int32, "=r")


def grid_dim() -> tuple[Int32, Int32, Int32]:
    """Blocks of the grid in (x, y, z)."""
    return _triple("nctaid")


def cluster_idx() -> tuple[Int32, Int32, Int32]:
    """The cluster's (x, y, z) in the grid."""
    return _triple("clusterid")


def cluster_dim() -> tuple[Int32, Int32, Int32]:
    """Clusters of the grid in (x, y, z)."""
    return _triple("nclusterid")


def block_in_cluster_idx() -> tuple[Int32, Int32, Int32]:
    """The block's (x, y, z) in its cluster."""
    return _triple("cluster.ctaid")


def block_in_cluster_dim() -> tuple[Int32, Int32, Int32]:
    """Blocks of the cluster in (x, y, z)."""
    return _triple("cluster.nctaid")


def cluster_size() -> Int32:
    """Blocks of the cluster."""
    return register("cluster.nctarank")


def block_idx_in_cluster() -> Int32:
    """The block's rank in its cluster, x first."""
    return register("cluster.ctarank")


def total_smem_size() -> Int32:
    """The bytes of shared memory of the block, static and dynamic."""
    return ptx("mov.u32 $0, %total_smem_size;", Int32, "=r")


def lane_idx() -> Int32:
    """The thread's lane in its warp, 0 to 31."""
    return register("laneid")


def warp_idx() -> Int32:
    """The warp's index in its block: the linear thread index over 32."""
    x, y, z = thread_idx()
    width, height, _ = block_dim()
    return (x + y * width + z * width * height) // 32
