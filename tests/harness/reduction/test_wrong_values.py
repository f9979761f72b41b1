"""Wrong values: a candidate differs alike where both answers stay, or both change and are wrong in the same way."""

import numpy as np
import pytest

from harness.claim.rule import Rule
from harness.comparison import compare
from harness.reduction import wrong_values
from harness.run.result import DTYPES, Array


def wrong(got, expected) -> wrong_values.Wrong:
    arrays = [Array(DTYPES["int32"], np.array(each, np.int32).view(np.uint32)) for each in (got, expected)]
    difference = compare.compare("x", arrays[1], arrays[0], Rule("bits"), "expected()")
    assert difference is not None
    return wrong_values.of(difference)


@pytest.mark.parametrize(
    ("got", "expected", "way"),
    [
        ([1, 0, 3, 0], [1, 2, 3, 4], "zero"),
        ([1, 3, 2, 4], [1, 2, 3, 4], "values of other elements"),
        ([1, 9, 10, 4], [1, 2, 3, 4], "an offset"),
        ([1, 6, 9, 4], [1, 2, 3, 4], "a multiple"),
        ([1, 60, 9, 4], [1, 2, 3, 4], "other values"),
    ],
)
def test_how_elements_are_wrong(got, expected, way):
    assert (wrong(got, expected).way, wrong(got, expected).share) == (way, 0.5)


def test_the_same_two_answers_are_the_same_difference():
    assert wrong([1, 9], [1, 2]).unlike(wrong([1, 9], [1, 2])) == ""


def test_an_answer_that_changes_alone_is_another_difference():
    before = wrong([1, 9, 10, 4], [1, 2, 3, 4])
    assert wrong([0, 0, 0, 0], [1, 2, 3, 4]).unlike(before) == "one of two answers changed alone"
    assert wrong([1, 9, 10, 4], [0, 2, 3, 4]).unlike(before) == "one of two answers changed alone"


def test_both_may_change_where_they_are_wrong_in_the_same_way():
    before = wrong([1, 9, 10, 4], [1, 2, 3, 4])
    assert wrong([5, 13], [5, 6]).unlike(wrong([1, 9], [1, 2])) == ""
    assert wrong([1, 12, 13, 7], [1, 5, 6, 7]).unlike(before) == ""
    assert wrong([0, 0, 0, 7], [1, 5, 6, 7]).unlike(before) == "wrong in another way"
    assert wrong([8, 12, 13, 14], [1, 5, 6, 7]).unlike(before) == "wrong in other places"
