"""The meaning of a Quadrants program's statements, as a Grammar of core's rewriting."""

from __future__ import annotations

from dsl.core.syntax.rewrite_expression import Grammar


class QuadrantsGrammar(Grammar):
    """A Grammar with its decorator. `returns_anywhere`: as in a real_func. `has_stages`: a resumed launch may leave out
    loops of the outermost scope (checkpoints=True)."""

    decorator = "qd.func"
    returns_anywhere = False
    has_stages = False
