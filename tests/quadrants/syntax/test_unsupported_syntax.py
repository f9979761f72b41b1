"""Syntax that no kernel may use: every statement and expression of the table raises when it is reached, only then."""

import ast
import textwrap

import pytest

from dsl.quadrants.errors.errors import QuadrantsSyntaxError
from dsl.quadrants.syntax.unsupported_syntax import UNSUPPORTED, header

pytestmark = pytest.mark.usefixtures("running")


HEADERS = {
    "for i in range(3):\n    pass": "for i in range(3)",
    "while x < 3:\n    pass": "while x < 3",
    "if x:\n    pass": "if x",
    "with a as b:\n    pass": "with a as b",
    "try:\n    pass\nfinally:\n    pass": "try",
    "class Name:\n    pass": "class Name",
    "def name(x):\n    pass": "def name",
    "x = 5": "x = 5",
}


@pytest.mark.parametrize("text", HEADERS)
def test_the_place_of_a_statement_is_its_first_words(text):
    place = header(ast.parse(text).body[0])
    assert (place.lineno, place.end_lineno) == (1, 1)
    assert text[place.col_offset : place.end_col_offset] == HEADERS[text]


STATEMENTS = {
    ast.Try: "try:\n    pass\nexcept ValueError:\n    pass",
    ast.Raise: "raise ValueError",
    ast.Import: "import math",
    ast.ImportFrom: "from math import pi",
    ast.Delete: "del n",
    ast.Match: "match n:\n    case 1:\n        pass",
    ast.ClassDef: "class Inner:\n    pass",
    ast.Lambda: "f = lambda: 1",
    ast.Set: "s = {1, 2}",
    ast.GeneratorExp: "g = (i for i in range(3))",
}


@pytest.mark.parametrize("node", STATEMENTS, ids=lambda node: node.__name__)
def test_each_raises_where_it_is_reached(node, tmp_path):
    path = tmp_path / "program.py"
    body = textwrap.indent(STATEMENTS[node], " " * 8)
    path.write_text(
        f"import dsl.quadrants as qd\n\n@qd.kernel\ndef k(n: int, flag: qd.template()):\n    if qd.static(flag):\n{body}\n"
    )
    space: dict = {"__name__": "program"}
    exec(compile(path.read_text(), str(path), "exec"), space)
    space["k"](3, False)  # the branch not taken may contain anything
    with pytest.raises(QuadrantsSyntaxError) as error:
        space["k"](3, True)
    assert f'Unsupported node "{node.__name__}"' in str(error.value) and f"fix: {UNSUPPORTED[node][1]}" in str(
        error.value
    )
