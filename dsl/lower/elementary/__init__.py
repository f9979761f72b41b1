"""Elementary functions of single precision for kernels, which have no libm: `definitions` as LLVM IR or CUDA C++."""

from __future__ import annotations

from functools import cache

from dsl.lower.elementary import error_function, exponential, logarithm, power, trigonometric
from dsl.lower.elementary.expression import FLOAT, Function, Value

_NAMES = {
    exponential: ("exp", "exp10", "expm1", "sinh", "cosh", "tanh"),
    logarithm: ("log", "log2", "log10", "log1p", "asinh", "acosh", "atanh"),
    trigonometric: ("sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
    error_function: ("erf", "erfc"),
    power: ("pow", "cbrt"),
}
_MAKERS = {f"dsl_{name}f": (name, getattr(module, name)) for module, names in _NAMES.items() for name in names}
SYMBOLS = frozenset(_MAKERS)


@cache
def function(symbol: str) -> Function:
    """The function that kernels call by `symbol`: dsl_expf and its like."""
    name, make = _MAKERS[symbol]
    operands = tuple(Value("operand", (), FLOAT) for _ in range(make.__code__.co_argcount))
    result = make(*operands)
    return result if isinstance(result, Function) else Function(name, operands, result)


@cache
def llvm_ir(symbol: str) -> str:
    """The definitions, in LLVM IR, of the function and of the functions that it calls."""
    return function(symbol).llvm_ir()


@cache
def cuda(symbol: str) -> str:
    """The same in CUDA C++."""
    return function(symbol).cuda()
