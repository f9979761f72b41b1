"""Source text and code objects: the `def` of a function, what its names refer to, and a rewritten `def` compiled again."""

from __future__ import annotations

import __future__
import ast
import builtins
import functools
import linecache
import types

from dsl.core.errors import DSLUserCodeError
from dsl.span import Span


def find_definition(function: types.FunctionType) -> ast.FunctionDef:
    """The `def` of `function` in its file's AST, with the file's own lines and columns.

    Raises DSLUserCodeError where there is no source to read.
    """
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    for node in ast.walk(_parse(code.co_filename, "".join(lines))) if lines else ():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    raise DSLUserCodeError(f"the source of `{code.co_name}` cannot be read from {code.co_filename}",
                           fix="put it in a file, or run it with `python -m dsl -`",
                           place=Span(code.co_filename, code.co_firstlineno))


@functools.lru_cache(maxsize=64)
def _parse(file: str, text: str) -> ast.Module:
    return ast.parse(text, file)


def compile_definition(definition: ast.FunctionDef, function: types.FunctionType) -> types.CodeType:
    """The code object of `definition`, compiled where its free variables and the hooks are closure variables.

    A method is compiled in a class of its own class's name, so that `self.__name` is mangled as it was.
    """
    freevars = ["__dsl__", *function.__code__.co_freevars]
    owner = function.__qualname__.split(".")[-2:-1]
    in_class = bool(owner) and owner[0].isidentifier()
    body: list[ast.stmt] = [definition]
    if in_class:
        body = [ast.ClassDef(name=owner[0], bases=[], keywords=[], body=[definition], decorator_list=[])]
        if owner[0] not in freevars:
            body.insert(0, ast.Global([owner[0]]))
    factory = ast.FunctionDef(name="__dsl_factory", args=arguments_named(freevars), body=body, decorator_list=[])
    ast.copy_location(factory, definition)
    module = ast.fix_missing_locations(ast.Module([factory], type_ignores=[]))
    future = function.__code__.co_flags & __future__.annotations.compiler_flag        # the author's, not this file's
    compiled = compile(module, function.__code__.co_filename, "exec", flags=future, dont_inherit=True)
    code = _inner_code(compiled, "__dsl_factory")
    if in_class:
        code = _inner_code(code, owner[0])
    return _inner_code(code, definition.name)


def _inner_code(code: types.CodeType, name: str) -> types.CodeType:
    return next(const for const in code.co_consts if isinstance(const, types.CodeType) and const.co_name == name)


def arguments_named(names: list[str]) -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[])


class Resolver:
    """What a name or a dotted name of a function refers to before it runs: globals, closure and builtins."""

    def __init__(self, function: types.FunctionType):
        self.globals = function.__globals__
        self.cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))

    def __call__(self, node: ast.expr, local_names: set[str]) -> object:
        if isinstance(node, ast.Attribute):
            base = self(node.value, local_names)
            return getattr(base, node.attr, None) if base is not None else None
        if not isinstance(node, ast.Name) or node.id in local_names:
            return None
        if node.id in self.cells:
            try:
                return self.cells[node.id].cell_contents
            except ValueError:
                return None
        return self.globals.get(node.id, getattr(builtins, node.id, None))
