"""Ops that authors make themselves, by the bindings' own builders: they are appended where tracing is.

A builder takes SSA values and numbers of the DSL alike; `loc` and `ip` are known without.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from dsl.core.ir import bindings, mlir


def names(dialect: str) -> list[str]:
    """The public names of the bindings' module of a dialect."""
    return [name for name in dir(bindings.generated(f"dialects.{dialect}")) if not name.startswith("_")]


def attribute(dialect: str, name: str) -> Any:
    """`name` of the bindings' module of a dialect: a builder, or a type, attribute or enumeration as it is.

    Raises AttributeError where the bindings have no such name.
    """
    value = getattr(bindings.generated(f"dialects.{dialect}"), name)
    is_op = isinstance(value, type) and issubclass(value, mlir.ir.OpView)
    return builder(value) if is_op or isinstance(value, type(builder)) else value


def builder(make: Callable) -> Callable:
    """A function of the bindings that makes an op, for authors.

    Raises DSLUserCodeRuntimeError outside every traced function.
    """

    parameters = list(inspect.signature(make).parameters)
    infers = "results" in parameters and parameters[0] not in ("res", "result")

    @functools.wraps(make, updated=())
    def build(*arguments, loc=None, ip=None, **keywords):
        if infers and arguments and isinstance(arguments[0], mlir.Type):  # an older release's builder took the type
            arguments, keywords = arguments[1:], {"results": [arguments[0]], **keywords}
        with mlir.appending():
            return make(*map(_plain, arguments), **{name: _plain(value) for name, value in keywords.items()})

    return build


def _plain(argument: Any) -> Any:
    """An argument as the bindings take it: a number, pointer or vector of the DSL as its SSA value."""
    if isinstance(argument, (list, tuple)):
        return type(argument)(map(_plain, argument)) if type(argument) in (list, tuple) else argument
    if isinstance(argument, type) or not hasattr(type(argument), "ir"):
        return argument
    return argument.ir()
