"""An answer is the verdict, the outcome, the values under the repro's rules, and what a script printed."""

import dataclasses
import json

import numpy as np
import pytest

from harness.bisection import answer
from harness.bisection.answer import Answer
from harness.comparison import printed
from harness.run.result import DTYPES, Array


def values(*numbers: float) -> Array:
    return Array(DTYPES["float32"], np.array(numbers, np.float32).view(np.uint32))


def given(verdict: str = "pass", reason: str = "", kind: str = "outputs", *about: str, **more) -> Answer:
    return Answer("", verdict, reason, kind, about, more.pop("brief", kind), more.pop("text", ""), **more)


@pytest.fixture
def case(write):
    (case,) = write("def run(): pass", 'compare = { near = "rel:0.1", free = "undef" }').cases()
    return case


def test_the_same_answer_has_no_difference(case):
    one = given(outputs={"x": values(1, 2), "near": values(1.0), "free": values(1.0)})
    other = given(outputs={"x": values(1, 2), "near": values(1.05), "free": values(7.0)})
    assert answer.difference(case, one, other) == ""
    # A claim that failed as it was expected to has passed.
    assert answer.difference(case, given(), given(reason="expected failure")) == ""


def test_how_two_answers_differ(case):
    one = given(outputs={"x": values(1, 2), "near": values(1.0)})
    other = dataclasses.replace(one, outputs={"x": values(1, 3), "near": values(2.0)})
    assert answer.difference(case, one, other) == (
        "`near` differs from the good end in 1 of 1 elements (rel:0.1)\n"
        "`x` differs from the good end in 1 of 2 elements (bits)"
    )
    rejected = given("fail", "rejected: no", "rejected", "E_LAYOUT", brief="rejected: it cannot be")
    assert answer.difference(case, one, rejected) == "pass -> fail (rejected E_LAYOUT): it cannot be"
    assert answer.difference(case, given(sass={"k": "a"}), given(sass={"k": "b"})) == "other SASS"
    moved = [given("fail", f"trap: one.py:{line}", "trap", "trap") for line in (3, 4)]
    assert answer.difference(case, *moved) == "" and moved[0].ended == "fail (trap)"
    errors = [given("fail", "error", "error", brief=f"error: ValueError: {text}") for text in "ab"]
    assert answer.difference(case, *errors) == "error: ValueError: a -> error: ValueError: b"
    scripts = [given("", "", "exited", exit=0, stdout=f"one\n{text}\n") for text in "ab"]
    assert answer.difference(case, *scripts) == (
        "another text was printed\n    --- good\n    +++ bad\n    @@ -1,2 +1,2 @@\n     one\n    -a\n    +b"
    )
    failed = given("", "", "exited", exit=1)
    assert answer.difference(case, scripts[0], failed) == "exit status 0 -> exit status 1"


def test_an_answer_is_kept_as_json():
    one = given(
        "fail", "differs", "outputs", "A", sass={"k": "1"}, exit=3, record="12345678-0001",
        outputs={"x": values(1, float("nan")), "stdout": printed.of("two\n")},
    )  # fmt: skip
    again = answer.from_data(json.loads(json.dumps(one.as_data())))
    assert dataclasses.replace(again, outputs={}) == dataclasses.replace(one, outputs={})
    assert again.outputs["x"].raw.tolist() == one.outputs["x"].raw.tolist()
    assert printed.text(again.outputs["stdout"]) == "two\n"
