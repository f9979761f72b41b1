"""Numbers of threads as text."""

from dsl.emulator.diagnosis.ranges import ranges, runs


def test_threads_are_printed_as_ranges_of_lanes():
    assert ranges([0, 1, 2, 5, *range(32, 64)]) == "warp 1, warp 0 lanes 0-2,5"


def test_numbers_in_a_row():
    assert runs([3, 0, 1, 7, 2]) == "0-3,7" and runs([5]) == "5" and runs([]) == ""
