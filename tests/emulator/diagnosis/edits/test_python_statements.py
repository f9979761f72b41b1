"""The spots between two lines of Python.

Modules tested here: dsl/emulator/diagnosis/edits/statements.py.
"""

import pytest

from dsl.emulator.diagnosis.edits import python_statements

TEXT = """\
@cute.kernel
def kernel(x):
    s = take(
        64)
    if t < 32:
        s[t] = 1
        s[t + 1] = 2
    for i in range(4):
        if const_expr(i > 0):
            s[t] = 3
        with cute.arch.elect_one():
            y = s[1]
        z = 4; w = 5  # two
    v = s[2]
    return v


def other(s):
    while s[0]: s[1] = 0
    try:
        s[2] = 1
    finally:
        s[3] = 2
    if s: break_here = 1


s = 5
"""
SOURCE = python_statements.parse(TEXT)


@pytest.mark.parametrize(
    ("first", "second", "spot"),
    [
        (3, 6, (4, False, 3, False)),
        (6, 7, (6, False, 6, True)),
        (6, 14, (7, False, 3, False)),
        (6, 10, (7, False, 3, False)),
        (10, 12, (10, False, 9, False)),
        (12, 13, (12, False, 9, False)),
        (19, 23, (19, False, 19, False)),
        (21, 23, None),
        (13, 14, (13, False, 3, False)),
        (14, 3, None),
        (12, 12, None),
        (13, 13, None),
        (14, 19, None),
        (14, 26, None),
    ],
)
def test_after_one_statement_and_before_the_other(first, second, spot):
    assert SOURCE.after(first, second) == spot


@pytest.mark.parametrize(
    ("first", "second", "spot"),
    [(3, 6, (5, True, 5, False)), (6, 7, (7, True, 7, True)), (6, 12, (8, True, 8, False)), (12, 10, (9, True, 9, False)),
     (6, 6, None)],
)  # fmt: skip
def test_right_before_a_statement(first, second, spot):
    assert SOURCE.before(first, second) == spot


def test_the_end_of_a_loop():
    assert SOURCE.end_of_round(12, 10) == SOURCE.end_of_round(12, 12) == (13, False, 9, False)
    assert SOURCE.end_of_round(6, 7) is SOURCE.end_of_round(14, 3) is SOURCE.end_of_round(19, 19) is None


def test_at_a_statement():
    assert SOURCE.at_statement(6, True) == (6, True, 6, True)
    assert SOURCE.at_statement(4, False) == (4, False, 3, False)
    assert SOURCE.at_statement(13, True) == (13, True, 13, False), "the first of two on one line"
    assert SOURCE.at_statement(5, True) is SOURCE.at_statement(26, True) is None


def test_the_end_of_a_function():
    assert SOURCE.end_of_function(6) is None, "it returns there"
    assert SOURCE.end_of_function(19) == (24, False, 19, False)


def test_a_text_that_is_not_python():
    assert python_statements.parse("def f(:\n") is None
