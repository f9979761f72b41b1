"""Constructs: the names at a line, which stay when the line moves."""

from harness.reduction import construct

TEXT = """\
@kernel
def one(x):
    words[t] = scaled(sums[t]) + 1
    cute.copy(
        atom, tile[None, 0], out)
    while flags[0] == 0:
        y = x[t]
    return
"""


def test_the_accesses_and_calls_of_the_statement_at_a_line():
    assert construct.at(TEXT, 3) == {"words[]", "scaled()", "sums[]"}
    assert construct.at(TEXT, 5) == construct.at(TEXT, 4) == {"cute.copy()", "tile[]"}
    assert construct.at(TEXT, 6) == {"flags[]"}
    assert construct.at(TEXT, 8) == {"Return"}


def test_of_an_assignment_its_target_or_its_value():
    assert construct.at(TEXT, 3, part="target") == {"words[]"}
    assert construct.at(TEXT, 3, part="value") == {"scaled()", "sums[]"}
    assert construct.at(TEXT, 4, part="target") == {"cute.copy()", "tile[]"}


def test_a_column_names_the_expression_that_begins_there():
    assert construct.at(TEXT, 3, 23) == {"sums[]"}
    assert construct.at(TEXT, 3, 2) == construct.at(TEXT, 3)


def test_without_a_statement_or_python_there_are_no_names():
    assert construct.at(TEXT, 40) == construct.at("a b", 1) == frozenset()


def test_the_loop_around_a_line():
    assert construct.loop(TEXT, 7) == construct.loop(TEXT, 6) == "while flags[]"
    assert construct.loop(TEXT, 3) == ""
