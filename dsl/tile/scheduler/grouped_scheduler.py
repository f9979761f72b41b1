"""Tiles of many products of different sizes: which product, its group, a cluster's tile is of.

The tiles of all groups are counted one group after the other, along M first in each. `problem_shape_mnkl` is a tensor
(groups, 4) of sizes. CuTe DSL documentation: cutlass.utils, GroupedGemmTileSchedulerHelper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from dsl.core.control_flow.statements import Range, for_
from dsl.core.number.dtypes import Boolean, Int32
from dsl.core.number.operators import select
from dsl.tile.pipeline.sync import Carried
from dsl.tile.scheduler.tile_scheduler import PersistentTileSchedulerParams, StaticPersistentTileScheduler
from dsl.tile.tensor.tensor import Tensor

_NOWHERE = ("", 0, 0, 0, 0)


@dataclass
class _Parts(Carried):
    """A record of numbers that dynamic statements carry."""

    def parts(self) -> tuple:
        return tuple(getattr(self, each.name) for each in fields(self))

    def with_parts(self, parts: tuple):
        return type(self)(*parts)

    def __flatten__(self) -> tuple[tuple, None]:
        return self.parts(), None

    @classmethod
    def __unflatten__(cls, key: Any, children: Sequence[Any]):
        return cls(*children)


@dataclass
class GroupSearchResult(_Parts):
    """A block's tile: its group, where it is in it, the group's sizes, and its tiles along K."""

    group_idx: Any
    cta_tile_idx_m: Any
    cta_tile_idx_n: Any
    problem_shape_m: Any
    problem_shape_n: Any
    problem_shape_k: Any
    cta_tile_count_k: Any


@dataclass
class GroupedGemmGroupSearchState(_Parts):
    """The state of a search. Here each search begins with the first group."""

    start_group_idx: Any
    tile_count_prev_group: Any
    tile_count_searched: Any
    found: Any


def create_initial_search_state() -> GroupedGemmGroupSearchState:
    return GroupedGemmGroupSearchState(Int32(0), Int32(0), Int32(0), Boolean(False))


class GroupedGemmTileSchedulerHelper(Carried):
    """Finds the group of a tile, among `group_count`, whose clusters have tiles of `cluster_tile_shape_mnk`."""

    def __init__(
        self,
        group_count: int,
        tile_sched_params: PersistentTileSchedulerParams,
        cluster_tile_shape_mnk: tuple[int, int, int],
        search_state: GroupedGemmGroupSearchState,
    ):
        self.group_count, self.tile_sched_params = group_count, tile_sched_params
        self.cluster_tile_shape_mnk, self.search_state = cluster_tile_shape_mnk, search_state

    def parts(self) -> tuple:
        return ()

    def with_parts(self, parts: tuple) -> GroupedGemmTileSchedulerHelper:
        return type(self)(self.group_count, self.tile_sched_params, self.cluster_tile_shape_mnk, self.search_state)

    def delinearize_z(self, cta_tile_coord: tuple, problem_shape_mnkl: Tensor) -> GroupSearchResult:
        """The tile of the block at `cta_tile_coord`: (m, n) in its cluster, and the number of the cluster's tile."""
        m_in_cluster, n_in_cluster, z = cta_tile_coord
        group, first, *sizes = self._search(Int32(z), problem_shape_mnkl)
        m, n, k = sizes
        tile_m, _, tile_k = self.cluster_tile_shape_mnk
        along_m = _ceil_div(m, tile_m)
        within = Int32(z) - first
        cluster_m, cluster_n = self.tile_sched_params.cluster_shape_mn
        return GroupSearchResult(
            group,
            Int32(within % along_m * cluster_m + m_in_cluster % cluster_m),
            Int32(within // along_m * cluster_n + n_in_cluster % cluster_n),
            m,
            n,
            k,
            _ceil_div(k, tile_k),
        )

    def search_cluster_tile_count_k(self, cta_tile_coord: tuple, problem_shape_mnkl: Tensor) -> tuple[Int32, Int32]:
        """The number of tiles along K, and the group."""
        group, _, _, _, k = self._search(Int32(cta_tile_coord[2]), problem_shape_mnkl)
        return _ceil_div(k, self.cluster_tile_shape_mnk[2]), group

    def _search(self, z: Int32, problems: Tensor) -> tuple[Int32, ...]:
        """The last group that begins at tile `z` or before it: its number, its first tile, its M, N and K."""
        tile_m, tile_n, _ = self.cluster_tile_shape_mnk

        def step(group: Int32, begin: Int32, *held: Int32) -> tuple:
            sizes = tuple(Int32(problems[group, mode]) for mode in range(3))
            end = Int32(begin + _ceil_div(sizes[0], tile_m) * _ceil_div(sizes[1], tile_n))
            inside = (begin <= z) & (z < end)
            found = (Int32(group), begin, *sizes)
            return (end, *(Int32(select(inside, new, old)) for new, old in zip(found, held)))

        start = (Int32(0),) * 6
        names = tuple((f"part {i} of a search", *_NOWHERE) for i in range(len(start)))
        return for_(Range(self.group_count), step, start, names)[1 : len(start)]


def _ceil_div(number: Int32, divisor: int) -> Int32:
    return Int32((number + (divisor - 1)) // divisor)


class GroupedWorkTileInfo(_Parts):
    """A block's tile of a group; `tile_idx` is the cluster's tile, before the group was known."""

    def __init__(self, tile_idx: tuple, is_valid_tile: Boolean, group_search_result: GroupSearchResult):
        self.tile_idx, self.is_valid_tile = tile_idx, is_valid_tile
        self.group_search_result = group_search_result

    def parts(self) -> tuple:
        return (*self.tile_idx, self.is_valid_tile, *self.group_search_result.parts())

    def with_parts(self, parts: tuple) -> GroupedWorkTileInfo:
        return self.__unflatten__(None, parts)

    @classmethod
    def __unflatten__(cls, key: Any, children: Sequence[Any]) -> GroupedWorkTileInfo:
        return cls(tuple(children[:3]), children[3], GroupSearchResult(*children[4:]))


class StaticPersistentGroupTileScheduler(Carried):
    """A block's way through the tiles of all groups."""

    def __init__(self, tiles: StaticPersistentTileScheduler, helper: GroupedGemmTileSchedulerHelper, problems: Tensor):
        self._tiles, self._helper, self._problems = tiles, helper, problems

    def parts(self) -> tuple:
        return self._tiles.parts()

    def with_parts(self, parts: tuple) -> StaticPersistentGroupTileScheduler:
        return type(self)(self._tiles.with_parts(parts), self._helper, self._problems)

    @classmethod
    def create(
        cls,
        params: PersistentTileSchedulerParams,
        block_idx: tuple,
        grid_dim: tuple,
        cluster_tile_shape_mnk: tuple[int, int, int],
        initial_search_state: GroupedGemmGroupSearchState,
        group_count: int,
        problem_shape_mnkl: Tensor,
        use_cached_problem_shapes: bool = False,
    ) -> StaticPersistentGroupTileScheduler:
        """The scheduler of block `block_idx`, over `group_count` groups of the sizes in `problem_shape_mnkl`."""
        helper = GroupedGemmTileSchedulerHelper(group_count, params, cluster_tile_shape_mnk, initial_search_state)
        return cls(StaticPersistentTileScheduler.create(params, block_idx, grid_dim), helper, problem_shape_mnkl)

    @staticmethod
    def get_grid_shape(params: PersistentTileSchedulerParams, max_active_clusters: Any) -> tuple:
        return params.get_grid_shape(max_active_clusters)

    def get_current_work(self) -> GroupedWorkTileInfo:
        """The tile that this block is at."""
        work = self._tiles.get_current_work()
        return GroupedWorkTileInfo(work.tile_idx, work.is_valid_tile, self.delinearize_z(work.tile_idx))

    initial_work_tile_info = get_current_work

    def delinearize_z(self, cta_tile_coord: tuple) -> GroupSearchResult:
        """The tile of a group at `cta_tile_coord`."""
        return self._helper.delinearize_z(cta_tile_coord, self._problems)

    def prefetch_problem_shapes(self) -> None:
        """Nothing: sizes are read where they are needed."""

    def advance_to_next_work(self, *, advance_count: int = 1) -> None:
        self._tiles.advance_to_next_work(advance_count=advance_count)

    @property
    def num_tiles_executed(self) -> Int32:
        """How often it has gone on."""
        return self._tiles.num_tiles_executed
