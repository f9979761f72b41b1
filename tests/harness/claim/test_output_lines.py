"""The line that names an output, for every way to write a dict of outputs."""

import pytest

from harness.claim.output_lines import line_of

BOTH = """\
def expected():
    return {"out": 0}

def run():
    found = {"out": 1}
    found["sum"] = 2
    return dict(
        last=3,
        out=4,
    )
"""


@pytest.mark.parametrize(("output", "line"), [("out", 9), ("last", 8), ("sum", 6), ("other", 0)])
def test_the_line_that_returns_it_comes_first(output, line):
    assert line_of(BOTH, output) == line


def test_a_dict_over_several_lines():
    text = 'def run(n):\n    x = n\n    return {\n        "a": x,\n        **more,\n        "b": x,\n    }\n'
    assert [line_of(text, name) for name in ("a", "b")] == [4, 6]


def test_a_read_gives_no_name():
    assert line_of('def run():\n    x = given["out"]\n    return make(out=x)\n', "out") == 0


@pytest.mark.parametrize("text", ["def run(:\n", "\0", "x = {'out': 1}\n", "class run:\n    y = {'out': 1}\n"])
def test_nothing_is_found_outside_of_run(text):
    assert line_of(text, "out") == 0
