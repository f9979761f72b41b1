"""Names that a statement takes from outside of it."""

import ast

import pytest

from harness.capture.author.scopes import outer_names

CASES = {
    "def f(a, b=c):\n    d = a + e\n    return d": {"c", "e"},
    "f = lambda x: x + y": {"f", "y"},
    "def f():\n    return [i + k for i in items]": {"k", "items"},
    "def f():\n    global g\n    g = h": {"g", "h"},
    "def f(x: T) -> U:\n    def inner(y):\n        return x + y + z\n    return inner": {"T", "U", "z"},
    "class A(B):\n    size = 4\n    room = size + more\n    def f(self):\n        return size": {"B", "more", "size"},
    "class A:\n    x = x\n    y = x\n    @y\n    def f(self, z=y): pass": {"x"},
    "def f(x):\n    return [y := each for each in x], y": set(),
    "def f(x):\n    match x:\n        case {'a': first, **rest}:\n            return first, rest": set(),
    "@decorate\ndef f():\n    import os\n    return os": {"decorate"},
    "def f():\n    try:\n        pass\n    except E as error:\n        print(error)": {"E", "print"},
    "def f(x):\n    match x:\n        case [first, *rest]:\n            return first, rest, other": {"other"},
}


@pytest.mark.parametrize("text", CASES)
def test_names_from_outside(text):
    assert {name.id for name in outer_names(ast.parse(text).body[0])} == CASES[text]


def test_parts_left_out_mention_nothing():
    (tree,) = ast.parse("class A:\n    def kept(self):\n        return a\n    def gone(self):\n        return b").body
    assert {name.id for name in outer_names(tree, frozenset([id(tree.body[1])]))} == {"a"}
