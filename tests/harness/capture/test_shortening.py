"""A captured file without what did not run."""

import ast
import sys

import pytest

from harness.capture import shortening
from harness.reduction.passes_process import PassesProcess

HEAD = '''\
# missing: nothing
# /// script
# dependencies = []
# [tool.repro]
# ///
"""Call 1 of f in train.py gives what it gave there."""

# Copyright (c) 2026 Somebody. All rights reserved.
# SPDX-License-Identifier: MIT

import math
import os


def unused():
    return os.getcwd()


class Model:
    """A model."""

    def __init__(self, kind):
        self.kind = kind
        if kind == "other":
            self.scale = unused()
        else:
            self.scale = 2  # the author's comment

    def __call__(self, x):
        if self.kind == "other":
            return math.inf
        return step(
            x,
            self.scale,
        )


def step(x, scale):
    for _ in range(0):
        x += 1
    return x * scale
'''
TAIL = """

def run():
    return {"out": Model("this")(4)}


if __name__ == "__main__":
    for name, value in run().items():
        print(f"{name} = {value}")
"""


def check(text):
    """Run it, and note its lines."""
    lines, names = set(), {"__name__": "captured"}

    def trace(frame, event, argument):
        lines.add(frame.f_lineno) if frame.f_code.co_filename == "<alone>" else None
        return trace

    code = compile(text, "<alone>", "exec")
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        exec(code, names)
        out = names["run"]()
    except NameError as error:
        return [str(error)], lines
    finally:
        sys.settrace(before)
    return ([] if out == {"out": 8} else [f"gives {out}"]), lines


@pytest.fixture
def passes():
    made = PassesProcess("python")
    yield made
    made.close()


def test_lines_that_did_not_run_go_and_the_rest_stays(passes):
    text = HEAD + TAIL
    short = shortening.shortened(text, check(text)[1], check, passes)
    assert check(short)[0] == []
    gone = "os", "unused", "math", "range(0)", "other"
    assert not any(word in short for word in gone) and "# the author's comment" in short
    assert short.endswith(TAIL.lstrip("\n")) and short.startswith(HEAD[: HEAD.index("import")])


def test_a_long_file_loses_comments_and_line_breaks(passes, monkeypatch):
    monkeypatch.setattr(shortening, "LONG", 10)
    monkeypatch.setattr(shortening, "FEWER", ())
    text = HEAD + TAIL
    short = shortening.shortened(text, check(text)[1], check, passes)
    assert check(short)[0] == [] and short.startswith(HEAD[: HEAD.index("import")])
    assert "step(x, self.scale" in short and "comment" not in short and "A model" not in short
    assert short.endswith(
        'if __name__ == "__main__":\n    for name, value in run().items():\n        print(f"{name} = {value}")\n'
    )


def test_a_file_that_is_long_even_so_has_constants_in_place_of_their_names(passes, monkeypatch):
    monkeypatch.setattr(shortening, "LONG", 10)
    text = HEAD.replace("    for _ in", '    print("step")\n    for _ in') + TAIL
    short = shortening.shortened(text, check(text)[1], check, passes)
    assert check(short)[0] == [] and "return 4 * 2" in short and "step" not in short
    assert short.startswith(HEAD[: HEAD.index("import")]) and "def run():" in short and short.endswith(TAIL[-70:])


def test_no_names_are_replaced_in_a_file_that_is_short_enough(passes, monkeypatch):
    text = HEAD + TAIL
    monkeypatch.setattr(shortening, "LONG", text.count("\n") - 10)
    short = shortening.shortened(text, check(text)[1], check, passes)
    assert check(short)[0] == [] and "self.scale = 2" in short


def test_lines_that_change_the_answer_stay(passes):
    """The set of lines that ran lacks one line that did run."""
    text = HEAD + TAIL
    ran = check(text)[1]
    step = next(node for node in ast.parse(text).body if getattr(node, "name", "") == "step")
    short = shortening.shortened(text, ran - {step.body[-1].lineno}, check, passes)
    assert check(short)[0] == [] and len(short) < len(text)
