"""Persistent tile schedulers: each block takes the same tiles as upstream."""

from pathlib import Path

import pytest

from dsl.core.errors import DSLUserCodeValueError
from dsl.tile.scheduler.tile_scheduler import PersistentTileSchedulerParams, StaticPersistentRuntimeTileScheduler

PROGRAM = Path(__file__).with_name("scheduler_program.py")


@pytest.mark.slow
def test_tiles_are_upstreams(both):
    ours, theirs = both(PROGRAM)
    assert theirs.status == 0, theirs.errors
    assert theirs.output.count("\n") == 107 and ours.output == theirs.output


def test_the_layout_of_clusters_goes_along_m_and_the_scheduler_its_way():
    """Also after the last tile, where l goes on, but with a swizzle starts again: measured with NVIDIA's compiler."""
    along_n = PersistentTileSchedulerParams((3, 2, 2), (1, 1, 1), 1, False)
    assert str(along_n.problem_layout_ncluster_mnl) == "(3,2,2):(1,3,6)"
    assert [along_n.cluster_at(i) for i in (0, 1, 2, 6, 11, 12, 18)] == [
        (0, 0, 0), (0, 1, 0), (1, 0, 0), (0, 0, 1), (2, 1, 1), (0, 0, 2), (0, 0, 3),
    ]  # fmt: skip
    along_m = PersistentTileSchedulerParams((3, 2, 2), (1, 1, 1))
    assert [along_m.cluster_at(i) for i in (1, 3, 11, 14)] == [(1, 0, 0), (0, 1, 0), (2, 1, 1), (2, 0, 2)]
    swizzled = PersistentTileSchedulerParams((3, 5, 1), (1, 1, 1), 2)
    assert str(swizzled.problem_layout_ncluster_mnl) == "(3,(2,3),1):(2,(1,6),18)"
    assert [swizzled.cluster_at(i) for i in (0, 17, 18)] == [(0, 0, 0), (2, 5, 0), (0, 0, 0)]


def test_tiles_that_a_scheduler_cannot_cover_are_refused(refused):
    from dsl.cutlass import cute

    @cute.kernel
    def deep():
        PersistentTileSchedulerParams((4, 4, 1), (1, 1, 2))

    @cute.kernel
    def none():
        PersistentTileSchedulerParams((4, 4, 1), (1, 1, 1), swizzle_size=0)

    message = "a cluster of a tile scheduler must have one block along K, got (1, 1, 2)"
    assert refused(deep) == (message, "cluster_shape_mnk=(2, 1, 1), for example")
    assert refused(none) == ("swizzle_size must be 1 or more, got 0", "swizzle_size=1")


def test_a_runtime_scheduler_has_one_inner_mode_and_no_swizzle(refused):
    from dsl.cutlass import cute

    def create(inner_mode, **more):
        @cute.kernel
        def kernel():
            params = PersistentTileSchedulerParams((4, 4, 1), (1, 1, 1), **more)
            place = cute.arch.block_idx(), cute.arch.grid_dim()
            StaticPersistentRuntimeTileScheduler.create(params, *place, inner_mode)

        return kernel

    assert refused(create(2)) == ("inner_mode must be 0 or 1, got 2", "inner_mode=1")
    assert refused(create(1, swizzle_size=2)) == (
        "a runtime tile scheduler has no swizzle, got swizzle_size=2",
        "leave out swizzle_size",
    )


@pytest.mark.parametrize("arguments", [((1, 2), (1, 1, 1)), ((1, 2, 3), (1,)), (4, (1, 1, 1))])
def test_a_scheduler_needs_three_extents(arguments):
    with pytest.raises(DSLUserCodeValueError, match=r"of a tile scheduler must have three extents, got "):
        PersistentTileSchedulerParams(*arguments)
