"""Schedules: which decisions of a seed count."""

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.execute.decisions import BadSchedule, Decisions, spelled

# Every thread adds one to a word, not at once, and keeps what it read.
LOST_UPDATE = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .b64 %rd<4>;
.reg .b32 %r<6>;
ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x;
mov.u32 %r3, %ctaid.x;
mad.lo.u32 %r1, %r3, 4, %r1;
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd3, %rd1, %rd2;
ld.global.u32 %r2, [%rd1];
add.u32 %r2, %r2, 1;
st.global.u32 [%rd1], %r2;
st.global.u32 [%rd3+4], %r2;
ret;
}
"""


def run(seed: int, decisions: Decisions | None = None) -> list[int]:
    data = np.zeros(9, np.uint32)
    memory = emulator.Memory()
    memory.register(data.ctypes.data, data.nbytes, "data")
    pointer = data.ctypes.data.to_bytes(8, "little")
    program = emulator.load(LOST_UPDATE)
    emulator.launch(program, "k", (2, 1, 1), (4, 1, 1), [pointer], memory, seed=seed, decisions=decisions)
    return data.tolist()


@pytest.mark.parametrize("seed", range(1, 9))
def test_decisions_follow_from_the_seed_and_their_list_replays_them(seed):
    all_of_it = Decisions(seed)
    expected = run(seed)
    assert run(seed, all_of_it) == expected
    assert all_of_it.taken > 4
    listed = Decisions.of(str(all_of_it))
    assert len(listed.kept) == all_of_it.taken
    assert run(seed, listed) == expected
    assert listed.taken == all_of_it.taken


def test_without_decisions_threads_run_in_turn_and_some_change_that():
    none = {str(run(seed, Decisions(seed, frozenset()))) for seed in range(1, 9)}
    assert len(none) == 1
    single = {str(run(3, Decisions(3, frozenset([number])))) for number in range(12)}
    assert len(single) > 1


def test_decisions_are_numbered_over_all_launches():
    decisions = Decisions(5)
    run(5, decisions)
    once = decisions.taken
    run(5, decisions)
    assert decisions.taken == 2 * once


def test_a_list_is_written_as_it_is_read():
    assert str(Decisions.of(" 7:  4 0-2 1 19 \n")) == "7: 0-2 4 19"
    assert str(Decisions.of("7:")) == "7:"
    assert Decisions.of("7").kept is None
    assert spelled([5, 3, 4, 9]) == "3-5 9"


@pytest.mark.parametrize("text", ["", "x", "0: 1", "7: 1,2", "7: 1-", "-7:", "7: 99999999", "7 1"])
def test_a_bad_schedule_is_refused(text):
    with pytest.raises(BadSchedule, match="a schedule must"):
        Decisions.of(text)


def paused(*numbers: int) -> tuple[list[int], int]:
    decisions = Decisions.of("pauses:" + "".join(f" {number}" for number in numbers))
    return run(1, decisions), decisions.taken


def test_one_pause_stops_a_warp_until_the_other_block_has_ended():
    """In turn the blocks alternate, and each reads before the other one writes."""
    in_turn, turns = paused()
    assert in_turn == [1] * 9 and turns > 4
    found = [paused(number)[0] for number in range(turns)]
    assert [2, 1, 1, 1, 1, 2, 2, 2, 2] in found and [2, 2, 2, 2, 2, 1, 1, 1, 1] in found


def test_pauses_are_replayed_by_their_list():
    assert str(Decisions.of("pauses: 3 1 2 9")) == "pauses: 1-3 9" and str(Decisions.of("pauses:")) == "pauses:"
    assert paused(2, 5) == paused(2, 5)
    for text in ("pauses", "pauses 3", "pauses: x"):
        with pytest.raises(BadSchedule):
            Decisions.of(text)
