"""Persistent kernels: as many clusters as run at once, each of which takes one output tile after the other.

Each tile belongs to a block, (M, N, L); the clusters that cover them are numbered, and cluster i of n takes tiles i,
i + n, i + 2 n, ... CuTe DSL documentation: cutlass.utils, StaticPersistentTileScheduler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from dsl import layout as lay
from dsl.core.control_flow.expressions import min_
from dsl.core.errors import DSLUserCodeValueError
from dsl.core.number.dtypes import Boolean, Int32
from dsl.core.phrase import shown
from dsl.layout import Layout
from dsl.layout.int_tuple import join_dynamic, split_dynamic
from dsl.tile.pipeline.sync import Carried
from dsl.tile.tensor.index import as_index


@dataclass(frozen=True)
class WorkTileInfo:
    """A block's tile (m, n, l), and whether the problem has it: past the last tile it does not."""

    tile_idx: tuple
    is_valid_tile: Boolean

    def __flatten__(self) -> tuple[tuple, None]:
        return (*self.tile_idx, self.is_valid_tile), None

    @classmethod
    def __unflatten__(cls, key: Any, children: Sequence[Any]) -> WorkTileInfo:
        return cls(tuple(children[:-1]), children[-1])


class PersistentTileSchedulerParams:
    """A problem of `problem_shape_ntile_mnl` tiles of blocks, covered by clusters of `cluster_shape_mnk` blocks.

    Neighbouring clusters go along M first, or along N without `raster_along_m`; with a `swizzle_size` of s they take s
    along the other mode before. Raises DSLUserCodeValueError for clusters with more than one block along K.
    """

    def __init__(
        self, problem_shape_ntile_mnl: Any, cluster_shape_mnk: Any, swizzle_size: int = 1, raster_along_m: bool = True
    ):
        problem, cluster = as_index(problem_shape_ntile_mnl), as_index(cluster_shape_mnk)
        for name, shape in (("problem_shape_ntile_mnl", problem), ("cluster_shape_mnk", cluster)):
            if not isinstance(shape, tuple) or len(shape) != 3:
                raise DSLUserCodeValueError(
                    f"{name} of a tile scheduler must have three extents, got {shown(shape)}", fix=f"{name}=(2, 1, 1)"
                )
        if lay.size(cluster[2]) != 1:
            raise DSLUserCodeValueError(
                f"a cluster of a tile scheduler must have one block along K, got {cluster_shape_mnk}",
                fix="cluster_shape_mnk=(2, 1, 1), for example",
            )
        if not isinstance(swizzle_size, int) or swizzle_size < 1:
            raise DSLUserCodeValueError(f"swizzle_size must be 1 or more, got {swizzle_size}", fix="swizzle_size=1")
        self.problem_shape_ntile_mnl, self.cluster_shape_mnk = problem, cluster
        self.swizzle_size, self.raster_along_m = swizzle_size, raster_along_m

    def __flatten__(self) -> tuple[tuple, Any]:
        leaves, holes = split_dynamic(self.problem_shape_ntile_mnl)
        return leaves, (holes, self.cluster_shape_mnk, self.swizzle_size, self.raster_along_m)

    @classmethod
    def __unflatten__(cls, key: Any, children: Sequence[Any]) -> PersistentTileSchedulerParams:
        holes, *rest = key
        return cls(join_dynamic(holes, iter(children)), *rest)

    @property
    def cluster_shape_mn(self) -> tuple:
        return self.cluster_shape_mnk[:2]

    @property
    def problem_layout_ncluster_mnl(self) -> Layout:
        """(clusters along M, N, L) -> the number of a cluster; a swizzled mode is a whole multiple of the swizzle.

        Without a swizzle it is that along M in every case, as in NVIDIA's class; `cluster_at` goes the chosen way.
        """
        m, n, l = lay.ceil_div(self.problem_shape_ntile_mnl, (*self.cluster_shape_mn, 1))  # noqa: E741
        size = self.swizzle_size
        if size == 1:
            return lay.make_layout((m, n, l))
        outer, inner = (m, n) if self.raster_along_m else (n, m)
        rounds = lay.ceil_div(inner, size)
        swizzled: Any = ((size, rounds), (1, outer * size))
        plain: Any = (outer, size)
        modes = (plain, swizzled) if self.raster_along_m else (swizzled, plain)
        shape, stride = zip(*modes)
        return Layout((*shape, l), (*stride, outer * size * rounds))

    def cluster_at(self, number: Any) -> tuple:
        """(m, n, l) of a cluster by its number. After the last one l goes on, but with a swizzle starts again."""
        layout = self.problem_layout_ncluster_mnl
        if self.swizzle_size > 1:
            return layout.get_flat_coord(number)
        m, n, _ = layout.shape
        if self.raster_along_m:
            return number % m, number // m % n, number // (m * n)
        return number // n % m, number % n, number // (m * n)

    def get_grid_shape(self, max_active_clusters: Any) -> tuple:
        """The grid: at most `max_active_clusters` clusters, one after the other in z."""
        clusters = lay.size(self.problem_layout_ncluster_mnl)
        return (*self.cluster_shape_mn, Int32(min_(Int32(max_active_clusters), Int32(clusters))))


class StaticPersistentTileScheduler(Carried):
    """A block's way through the tiles; `advance_to_next_work` goes on, dynamic loops carry it."""

    def __init__(
        self,
        params: PersistentTileSchedulerParams,
        num_persistent_clusters: Any,
        current_work_linear_idx: Any,
        cta_id_in_cluster: Any,
        num_tiles_executed: Any,
    ):
        self.params, self.num_persistent_clusters = params, num_persistent_clusters
        self._current_work_linear_idx, self.cta_id_in_cluster = Int32(current_work_linear_idx), cta_id_in_cluster
        self._num_tiles_executed = Int32(num_tiles_executed)

    def parts(self) -> tuple:
        return self._current_work_linear_idx, self._num_tiles_executed

    def with_parts(self, parts: tuple) -> Self:
        work, executed = parts
        return type(self)(self.params, self.num_persistent_clusters, work, self.cta_id_in_cluster, executed)

    @classmethod
    def create(cls, params: PersistentTileSchedulerParams, block_idx: tuple, grid_dim: tuple) -> Self:
        """The scheduler of block `block_idx` of a grid that `get_grid_shape` gave."""
        return cls(params, *_place(params, block_idx, grid_dim), Int32(0))

    @staticmethod
    def get_grid_shape(params: PersistentTileSchedulerParams, max_active_clusters: Any) -> tuple:
        """The grid: at most `max_active_clusters` clusters."""
        return params.get_grid_shape(max_active_clusters)

    def get_current_work(self) -> WorkTileInfo:
        """The tile that this block is at."""
        return self._get_current_work_for_linear_idx(self._current_work_linear_idx)

    def _get_current_work_for_linear_idx(self, current_work_linear_idx: Any) -> WorkTileInfo:
        """This block's tile if its cluster is at this index; kernels with their own schedule call it."""
        index = Int32(current_work_linear_idx)
        cluster = self.params.cluster_at(index)
        tile = (
            *(
                at * extent + own
                for at, extent, own in zip(cluster, self.params.cluster_shape_mn, self.cta_id_in_cluster)
            ),
            cluster[2],
        )
        valid = Boolean(index < lay.size(self.params.problem_layout_ncluster_mnl))
        return WorkTileInfo(tuple(Int32(part) for part in tile), valid)

    initial_work_tile_info = get_current_work

    def advance_to_next_work(self, *, advance_count: int = 1) -> None:
        """Go on to this cluster's next tile, or the `advance_count`th next."""
        step = advance_count * self.num_persistent_clusters
        self._current_work_linear_idx = Int32(self._current_work_linear_idx + step)
        self._num_tiles_executed = Int32(self._num_tiles_executed + 1)

    @property
    def num_tiles_executed(self) -> Int32:
        """How often it has gone on."""
        return self._num_tiles_executed


class StaticPersistentRuntimeTileScheduler(StaticPersistentTileScheduler):
    """A cluster's way through work whose extent a kernel finds out itself: (m, n, 0) of clusters, without an end.

    Mode `inner_mode` (0 or 1) of the problem is gone through first, and its extent counts alone; the other mode goes on
    past it, and every tile is valid.
    """

    inner_mode = 1

    @classmethod
    def create(
        cls, params: PersistentTileSchedulerParams, block_idx: tuple, grid_dim: tuple, inner_mode: int = 1
    ) -> Self:
        if inner_mode not in (0, 1) or isinstance(inner_mode, bool):
            raise DSLUserCodeValueError(f"inner_mode must be 0 or 1, got {shown(inner_mode)}", fix="inner_mode=1")
        if params.swizzle_size != 1:
            raise DSLUserCodeValueError(
                f"a runtime tile scheduler has no swizzle, got swizzle_size={params.swizzle_size}",
                fix="leave out swizzle_size",
            )
        scheduler = super().create(params, block_idx, grid_dim)
        scheduler.inner_mode = inner_mode
        return scheduler

    def with_parts(self, parts: tuple) -> Self:
        scheduler = super().with_parts(parts)
        scheduler.inner_mode = self.inner_mode
        return scheduler

    def _get_current_work_for_linear_idx(self, current_work_linear_idx: Any) -> WorkTileInfo:
        index = Int32(current_work_linear_idx)
        extent = self.params.problem_layout_ncluster_mnl.shape[self.inner_mode]
        inner, outer = Int32(index % extent), Int32(index // extent)
        tile = (outer, inner) if self.inner_mode else (inner, outer)
        return WorkTileInfo((*tile, Int32(0)), Boolean(True))


def _place(params: PersistentTileSchedulerParams, block_idx: tuple, grid_dim: tuple) -> tuple:
    """How many clusters there are, the number of this block's cluster, and where the block is in it."""
    blocks = grid_dim[0] * grid_dim[1] * grid_dim[2]
    x, y, z = block_idx
    cluster_m, cluster_n = params.cluster_shape_mn
    return Int32(blocks // (cluster_m * cluster_n)), Int32(z), (Int32(x % cluster_m), Int32(y % cluster_n), Int32(0))
