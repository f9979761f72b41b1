"""The passes as a process: what it answers, and what it must not."""

import sys

import pytest

from harness.reduction.passes_process import PassesGone, PassesProcess


def test_the_passes_of_this_project_over_a_python_program():
    passes = PassesProcess("python")
    try:
        names = [one.name for one in passes.passes()]
        edits = passes.edits("comments", "x = 1  # one\ny = 2  # two\n")
        assert "comments" in names
        assert [edit.line for edit in edits] == [1, 2]
        assert passes.apply("comments", "x = 1  # one\ny = 2  # two\n", [0]) == "x = 1\ny = 2  # two\n"
    finally:
        passes.close()


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("", "the passes ended (exit status"),
        ("[]", "the passes answered no object"),
        ("{}", "the passes answered no list of passes"),
        ('{"error": "no"}', "the passes refused a request: no"),
        ('{"passes": [{"name": 3}]}', "the passes answered wrongly"),
    ],
)
def test_a_wrong_answer_ends_it_in_words(answer, says):
    passes = PassesProcess("python", [sys.executable, "-c", f"input(); print({answer!r}, flush=True)"])
    try:
        with pytest.raises(PassesGone) as error:
            passes.passes()
        assert str(error.value).startswith(says)
    finally:
        passes.close()
