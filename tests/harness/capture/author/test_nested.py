"""Functions and classes inside functions."""

from harness.capture.author import nested

SOURCE = """
def make(n):
    class Base: pass
    class Inner(Base): pass
    def inner(x: Base, k=n + 1, *, m=n):
        return x + n
    return inner, (lambda y:
                   y * 2), Inner
INNER, LAMBDA, KIND = make(3)
PAIR = (lambda x: x + 1), (lambda x: x + 2)
"""


def test_the_definition_of_a_function_or_class(module):
    made = module(SOURCE)
    assert nested.definition(made.INNER).text().startswith("def inner(x: Base, k=n + 1, *, m=n):\n    return")
    assert eval(nested.definition(made.LAMBDA).text())(4) == 8
    assert nested.definition(made.KIND).text() == "class Inner(Base): pass"
    assert nested.definition(print) is None


def test_two_lambdas_of_a_line(module):
    first, second = module(SOURCE).PAIR
    assert [eval(nested.definition(each).text())(1) for each in (first, second)] == [2, 3]


def test_values_around_a_definition(module):
    made = module(SOURCE)
    assert {name: cell.cell_contents for name, cell in nested.cells_of(made.INNER).items()} == {"n": 3}
    rows = nested.defaults_of(made.INNER, nested.definition(made.INNER).node)
    assert [(name, value) for _, name, value in rows] == [("k", 4), ("m", 3)]
    (base,) = made.KIND.__bases__
    assert nested.evaluated_with(made.KIND, nested.definition(made.KIND).node) == {"Base": base}
    assert nested.evaluated_with(made.INNER, nested.definition(made.INNER).node) == {"Base": base}
