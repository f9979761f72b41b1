"""The sides of a comparison: how each is written, and which records it takes."""

import pytest

from harness.errors import UsageError
from harness.records import sides


@pytest.mark.parametrize(
    "text, kind, values",
    [
        ("nvidia==4.8.1", "compiler", ["nvidia==4.8.1", "nvidia", "4.8.1"]),
        ("ours", "compiler", ["ours"]),
        ("driver=570", "driver", ["570", "570"]),
        ("driver==570.86", "driver", ["570.86", "570.86"]),
        ("gpu=RTX 4090", "gpu", ["%rtx%", "%4090%"]),
        ("host=p1", "host", ["p1"]),
        ("arch=sm_90", "arch", ["sm_90"]),
    ],
)
def test_a_side_is_a_condition_over_the_index(tmp_path, text, kind, values):
    side = sides.parse(text, tmp_path)
    condition, found = side.where()
    assert (side.kind, found, condition.count("?")) == (kind, values, len(values))


def test_two_sides_are_of_one_kind_and_not_the_same(tmp_path):
    assert [side.value for side in sides.pair("host=p1", "host=p2", tmp_path)] == ["p1", "p2"]
    for a, b in (("host=p1", "ours"), ("host=p1", "host==p1"), ("p1", "p2"), ("commit=HEAD", "commit=HEAD~1")):
        with pytest.raises(UsageError):
            sides.pair(a, b, tmp_path)
