"""`n = T.dynamic("n")`: an extent that each call reads from the shape of a tensor, and expressions of such extents.

It is made outside of functions. A function that is traced sees the number that its own calls bring.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from dsl.core import number_rules, trace
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.number.dtypes import Numeric
from dsl.core.phrase import shown
from dsl.tirx.syntax import signature
from dsl.tirx.values import dtypes
from dsl.tirx.values.promotion import TIRX


class Symbolic:
    """An extent, or an expression of extents."""

    def value(self) -> Numeric:
        """The number in the function that is being traced."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        raise DSLUserCodeTypeError(
            "an extent that calls bring is not known while compiling", id="DYNAMIC_EXTENT", fix="compare it in a kernel"
        )


class Dynamic(Symbolic):
    """One extent."""

    def __init__(self, name: str, dtype: Any):
        self.name, self.dtype = name, dtypes.find(dtype)

    def value(self) -> Numeric:
        described = signature.innermost()
        if self not in described.extents:
            described.extents[self] = self._declared()
        return described.extents[self]

    def _declared(self) -> Numeric:
        if trace.in_kernel():
            raise DSLUserCodeError(
                f"no tensor's shape has the extent `{self.name}`",
                id="SYMBOL_UNBOUND",
                fix=f"use it in a T.Tensor, or take it as a parameter: `{self.name}: T.int32`",
            )
        number = self.dtype()
        signature.name_symbol(number, self.name)
        return number

    def __repr__(self) -> str:
        return self.name


class Expression(Symbolic):
    """`n * 2` outside of a function."""

    def __init__(self, function: Callable, operands: tuple):
        self.function, self.operands = function, operands

    def value(self) -> Numeric:
        return self.function(*map(valued, self.operands))

    def __repr__(self) -> str:
        return f"{self.function.__name__}({', '.join(map(repr, self.operands))})"


def valued(value: Any) -> Any:
    """A symbolic extent as the number that it is in the function being traced; any other value as it is."""
    return value.value() if isinstance(value, Symbolic) else value


def deferred(function: Callable) -> Callable:
    """`function`, which outside of a traced function gives an expression of its extents."""

    def computed(*operands: Any) -> Any:
        if trace.active():
            return function(*map(valued, operands))
        return (
            Expression(function, operands)
            if any(isinstance(each, Symbolic) for each in operands)
            else (function(*operands))
        )

    computed.__name__, computed.__doc__ = function.__name__, function.__doc__
    return computed


def _reflected(function: Callable) -> Callable:
    def reflected(b: Any, a: Any) -> Any:
        return function(a, b)

    reflected.__name__ = function.__name__
    return reflected


for _name in "add sub mul floordiv mod lshift rshift and_ or_ xor".split():
    _function = getattr(operator, _name)
    setattr(Symbolic, f"__{_name.strip('_')}__", deferred(_function))
    setattr(Symbolic, f"__r{_name.strip('_')}__", deferred(_reflected(_function)))
for _name in "lt le gt ge eq ne".split():
    setattr(Symbolic, f"__{_name}__", deferred(getattr(operator, _name)))
Symbolic.__hash__ = object.__hash__


def dynamic(name: str, dtype: Any = "int32") -> Dynamic:
    """An extent that calls bring. Raises DSLUserCodeTypeError for a dtype that an extent cannot have."""
    if not isinstance(name, str):
        raise DSLUserCodeTypeError(
            f"T.dynamic takes the name of an extent, got {shown(name)}", id="SYMBOL_TYPE", fix='n = T.dynamic("n")'
        )
    if dtypes.find(dtype) not in ("int32", "int64"):
        raise DSLUserCodeTypeError(
            f"an extent must be int32 or int64, got {dtypes.find(dtype)}", id="SYMBOL_TYPE", fix='n = T.dynamic("n")'
        )
    return Dynamic(name, dtype)


def _number(value: Any) -> Numeric | None:
    assert TIRX.number is not None
    return value.value() if isinstance(value, Symbolic) else TIRX.number(value)


RULES = number_rules.Rules(**{**vars(TIRX), "number": _number})
