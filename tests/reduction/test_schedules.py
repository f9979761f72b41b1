"""Fewer decisions of a schedule."""

import pytest

from dsl.reduction.answers import Answers
from dsl.reduction.program import Refused
from dsl.reduction.schedules import Delays, Schedule, decisions, delays


def test_each_decision_can_go_and_all_can():
    schedule = Schedule("7: 0-2 19\n")
    edits = list(decisions(schedule))
    assert [edit.about for edit in edits] == [f"without the decision {number}" for number in (19, 2, 1, 0)]
    assert [schedule.apply([edit]) for edit in edits] == ["7: 0-2\n", "7: 0-1 19\n", "7: 0 2 19\n", "7: 1-2 19\n"]
    assert schedule.apply(edits) == "7: \n"
    assert list(decisions(Schedule(schedule.apply(edits)))) == []
    with pytest.raises(Refused):
        schedule.apply([])


def test_a_schedule_without_a_list_is_refused_with_the_way_to_get_one():
    request = {"do": "edits", "pass": "decisions", "source": "7"}
    assert "python -m dsl --schedule SEED FILE" in Answers().answer(request)["error"]


def test_each_delay_can_go():
    listed = Delays("order 3\nk 3 before 25600 ns warps 0/4  # st.shared\n")
    edits = list(delays(listed))
    assert [edit.about for edit in edits] == ["without order 3", "without k 3 before 25600 ns warps 0/4  # st.shared"]
    assert [listed.apply([edit]) for edit in edits] == ["k 3 before 25600 ns warps 0/4  # st.shared\n", "order 3\n"]
    with pytest.raises(Refused):
        listed.apply([])


def test_delays_of_a_seed_are_refused_with_the_way_to_list_them():
    request = {"do": "edits", "pass": "delays", "source": "seed 5"}
    assert "repro run FILE --delays 'seed N'" in Answers().answer(request)["error"]
