"""Statements as calls of hooks: which stay in Python, where their code is, and which are refused.

Modules tested here: dsl/cutlass/grammar.py.
"""

import dis

import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.core.syntax import rewrite
from dsl.cutlass.grammar import GRAMMAR, const_expr, range_constexpr

LIMIT = 3


def rewritten(function):
    return rewrite.rewrite(function, GRAMMAR)


def test_static_statements_stay_pythons():
    def program(items):
        kept = []
        for item in items:
            if const_expr(item == 2):
                continue
            if const_expr(item == 5):
                break
            kept.append(item)
        else:
            kept.append("end")
        for i in range_constexpr(2):
            kept.append(i)
        return kept

    stated = rewritten(program)
    assert stated([1, 2, 3]) == [1, 3, "end", 0, 1] and stated([1, 5, 6]) == [1, 0, 1]


def test_the_call_of_a_hook_has_the_place_of_its_statement():
    def program(n, x):
        if n > LIMIT:
            x = x + 1
        while n < LIMIT:
            n = n + 1
        return x

    first = program.__code__.co_firstlineno
    lines = {
        name: line - first
        for name, line in _loads(rewritten(program).__code__).items()
        if name in ("if_", "while_", "compared")
    }
    assert lines == {"if_": 1, "while_": 3, "compared": 3}


def _loads(code) -> dict[str, int]:
    """The last line on which each attribute of the hooks is loaded."""
    instructions = list(dis.get_instructions(code))
    for const in code.co_consts:
        instructions += dis.get_instructions(const) if hasattr(const, "co_code") else []
    return {each.argval: each.positions.lineno for each in instructions if each.opname in ("LOAD_METHOD", "LOAD_ATTR")}


@pytest.mark.parametrize(
    "id, source",
    [
        ("UNSUP_YIELD", "yield x"),
        ("UNSUP_GLOBAL", "global LIMIT; LIMIT = x"),
        ("UNSUP_READ_UNDERSCORE", "_ = x; return _"),
    ],
)
def test_statements_that_cannot_be_compiled_are_refused_by_id(id, source, tmp_path):
    (tmp_path / "author.py").write_text(f"def program(x):\n    {source}\n")
    namespace = {}
    exec(compile((tmp_path / "author.py").read_text(), str(tmp_path / "author.py"), "exec"), namespace)
    with pytest.raises(DSLUserCodeError) as caught:
        rewritten(namespace["program"])
    assert caught.value.id == id and caught.value.place.line == 2
