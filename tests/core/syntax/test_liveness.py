"""Reads and assignments of a statement, in order, and the liveness and definite assignment that follow from them."""

import ast

import pytest

from dsl.core.syntax.liveness import Analysis, _accesses, flow_at

ACCESSES = {
    "a + b": "a b",
    "a += b": "b a a=",
    "a.x += b": "b a",
    "(a := b) + a": "b a= a",
    "import a.b, c as d": "a= d=",
    "[a + b for a in c if d]": "c d b",
    "{a: b for a, b in c}": "c",
    "lambda a, b=c: a + d": "c d",
    "@a\ndef f(b, c=d):\n  e = b\n  return e + g": "a d g",
    "class A(b):\n  c = d\n  e = c": "b d c",
    "a[b] = c": "a b c",
}


@pytest.mark.parametrize("source", ACCESSES)
def test_accesses_come_in_the_order_python_makes_them(source):
    node = ast.parse(source).body[0]
    node = node.value if isinstance(node, ast.Expr) else node
    assert " ".join(name + "=" * stores for name, _, stores in _accesses(node)) == ACCESSES[source]


def analysed(source: str, parameters: str = "") -> list[ast.stmt]:
    """The statements of a function, marked; an `if` and a loop are dynamic."""
    body = ast.parse(source).body
    names = {node.id for statement in body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    Analysis(names, parameters.split(), lambda _: True).run(body, False)
    return body


def test_names_read_after_a_statement_and_by_its_next_trip():
    loop, _ = analysed("while p:\n  a = b\n  b = a + 1\n  c = a\nd = c", "p b c")
    flow = flow_at(loop)
    assert (set(flow.assigned), flow.after, flow.again) == ({"a", "b", "c"}, {"c"}, {"p", "b", "c"})
    assert [name for name in "abc" if flow.carries(name)] == ["b", "c"]


def test_a_read_is_proven_where_every_path_has_assigned():
    source = "if p:\n  a = 1\n  b = 1\nelse:\n  a = 2\nc = a\nd = b"
    _, read_a, read_b = analysed(source, "p")
    assert vars(read_a.value)["proven"] is True and vars(read_b.value)["proven"] is False


def test_an_underscore_is_not_state_of_a_loop():
    loop = analysed("_ = p\nwhile p:\n  a, _ = b\n  c = a", "p b c _ a")[1]
    assert not flow_at(loop).carries("_") and flow_at(loop).carries("c")
