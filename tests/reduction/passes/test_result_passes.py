"""Functions return only the values that their calls read."""

import pytest

from dsl.reduction.passes.passes import named
from dsl.reduction.program import Program


def after(name, source):
    program = Program(source)
    edits = [edit for edit in named(name)[1].edits(program) if edit.changes]
    return program.apply(edits) if edits else source


MADE = """\
def make(x):
    y = x + 1
    return x, y, (y,
        2)
a, b, c = make(1)
d, e, f = make(2)
use(b, d)
"""


def test_a_function_returns_what_is_read():
    left = (
        MADE.replace("return x, y, (y,\n        2)", "return x, y")
        .replace("a, b, c", "a, b")
        .replace("d, e, f", "d, e")
    )
    assert after("returned", MADE) == left


def test_one_value_is_returned_without_a_tuple():
    source = "def make(x):\n    return x, x + 1\na, b = make(1)\nuse(b)\n"
    assert after("returned", source) == "def make(x):\n    return x + 1\nb = make(1)\nuse(b)\n"


def test_a_value_of_several_lines_is_returned_in_parentheses():
    source = "def make(x):\n    return (x, x +\n        1)\na, b = make(1)\nuse(b)\n"
    assert after("returned", source) == "def make(x):\n    return (x +\n        1)\nb = make(1)\nuse(b)\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("use(b, d)", "use(b, d, c)"),
        ("d, e, f = make(2)", "d = make(2)"),
        ("d, e, f = make(2)", "d, e, *f = make(2)"),
        ("d, e, f = make(2)", "use(make)"),
        ("d, e, f = make(2)", "d, self.e, g[f] = make(2)"),
        ("    y = x + 1\n", "    y = x + 1\n    if y:\n        return x\n"),
        ("    y = x + 1\n", "    y = yield x\n"),
        ("def make", "@contextmanager\ndef make"),
    ],
)
def test_a_tuple_stays_if_all_of_it_is_read_or_a_call_takes_it_as_a_whole(old, new):
    source = MADE.replace(old, new)
    assert after("returned", source) == source


def test_a_tuple_that_is_unpacked_and_returned_is_returned_as_it_is():
    source = "def f():\n    a, b = g(1,\n        2)\n    return a, b\n"
    assert after("direct-returns", source) == "def f():\n    return (g(1,\n        2))\n"


@pytest.mark.parametrize(
    "body",
    [
        "    a, b = g()\n    return b, a\n",
        "    a, b = g()\n    h(a)\n    return a, b\n",
        "    h = lambda: a\n    a, b = g()\n    return a, b\n",
        "    a, b = g()\n    return a, b, 1\n",
        "    a, a = g()\n    return a, a\n",
    ],
)
def test_another_order_and_names_that_others_read_stay(body):
    source = "def f():\n" + body
    assert after("direct-returns", source) == source
