"""Mistakes that authors of kernels make, in pairs: at the default seed each wrong kernel is found at the author's line, with
its cause, and each right one is silent."""

import pytest

from tests.emulator.pairs import clusters, copies, flags, lanes_and_places, mbarriers, named_barriers, turns

PAIRS = [
    pair
    for each in (clusters, copies, flags, lanes_and_places, mbarriers, named_barriers, turns)
    for pair in each.PAIRS
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda each: each.name)
def test_the_wrong_one_is_found_and_the_right_one_is_silent(pair):
    fault = pair.fault(cured=False)
    assert fault is not None, "nothing is found"
    assert (fault.kind, fault.place.line) == (pair.kind, pair.line), str(fault)
    assert pair.text in str(fault), str(fault)
    right = pair.fault(cured=True)
    assert right is None, str(right)
