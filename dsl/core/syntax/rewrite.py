"""A function of the author's with its control flow as calls of hooks: read, rewritten and compiled again.

The code objects are remembered: nothing that is rewritten is rewritten again.
"""

from __future__ import annotations

import ast
import inspect
import types
from typing import Any

from dsl.core.syntax import coverage
from dsl.core.syntax.function_source import Resolver, compile_definition, copy_of, find_definition
from dsl.core.syntax.recursion_limit import deep
from dsl.core.syntax.rewrite_expression import Grammar
from dsl.core.syntax.rewrite_statement import Rewriter


def rewrite(function: types.FunctionType, grammar: Grammar) -> types.FunctionType:
    """`function` with its control flow as calls of `grammar.hooks`; its globals, closure and defaults are kept."""
    return function_of(rewritten_code(function, grammar), function, grammar.hooks)


@deep()
def rewritten_code(function: types.FunctionType, grammar: Grammar) -> types.CodeType:
    """The code object of `function` rewritten. Raises DSLUserCodeError where there is no source to read."""
    definition = coverage.with_notes(
        copy_of(find_definition(function)), function.__code__.co_filename
    )  # the file's tree is shared
    definition = grammar.preprocessed(definition)
    rewriter = (grammar.rewriter or Rewriter)(function.__code__.co_filename, grammar, Resolver(function))
    if isinstance(definition, ast.Lambda):
        lambda_ = rewriter.visit(definition)
        lambda_.args = rewriter.without_defaults(lambda_.args)
        code = compile_definition(lambda_, function)
    else:
        code = compile_definition(rewriter.function(definition), function)
    _remember(code)
    return code


def function_of(code: types.CodeType, function: types.FunctionType, hooks: Any) -> types.FunctionType:
    """A function of rewritten `code` with the globals, closure and defaults of `function`."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    closure = tuple(types.CellType(hooks) if name == "__dsl__" else cells[name] for name in code.co_freevars)
    rewritten = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    rewritten.__kwdefaults__ = function.__kwdefaults__
    return rewritten


_rewritten: dict[int, types.CodeType] = {}  # by id; the codes are held, so that an id stays its own


def _remember(code: types.CodeType) -> None:
    _rewritten[id(code)] = code
    for const in code.co_consts:
        if isinstance(const, types.CodeType) and const.co_flags & inspect.CO_OPTIMIZED:  # a class stays as it is
            _remember(const)


def is_rewritten(code: types.CodeType) -> bool:
    """Whether `code` was made here, or is inside a function that was."""
    return id(code) in _rewritten
