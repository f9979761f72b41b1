"""Functions inside a traced one that rebind its variables with `nonlocal`: they stay Python functions, as they are.

That is right where no dynamic statement decides whether, or how often, they run: a dynamic statement carries what it
assigns itself, and does not see what a function assigns that it calls.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

_STATEMENTS = (ast.If, ast.While, ast.For)
_OUTSIDE, _RETURN = (
    " cannot be compiled: a kernel cannot rebind outside names",
    "return the value and assign it outside",
)


class Refused(NamedTuple):
    """A statement that cannot be compiled, and why."""

    node: ast.stmt
    message: str
    fix: str
    id: str = "UNSUP_NONLOCAL"


def stays(definition: ast.FunctionDef) -> bool:
    """Whether a function inside a traced one is left as it is: it rebinds outside variables."""
    return any(isinstance(node, ast.Nonlocal) for node in _own(definition))


def refused(root: ast.FunctionDef, is_dynamic: Callable[[ast.stmt], bool]) -> Refused | None:
    """The first `nonlocal` in `root` that a dynamic statement has a part in, or that rebinds what is outside of it; the
    first `global`."""
    for node in ast.walk(root):
        if isinstance(node, ast.Global):
            return Refused(node, f"`global`{_OUTSIDE}", _RETURN, "UNSUP_GLOBAL")
    owners = [root]

    def look(function: ast.FunctionDef) -> Refused | None:
        for node in _own(function):
            refusal = _look_at(node, function, owners, is_dynamic) if isinstance(node, ast.Nonlocal) else None
            if isinstance(node, ast.FunctionDef):
                owners.append(node)
                refusal = look(node)
                owners.pop()
            if refusal:
                return refusal
        return None

    return look(root)


def _look_at(
    node: ast.Nonlocal, function: ast.FunctionDef, owners: list[ast.FunctionDef], is_dynamic: Callable[[ast.stmt], bool]
) -> Refused | None:
    for name in node.names:
        at = next((i for i in reversed(range(len(owners) - 1)) if name in _bound(owners[i])), None)
        if at is None:
            return Refused(node, f"`nonlocal`{_OUTSIDE}", _RETURN)
        inside = owners[at + 1 :]
        if any(is_dynamic(inner) for inner in ast.walk(function) if isinstance(inner, _STATEMENTS)):
            return Refused(
                node,
                f"`{function.name}` rebinds `{name}` and has a dynamic statement in it",
                f"return `{name}` and assign it outside",
            )
        if _is_decided(owners[at], {inner.name for inner in inside}, is_dynamic):
            return Refused(
                node,
                f"`{function.name}` rebinds `{name}`, but a dynamic statement decides whether it runs",
                f"return `{name}` and assign it there: `{name} = {function.name}(...)`",
                "SCOPE_CLOSURE_CAPTURE",
            )
    return None


def _is_decided(owner: ast.FunctionDef, names: set[str], is_dynamic: Callable[[ast.stmt], bool]) -> bool:
    """Whether one of the functions `names`, or one that calls it, is named in a dynamic statement of `owner`.

    A function that is passed on may be called anywhere.
    """
    functions = [node for node in ast.walk(owner) if isinstance(node, ast.FunctionDef) and node is not owner]
    while more := {f.name for f in functions if f.name not in names and names & _names(f)}:
        names |= more
    called = {id(call.func) for call in ast.walk(owner) if isinstance(call, ast.Call)}
    if any(isinstance(node, ast.Name) and node.id in names and id(node) not in called for node in ast.walk(owner)):
        return True
    return any(names & _names(node) for node in ast.walk(owner) if isinstance(node, _STATEMENTS) and is_dynamic(node))


def _names(node: ast.AST) -> set[str]:
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}


def _bound(function: ast.FunctionDef) -> set[str]:
    """The variables of a function itself."""
    outside = {name for node in _own(function) if isinstance(node, (ast.Nonlocal, ast.Global)) for name in node.names}
    stored = {node.id for node in _own(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return (stored | {arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)}) - outside


def _own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function's body, of functions inside it only themselves."""
    pending: list[ast.AST] = list(reversed(function.body))
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            pending.extend(reversed(list(ast.iter_child_nodes(node))))
