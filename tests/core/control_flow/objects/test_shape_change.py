"""The place in the author's text where a statement changes the shape of a list, dict or set."""

import pytest

from dsl.core.control_flow.objects.shape_change import changed_at
from dsl.span import Span

PROGRAM = """\
def f(xs, ys, table, n):
    for i in range(n):
        table[i] = 1
        if i > 2:
            xs.append(i)
        ys += [i]
    while n > 0:
        helper(xs)
        del table[n]
"""


@pytest.fixture
def at(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)

    def at(name: str, line: int, column: int = 5):
        place = changed_at(name, Span(str(path), line, column))
        return place and (place.line, place.source_line().strip())

    return at


def test_a_change_is_found_by_the_name_it_has(at):
    assert at("xs", 2) == (5, "xs.append(i)")
    assert at("ys", 2) == (6, "ys += [i]")
    assert at("table", 2) == (3, "table[i] = 1")
    assert at("table", 7) == (9, "del table[n]")


def test_the_innermost_statement_at_a_place_is_looked_through(at):
    assert at("xs", 4, 9) == (5, "xs.append(i)")
    assert at("table", 4, 9) == (5, "xs.append(i)")  # the only change there: an alias of it
    assert at("other", 2) is None  # three changes, none of this name


def test_text_that_is_not_there_has_no_place():
    assert changed_at("xs", Span("/nowhere/program.py", 1, 1)) is None
