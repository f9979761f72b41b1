"""Which thread this is, by tvm_tirx's names: `T.cuda.thread_idx("x")`, `T.cuda.warp_id()` and the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsl.core.errors import DSLUserCodeError, DSLUserCodeValueError
from dsl.core.number.dtypes import Int32, Numeric
from dsl.core.phrase import shown
from dsl.gpu.inline import register
from dsl.tirx.functions import ids

__all__ = [
    "block_dim",
    "block_idx",
    "cluster_cta_id",
    "cluster_dim",
    "cluster_id",
    "grid_dim",
    "lane_id",
    "linear_thread_id",
    "thread_idx",
    "thread_in_warpgroup",
    "warp_id",
    "warp_in_warpgroup",
    "warpgroup_id",
]


def _by_axis(name: str, special: str, meaning: str, of_cluster: bool = False) -> Callable[[Any], Int32]:
    def index(axis: Any) -> Int32:
        extents = ids.current(f"cuda.{name}")
        if axis not in ("x", "y", "z"):
            raise DSLUserCodeValueError(
                f'the axis of T.cuda.{name} is "x", "y" or "z", got {shown(axis)}',
                id="LAUNCH_AXIS",
                fix=f'T.cuda.{name}("x")',
            )
        if of_cluster and "cta_id_in_cluster" not in extents.declared:
            raise DSLUserCodeError(
                f"T.cuda.{name} needs a launch with clusters",
                id="LAUNCH_NO_CLUSTER",
                fix="T.cuda.LaunchConfig(grid=..., block=..., cluster=2)",
            )
        return register(f"{special}.{axis}")

    index.__name__ = index.__qualname__ = name
    index.__doc__ = f"{meaning} on one axis.  PTX ISA: %{special.replace('cluster.', 'cluster_')}."
    return index


thread_idx = _by_axis("thread_idx", "tid", "The thread's place in its block")
block_idx = _by_axis("block_idx", "ctaid", "The block's place in the grid")
block_dim = _by_axis("block_dim", "ntid", "The threads of a block")
grid_dim = _by_axis("grid_dim", "nctaid", "The blocks of the grid")
cluster_id = _by_axis("cluster_id", "clusterid", "The cluster's place in the grid", True)
cluster_cta_id = _by_axis("cluster_cta_id", "cluster.ctaid", "The block's place in its cluster", True)
cluster_dim = _by_axis("cluster_dim", "cluster.nctaid", "The blocks of a cluster", True)


def linear_thread_id() -> Numeric:
    """The thread's number in its block: x counts first."""
    return ids.linear()


def warp_id() -> Numeric:
    """The warp's number in its block."""
    return ids.linear() >> 5


def lane_id() -> Numeric:
    """The thread's lane in its warp."""
    return ids.linear() & 31


def warpgroup_id() -> Numeric:
    """The number of the thread's warpgroup (4 warps) in its block."""
    return ids.linear() >> 7


def warp_in_warpgroup() -> Numeric:
    """The warp's number in its warpgroup."""
    return (ids.linear() >> 5) & 3


def thread_in_warpgroup() -> Numeric:
    """The thread's number in its warpgroup."""
    return ids.linear() & 127
