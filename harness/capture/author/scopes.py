"""Which names of a statement mean something outside of it: no parameter, local variable or attribute of a class."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def outer_names(node: ast.AST, left_out: frozenset[int] = frozenset()) -> Iterator[ast.Name]:
    """The names, in any order. `left_out`: ids of nodes that count as absent. They include names
    that the statement itself binds at its top."""
    yield from _visit(node, (), left_out)


def _visit(
    node: ast.AST,
    scopes: tuple[frozenset[str], ...],
    left_out: frozenset[int],
    around: tuple[frozenset[str], ...] | None = None,
) -> Iterator[ast.Name]:
    """`around`: the scopes of decorators, defaults and annotations, if the body has others."""
    if id(node) in left_out:
        return
    if isinstance(node, ast.Name):
        if not any(node.id in scope for scope in scopes):
            yield node
    elif _is_function(node):
        arguments = node.args
        outside = [*arguments.defaults, *(each for each in arguments.kw_defaults if each)]
        outside += getattr(node, "decorator_list", [])
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        named += [each for each in (arguments.vararg, arguments.kwarg) if each]
        outside += [each.annotation for each in named if each.annotation]
        outside += [returns] if (returns := getattr(node, "returns", None)) else []
        for each in outside:
            yield from _visit(each, scopes if around is None else around, left_out)
        body = node.body if isinstance(node.body, list) else [node.body]
        inner = frozenset(each.arg for each in named) | bound(body)
        for each in body:
            yield from _visit(each, (*scopes, inner), left_out)
    elif isinstance(node, ast.ClassDef):
        for each in [*node.bases, *node.keywords, *node.decorator_list]:
            yield from _visit(each, scopes, left_out)
        own: frozenset[str] = frozenset()  # a name that the class binds later is from outside
        for each in node.body:
            if _is_function(each):  # methods do not see the names of their class
                yield from _visit(each, scopes, left_out, (*scopes, own))
                own |= bound([each])
            else:
                targets = frozenset() if isinstance(each, (ast.Assign, ast.AnnAssign)) else bound([each])
                stored = frozenset(map(id, _targets(each)))
                yield from _visit(each, (*scopes, own | targets), left_out | stored)
                own |= bound([each])
    elif isinstance(node, _Comprehension):
        inner = frozenset(
            each.id for one in node.generators for each in ast.walk(one.target) if isinstance(each, ast.Name)
        )
        for child in ast.iter_child_nodes(node):
            yield from _visit(child, (*scopes, inner), left_out)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _visit(child, scopes, left_out)


def _targets(statement: ast.stmt) -> list[ast.Name]:
    """The names that an assignment binds."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return []
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    stored = [each for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
    return [each for each in stored if not isinstance(each.ctx, ast.Load)]


def _is_function(node: ast.AST) -> TypeGuard[_Function]:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))


def bound(body: list) -> frozenset[str]:
    """The names that statements bind in their scope."""
    found: set[str] = set()
    outside: set[str] = set()
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
            waiting += node.decorator_list
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            outside |= set(node.names)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
            waiting += node.body
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
            waiting += ast.iter_child_nodes(node)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)):
            found |= {node.name} if node.name else set()
            waiting += ast.iter_child_nodes(node)
        elif isinstance(node, _Comprehension):
            found |= {each.target.id for each in ast.walk(node) if isinstance(each, ast.NamedExpr)}
        elif not isinstance(node, ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return frozenset(found - outside)
