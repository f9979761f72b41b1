"""Rewriting keeps what the author's function is: its places, globals, closure, defaults, class and super()."""

import inspect

import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.core.syntax import rewrite
from dsl.cutlass.grammar import GRAMMAR

LIMIT = 3


def rewritten(function):
    return rewrite.rewrite(function, GRAMMAR)


def test_globals_closures_and_defaults():
    offset = 10

    def program(x, y=5, *rest, scale=2, **named):
        total = x + offset + y + LIMIT + sum(rest)
        return total * scale, sorted(named)

    made = rewritten(program)
    assert made(1) == ((1 + 10 + 5 + 3) * 2, [])
    assert made(1, 2, 3, scale=1, z=0) == (1 + 10 + 2 + 3 + 3, ["z"])
    offset = 20
    assert made(1) == ((1 + 20 + 5 + 3) * 2, [])


def test_expressions_on_static_values_are_pythons():
    def program(a, b):
        return [
            a and b,
            a or b,
            not a,
            a if b else 7,
            0 < a < 5,
            a in (1, 2),
            a not in (1, 2),
            max(a, b),
            min([a, b]),
            any([a, b]),
            all([a, b]),
            [x for x in range(3) if x != a],
            (lambda v: v and b)(a),
        ]

    for a, b in ((0, 3), (1, 0), (4, 9)):
        assert rewritten(program)(a, b) == program(a, b)


class Base:
    def name(self):
        return "base"


class Derived(Base):
    def __init__(self):
        self.__hidden = 7

    def name(self):
        return "derived"

    def program(self):
        return self.__hidden, super().name(), [super(Derived, self).name() for _ in range(1)]


def test_methods_keep_private_names_and_super():
    assert rewritten(Derived.program)(Derived()) == (7, "base", ["base"])


def test_places_are_the_authors():
    def program(x):
        y = x + 1
        return y.missing

    with pytest.raises(AttributeError) as caught:
        rewritten(program)(1)
    assert caught.traceback[-1].lineno + 1 == inspect.getsourcelines(program)[1] + 2


def test_a_missing_source_is_reported():
    namespace = {}
    exec("def program(x):\n    return x\n", namespace)
    with pytest.raises(DSLUserCodeError, match="the source of `program` cannot be read: it was made by exec"):
        rewritten(namespace["program"])
