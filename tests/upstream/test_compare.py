"""The rules under which a printed line may differ from NVIDIA's output: the lines that each allows and refuses."""

from collections import Counter

import pytest

from tests.upstream import compare


@pytest.mark.parametrize(
    "theirs, ours, rule",
    [
        ("a = 5", "a = 5", "equal"),
        ("a = 5", "a = 6", None),
        ("tensor(raw_ptr(0x000000000a5f1d50: f32, gmem)", "tensor(raw_ptr(0x00007ffc12345678: f32, gmem)", "address"),
        ("tensor(raw_ptr(0x000000000a5f1d50: f32, gmem)", "tensor(raw_ptr(0x00007ffc12345678: f16, gmem)", None),
        ("tensor(raw_ptr(0x000000000a5f1d50: f32, gmem)", "tensor(raw_ptr(0x7ffc: f32, gmem)", None),
        ("(<cutlass.cute.core._Layout object at 0x7fc95a4ca7b0>, 2)", "(3:3, 2)", "address"),
        ("(<cutlass.cute.core._Layout object at 0x7fc95a4ca7b0>, 2)", "(3:3, 4)", None),
        ("(<cutlass.cute.core._Layout object at 0x7fc95a4ca7b0>, 2)", "(three, 2)", None),
        ("a: 0x000000000a5f1d50 (174005584)", "a: 0x00007ffc12345678 (140720613906040)", "address"),
        ("a: 0x000000000a5f1d50 (174005584)", "a: 0x00007ffc12345678 (140720613906041)", None),
        (">>> ?", ">>> Int32 a", "trace-time text"),
        ("a: ?, b: 2", "a: Int32(a), b: 2", "trace-time text"),
        ("a: ?, b: 2", "a: Int32(a), b: 3", None),
        ("layout: (?,2):(1,?)", "layout: (?,2):(1,Int32)", "trace-time text"),
        ("((2,2),3):((?{div=3},2),?)", "((2,2),3):((?,2),?)", "trace-time text"),
        ("a(static) = ?", "a(static) = 3.14", "trace-time text"),
        ("a(static) = ?", "a(static) = an error of some kind", None),
        ("a(static) = 3.14", "a(static) = ?", None),
    ],
)
def test_the_rule_that_allows_a_line(theirs, ours, rule):
    assert compare.rule_of(theirs, ours) == rule


def counted(**expected) -> Counter:
    names = {"equal": 0, "address": 0, "trace-time text": 0, "different": 0}
    return Counter(names | {name.replace("_", "-").replace("-text", " text"): n for name, n in expected.items()})


def test_streams_may_mix_but_each_keeps_its_order():
    counts, diff = compare.compare("p1\np2\nd1\nd2\n", "p1\np2\n", "d1\nd2\n")
    assert (counts, diff) == (counted(equal=4), [])
    counts, diff = compare.compare("d1\np1\nd2\np2\n", "p1\np2\n", "d1\nd2\n")
    assert (counts, diff) == (counted(equal=4), [])
    counts, diff = compare.compare("p2\np1\n", "p1\np2\n")
    assert counts["different"] == 2


def test_a_print_in_the_middle_of_a_line_is_untangled():
    assert compare.compare("[ 1,\n [Slice:\n 2,\n 3 ]\n", "Slice:\n", "[ 1,\n [ 2,\n 3 ]\n") == (counted(equal=4), [])
    counts, _ = compare.compare("[ 1,\n [Slice:\n 2,\n 3 ]\n", "Slice:\n", "[ 1,\n [ 4,\n 3 ]\n")
    assert counts["different"] >= 2


def test_a_wrong_line_is_one_difference_and_shown_both_ways():
    counts, diff = compare.compare("1\n2\n3\n", "", "1\n5\n3\n")
    assert (counts, diff) == (counted(equal=2, different=1), ["- 2", "+ 5"])


def test_missing_and_extra_lines_are_different():
    assert compare.compare("1\n2\n", "1\n") == (counted(equal=1, different=1), ["- 2"])
    assert compare.compare("1\n", "1\n", "2\n3\n") == (counted(equal=1, different=2), ["+ 2", "+ 3"])
    assert compare.compare("", "") == (counted(), [])


def test_a_time_may_be_another_number():
    assert compare.rule_of("time: 983.39 us", "time: 5 us") == "time"
    assert compare.rule_of("rows: 983", "rows: 5") is None
