"""One statement, and its text with some names changed."""

import pytest

from harness.capture.author import text

DOCUMENTED = '''
def f(x):
    """What it is for.

    :param x: a number
    :return: another one
    """
    # why it is so
    size = x.SIZE + SIZE  # both
    return g(size, SIZE)
'''


def test_names_change_and_comments_stay(module):
    statement = text.read(module(DOCUMENTED)).bindings["f"]
    statement.renamed = {"SIZE": "SIZE_2", "f": "f_2"}
    assert statement.text() == (
        'def f_2(x):\n    """What it is for."""\n    # why it is so\n'
        "    size = x.SIZE + SIZE_2  # both\n    return g(size, SIZE_2)"
    )


def test_a_short_docstring_stays(module):
    source = 'def f():\n    """What it is for.\n\n    And more."""\n    return 1'
    assert text.read(module(source)).bindings["f"].text() == source


TEXTS = {
    "in an f-string": ('def f(): return f"{A + 1:>{A}} A"', 'def f(): return f"{B + 1:>{B}} A"'),
    "a global": ("def f():\n    global A, C\n    A = 1", "def f():\n    global B, C\n    B = 1"),
    "after letters of two bytes": ("def f(é): return é + A", "def f(é): return é + B"),
    "not a keyword or a parameter": ("def f(A=A): return g(A=A)", "def f(A=B): return g(A=A)"),
    "defined in a branch": ("if g:\n    def A(): return 1", "if g:\n    def B(): return 1"),
    "a default of a method": (
        "class C:\n    A = A\n    def m(self, x=A): pass",
        "class C:\n    A = B\n    def m(self, x=A): pass",
    ),
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_name_changes(module, case):
    source, wanted = TEXTS[case]
    (statement,) = text.read(module(f"g, A, C = print, 1, 2\n{source}")).statements[1:]
    statement.renamed = {"A": "B"}
    assert statement.text() == wanted


def test_an_attribute_of_a_module_becomes_a_name(module):
    statement = text.read(module("def f(x):\n    x = 1; m.a.b = x + m.a.c.d")).bindings["f"]
    (stored, read) = [use for use in statement.uses() if use.node.id == "m"]
    for use, new in ((stored, "b_2"), (read, "c")):
        node = use.attributes[1]
        statement.replaced[id(node)] = node, new
    statement.stored.append((statement.node, "b_2"))
    assert statement.text() == "def f(x):\n    global b_2\n    x = 1; b_2 = x + c.d"


def test_names_of_variables_inside(module):
    source = "def f(a, *b, c=1):\n    import os.path as p\n    d = [e for e in a]\n    def g(): pass\n    return h"
    assert text.read(module(source)).bindings["f"].inner_names() == {"a", "b", "c", "p", "d", "e", "g"}
