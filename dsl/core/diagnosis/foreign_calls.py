"""Values known only at run time that reach Python or another library: what was called, and what to write instead.

`math.sqrt(a[t])`, `np.exp(x)` and `[i for i in range(n)]` run while compiling. They fail with an error of their
library, or in a value's `__float__`, `__index__` or `__bool__`. The author's expression shows which it was.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import types
from typing import Any

from dsl.core.diagnosis import foreign_names, python_errors
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.syntax.raise_place import is_authors_code, walk
from dsl.span import Span, of_code

_STATIC = "or pass the value as cutlass.Constexpr"
_LIBRARIES = set("math cmath random secrets time numpy torch scipy statistics decimal fractions".split())
_OF_LIBRARIES = (TypeError, ValueError, AttributeError, RuntimeError)


def explained(error: BaseException) -> DSLUserCodeError | None:
    """The error that names what took a value known only at run time; None if it is another kind of error."""
    if isinstance(error, DSLUserCodeError):
        if error.id not in ("PHASE_DYNAMIC_INDEX", "PHASE_DYNAMIC_TO_STATIC_BOOL"):
            return None
        kind = str(error.message).partition(":")[0].removeprefix("is ")
    elif isinstance(error, _OF_LIBRARIES) and python_errors.is_pythons_own(error):
        kind = ""
    else:
        return None
    entry = next(filter(_is_of_author, reversed(list(walk(error)))), None)
    if entry is None:
        return None
    place = of_code(entry.tb_frame.f_code, entry.tb_lasti)
    is_count = isinstance(error, DSLUserCodeError) and error.id == "PHASE_DYNAMIC_INDEX"
    found = (is_count and (_in_comprehension(place, kind) or _of_sequence(place, kind))) or _call(
        place, kind, {**vars(builtins), **entry.tb_frame.f_globals, **entry.tb_frame.f_locals}
    )
    if not found:
        return None
    message, fix = found
    return DSLUserCodeTypeError(message, fix=fix, id="PHASE_DYNAMIC_INDEX", place=place).with_traceback(
        error.__traceback__
    )


def _is_of_author(entry: types.TracebackType) -> bool:
    """Whether a frame belongs to the author, and not to a library that the author calls."""
    module = str(entry.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
    return is_authors_code(entry.tb_frame.f_code) and module not in _LIBRARIES


def _in_comprehension(place: Span, kind: str) -> tuple[str, str] | None:
    """A comprehension or a generator expression that counts to a value known only at run time."""
    node = _enclosing_comprehension(place)
    if node is None:
        return None
    what = "a generator expression" if isinstance(node, ast.GeneratorExp) else "a comprehension"
    return (
        f"{what} runs while compiling, and cannot count to {kind}",
        f"write a loop, `for i in range(n):`, that changes a variable or a tensor, {_STATIC}",
    )


def _of_sequence(place: Span, kind: str) -> tuple[str, str] | None:
    """A list, tuple or text that is cut at, or repeated by, a value known only at run time."""
    expression = python_errors.expression_at(place)
    if isinstance(expression, ast.Subscript) and isinstance(expression.slice, ast.Slice):
        what = f"cut at {kind}"
    elif isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Mult):
        what = f"repeated by {kind}"
    else:
        return None
    return (
        f"a list, a tuple or a text cannot be {what}: its length must be known while compiling",
        f"loop over all its elements and use those that an `if` selects, or keep them in a tensor, {_STATIC}",
    )


def _call(place: Span, kind: str, space: dict[str, Any]) -> tuple[str, str] | None:
    """A function of Python or another library that was given a value known only at run time."""
    call = python_errors.call_at(place)
    if call is None:
        return None
    name = ast.unparse(call.func)
    root = space.get(name.partition(".")[0])
    function = python_errors.evaluated(call.func, space)
    is_builtin = name in foreign_names.BUILTINS and function is getattr(builtins, name)
    library = "Python" if kind and is_builtin else _library(root, function)
    if library is None or not (kind or _names_ours(call, space)):
        return None
    value = kind or "a value known only at run time"
    fix = foreign_names.of_function(library, name.rpartition(".")[2], ", ".join(map(ast.unparse, call.args)))
    return f"`{name}` of {library} runs while compiling: it cannot take {value}", fix


def _names_ours(call: ast.Call, space: dict[str, Any]) -> bool:
    """Whether a name in the arguments is one of this package's values: a number, a tensor, a pointer."""
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    names = {node.id for argument in arguments for node in ast.walk(argument) if isinstance(node, ast.Name)}
    return any(python_errors.is_ours(space.get(name)) and not isinstance(space[name], type) for name in names)


def _library(root: Any, function: Any) -> str | None:
    """The name of the library of the called function; None for Python's own and for the author's functions."""
    for holder in (root, function):
        module = holder.__name__ if isinstance(holder, types.ModuleType) else getattr(holder, "__module__", None)
        top = str(module or "").partition(".")[0]
        if top in _LIBRARIES and (callable(function) or isinstance(holder, types.ModuleType)):
            return top
    return None


def _enclosing_comprehension(place: Span) -> ast.expr | None:
    """The comprehension or generator expression in whose iterator `place` is."""
    try:
        tree = ast.parse("".join(linecache.getlines(place.file)))
    except (SyntaxError, ValueError):
        return None
    start = (place.line, place.column - 1)
    for node in ast.walk(tree):
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            for part in node.generators:
                iterator = part.iter
                end = (iterator.end_lineno or iterator.lineno, iterator.end_col_offset or 0)
                if (iterator.lineno, iterator.col_offset) <= start < end:
                    return node
    return None
