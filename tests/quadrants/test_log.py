"""Levels of the log: a level lets through itself and those above."""

import pytest

from dsl.quadrants.errors.errors import WrongValue
from dsl.quadrants.log import INFO, LEVELS, is_logging_effective, set_logging_level


@pytest.fixture(autouse=True)
def level():
    yield
    set_logging_level(INFO)


@pytest.mark.parametrize("place", range(len(LEVELS)))
def test_a_level_lets_through_itself_and_those_above(place):
    set_logging_level(LEVELS[place])
    assert [is_logging_effective(each) for each in LEVELS] == [k >= place for k in range(len(LEVELS))]


def test_unknown_levels_are_refused_and_change_nothing():
    for call in (set_logging_level, is_logging_effective):
        with pytest.raises(WrongValue, match="a logging level must be one of trace, debug, .*, got 'loud'"):
            call("loud")
    assert is_logging_effective("info") and not is_logging_effective("debug")
