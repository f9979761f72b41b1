"""The meaning of a Quadrants program's statements, as a Grammar of core's rewriting."""

from __future__ import annotations

from dsl.core.syntax.rewrite_expression import Grammar


class QuadrantsGrammar(Grammar):
    """A Grammar with its decorator, and whether `return` may be anywhere (in a real_func)."""

    decorator = "qd.func"
    returns_anywhere = False
