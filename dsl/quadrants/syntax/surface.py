"""The grammars of kernels and funcs: core's rewriting with this surface's words and hooks."""

from __future__ import annotations

import builtins

from dsl.quadrants import graph, streams
from dsl.quadrants.syntax import expression, hooks, iterate, loops
from dsl.quadrants.syntax.grammar import QuadrantsGrammar
from dsl.quadrants.syntax.rewrite_statement import QuadrantsRewriter
from dsl.quadrants.syntax.static import static
from dsl.quadrants.values import ops, overflow

_BUILTINS = {
    builtins.range: "range_",
    builtins.min: "min",
    builtins.max: "max",
    builtins.abs: "abs",
    builtins.int: "int_",
    builtins.float: "float_",
    builtins.bool: "bool_",
    builtins.print: "print_",
    builtins.pow: "pow",
    builtins.round: "round",
    builtins.any: "any_",
    builtins.all: "all_",
}


_MODULES = hooks, loops, expression, iterate, ops, overflow, streams, graph


class _Hooks:
    """Hooks under the names that rewritten code calls."""

    def __getattr__(self, name: str):
        value = next(getattr(module, name) for module in _MODULES if hasattr(module, name))
        setattr(self, name, value)
        return value


class _KernelGrammar(QuadrantsGrammar):
    decorator = "qd.kernel"


class _CheckpointGrammar(_KernelGrammar):
    has_stages = True


class _RealGrammar(QuadrantsGrammar):
    returns_anywhere = True


_WORDS = {"hooks": _Hooks(), "static": (static,), "calls": _BUILTINS, "rewriter": QuadrantsRewriter}
KERNEL = _KernelGrammar(**_WORDS)
CHECKPOINTS = _CheckpointGrammar(**_WORDS)
FUNC = QuadrantsGrammar(**_WORDS)
REAL_FUNC = _RealGrammar(**_WORDS)
