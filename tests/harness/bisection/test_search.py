"""The search finds the first bad version in few runs, whatever is skipped, and leaves exactly the open candidates."""

import math

import pytest
from hypothesis import given, strategies

from harness.bisection.search import Search, State


def answers(count: int, first_bad: int, skipped: set[int]):
    return lambda place: State.SKIPPED if place in skipped else State.OTHER if place >= first_bad else State.SAME


def finish(search: Search, answer) -> list[int]:
    """Ask until the end; the versions that were asked."""
    asked = []
    while (place := search.next()) is not None:
        asked.append(place)
        search.take(place, answer(place))
    return asked


@strategies.composite
def histories(draw):
    count = draw(strategies.integers(2, 300))
    first_bad = draw(strategies.integers(1, count - 1))
    between = strategies.integers(1, max(1, count - 2))
    rows = draw(strategies.lists(strategies.tuples(between, strategies.integers(1, 40)), max_size=4))
    skipped = {place for start, length in rows for place in range(start, min(start + length, count - 1))}
    return count, first_bad, skipped


@given(histories())
def test_the_first_bad_is_found_or_the_candidates_are_exact(history):
    count, first_bad, skipped = history
    search = Search(count)
    asked = finish(search, answers(*history))
    passed_over = [place for place in asked if place in skipped]
    assert len(asked) == len(set(asked)) <= math.ceil(math.log2(count)) + len(passed_over)
    # All that is known is the nearest version of each kind that runs: everything after the good one may be the first.
    last_good = max(place for place in range(first_bad) if place not in skipped)
    known_bad = min(place for place in range(first_bad, count) if place not in skipped)
    assert search.candidates() == list(range(last_good + 1, known_bad + 1))
    assert first_bad in search.candidates()


@given(histories())
def test_the_next_place_is_among_the_upcoming_ones(history):
    answer, search = answers(*history), Search(history[0])
    while (place := search.next()) is not None:
        upcoming = search.upcoming()
        assert place not in upcoming and len(upcoming) <= 2
        before = search.most_runs()
        search.take(place, answer(place))
        if search.states[place] is not State.SKIPPED:
            assert search.next() in [*upcoming, None] and search.most_runs() < before
        else:
            assert search.most_runs() <= before


@pytest.mark.parametrize("count, most", [(2, 0), (3, 1), (4, 2), (8, 3), (9, 3), (33, 5), (1000, 10)])
def test_the_most_runs_are_known_beforehand(count, most):
    assert Search(count).most_runs() == most
    for first_bad in range(1, count):
        search = Search(count)
        assert len(finish(search, answers(count, first_bad, set()))) <= most
        assert search.candidates() == [first_bad]


def test_a_row_that_cannot_run_is_left_at_once():
    search = Search(101)
    asked = finish(search, answers(101, 90, set(range(41, 60))))
    assert sum(place in range(41, 60) for place in asked) == 1
