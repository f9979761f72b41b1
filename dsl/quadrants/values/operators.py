"""Python's operators on a class: what binary, comparing and unary ones do, from one function for each kind."""

from __future__ import annotations

import operator
from collections.abc import Callable

_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
_COMPARING = ("eq", "ne", "lt", "le", "gt", "ge")
_UNARY = ("neg", "pos", "invert", "abs")


def define(cls: type, binary: Callable, reflected: Callable, unary: Callable) -> None:
    """Give `cls` its operators.

    `binary(python, self, other)` and `reflected(python, self, other)` get Python's operator as a function of the
    operands in the order they are written, `unary(python, self)` one of the operand.
    """
    for name in (*_BINARY, *_COMPARING):
        python = getattr(operator, f"__{name}__")
        setattr(cls, f"__{name}__", lambda self, other, python=python: binary(python, self, other))
        if name in _BINARY:
            setattr(cls, f"__r{name}__", lambda self, other, python=python: reflected(python, self, other))
    for name in _UNARY:
        python = getattr(operator, f"__{name}__")
        setattr(cls, f"__{name}__", lambda self, python=python: unary(python, self))
