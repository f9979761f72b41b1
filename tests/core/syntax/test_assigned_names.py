"""The names that statements assign are those that Python's own symbol table calls assigned."""

import ast
import symtable

import pytest

from dsl.core.syntax.assigned_names import assigned_in

STATEMENTS = (
    "a = b = c",
    "a, (b, *c) = d",
    "a.b = c[d] = e",
    "a += b",
    "a: int = b",
    "del a, b.c",
    "for a, b in c: d = a\nelse: e = 1",
    "while (a := b): c = a",
    "with a as b, c as (d, e): f = 1",
    "try: a = 1\nexcept ValueError: b = 1\nelse: c = 1\nfinally: d = 1",
    "import a, b.c, d.e as f\nfrom g import h as i, j",
    "def a(b): c = b",
    "class a: b = 1",
    "a = lambda b: (c := b)",
    "a = [(b := c) for c in d]",
    "match a:\n  case [b, *c]: d = 1\n  case {1: e, **f}: g = 1\n  case int() as h: i = 1\n  case _: j = 1",
)


def assigned_by_python(source: str) -> set[str]:
    function = symtable.symtable(f"def f():\n{indented(source)}", "text", "exec").get_children()[0]
    names = {symbol.get_name() for symbol in function.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    return names - only_comprehended(source)


def only_comprehended(source: str) -> set[str]:
    """Names that only comprehensions bind, which Python lists from 3.12 on: PEP 709."""
    targets = [
        name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.comprehension)
        for name in ast.walk(node.target)
        if isinstance(name, ast.Name)
    ]
    stored = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    counts = {name.id: sum(one.id == name.id for one in stored) for name in targets}
    return {name for name, count in counts.items() if count == sum(one.id == name for one in targets)}


def indented(source: str) -> str:
    return "\n".join(f"  {line}" for line in source.splitlines())


@pytest.mark.parametrize("source", STATEMENTS)
def test_names_are_pythons(source):
    statements = ast.parse(source).body
    assert set(assigned_in(statements)) == assigned_by_python(source)
    earlier = {}
    assert assigned_in(statements, earlier) == assigned_in(statements) == assigned_in(statements, earlier)


def test_the_place_is_the_last_assignment():
    tree = ast.parse("a = 1\nif b:\n    a = 2\nelse:\n    a += 3\n")
    assert assigned_in(tree.body)["a"].lineno == 5
