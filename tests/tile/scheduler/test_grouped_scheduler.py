"""Schedulers of groups: each block takes the same tiles as upstream."""

from pathlib import Path

import pytest

from dsl.core.number.dtypes import Boolean, Int32
from dsl.cutlass import cute
from dsl.tile.scheduler.grouped_scheduler import GroupedWorkTileInfo, GroupSearchResult, create_initial_search_state

PROGRAM = Path(__file__).with_name("grouped_program.py")


@pytest.mark.slow
def test_tiles_are_upstreams(both):
    ours, theirs = both(PROGRAM)
    assert theirs.status == 0, theirs.errors
    assert theirs.output.count("\n") == 38 and ours.output == theirs.output


def test_records_are_carried_by_their_numbers(run):
    kept = []

    @cute.kernel
    def kernel():
        found = GroupSearchResult(*map(Int32, range(7)))
        work = GroupedWorkTileInfo((Int32(7), Int32(8), Int32(9)), Boolean(True), found)
        again = GroupedWorkTileInfo.__unflatten__(None, work.__flatten__()[0])
        kept.append([part.value for part in again.parts()])
        kept.append([part.value for part in create_initial_search_state().parts()])

    run(kernel)
    assert kept == [[7, 8, 9, True, *range(7)], [0, 0, 0, False]]
