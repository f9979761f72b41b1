"""The report of the comparison of two compilers, on their launches and on their output."""

import tempfile

import pytest

from tests.upstream import equality

LAUNCH = {"grid": [1, 1, 1], "block": [32, 1, 1], "changed": [[128, "aa"], [256, "bb"]]}


@pytest.mark.parametrize(
    "change, said",
    [
        ({}, ""),
        ({"grid": [2, 1, 1]}, "launch 2: no launch of grid [1, 1, 1] and block [32, 1, 1] under NVIDIA's compiler"),
        ({"changed": [[128, "aa"], [256, "cc"]]}, "launch 2: other bits in buffers of [256] bytes"),
        (
            {"changed": [[128, "aa"]]},
            "launch 2 changed buffers of [128, 256] bytes here, [128] under NVIDIA's compiler",
        ),
    ],
)
def test_the_first_difference_is_named(change, said):
    assert equality.compare([LAUNCH, LAUNCH], [LAUNCH, LAUNCH | change]) == said


def test_launches_may_be_more_there_and_not_fewer():
    converts = LAUNCH | {"grid": [128, 1, 1]}
    assert equality.compare([LAUNCH], [converts, LAUNCH]) == ""
    assert equality.compare([LAUNCH, LAUNCH], [LAUNCH]).startswith("launch 2: no launch of grid [1, 1, 1]")
    assert equality.compare([], [LAUNCH]) == "no launch here, 1 under NVIDIA's compiler"


def test_printed_lines_are_compared_without_times():
    printed = "sum 4.0\nkernel took 3.2 us\nptr raw_ptr(0x00007f0000000000: f32)\n"
    lines = equality.comparable_lines(printed)
    assert lines == ["sum 4.0", "ptr raw_ptr(0x00007f0000000000: f32)"]
    built = f"built in {tempfile.gettempdir()}/tmp2hbaix74/build"
    assert equality.comparable_lines(built) == ["built in a scratch folder/build"]
    assert equality.compare_printed(lines, ["sum 4.0", "ptr raw_ptr(0x00007f1111111111: f32)"]) == (2, [])
    assert equality.compare_printed(lines, ["sum 5.0", lines[1]]) == (2, ["- sum 5.0", "+ sum 4.0"])
