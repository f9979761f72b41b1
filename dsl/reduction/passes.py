"""The passes of each language, in the order in which they are worth trying."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from dsl.reduction import definition_passes, expression_passes, statement_passes, text_passes
from dsl.reduction.edit import Edit


class Pass(NamedTuple):
    """A pass by its name, what it does in a line, and the edits it sees in a program."""

    name: str
    about: str
    edits: Callable[[Any], Iterable[Edit]]


PYTHON = (
    Pass("unreached", "functions and classes that nothing reaches", definition_passes.unreached),
    Pass("imports", "names that are imported and not read", definition_passes.imports),
    Pass("comments", "comments", text_passes.comments),
    Pass("docstrings", "docstrings", text_passes.docstrings),
    Pass("blank-lines", "empty lines", text_passes.blank_lines),
    Pass("branches", "an `if` becomes one of its blocks", statement_passes.branches),
    Pass("halves", "halves of blocks", statement_passes.halves),
    Pass("compound", "whole loops, branches and functions", statement_passes.compound_statements),
    Pass("with-uses", "what defines a name, with all that needs it", statement_passes.statements_with_uses),
    Pass("outer", "statements of the module and of functions", statement_passes.outer_statements),
    Pass("inner", "statements within blocks", statement_passes.inner_statements),
    Pass("blocks", "the body in place of `with`, `try`, `for`, `while`", statement_passes.blocks_opened),
    Pass("loops", "loops run once", statement_passes.loops),
    Pass("parameters", "parameters that are not read, with their arguments", definition_passes.unused_parameters),
    Pass("arguments", "keyword arguments and elements", definition_passes.arguments),
    Pass("annotations", "types of results and variables", expression_passes.annotations),
    Pass("strings", "strings become empty", expression_passes.strings),
    Pass("subexpressions", "an expression becomes one of its parts", expression_passes.subexpressions),
    Pass("zeros", "computed values become 0", expression_passes.zeros),
    Pass("ones", "computed values become 1", expression_passes.ones),
)
LANGUAGES: dict[str, tuple[Pass, ...]] = {"python": PYTHON}


def named(name: str) -> tuple[str, Pass]:
    """The language and the pass of a name. Raises KeyError."""
    for language, passes in LANGUAGES.items():
        for each in passes:
            if each.name == name:
                return language, each
    raise KeyError(name)
