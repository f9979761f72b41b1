"""SSA values that authors' own ops give, with the operators of numbers.

An integer counts as signed. A Python number in an operation with one takes its type; a typed number decides itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.ir import mlir
from dsl.core.number import operators
from dsl.core.number.dtypes import (
    BFloat16,
    Boolean,
    Float16,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Int128,
    Numeric,
)

_TYPES: dict[Any, type[Numeric]] = {
    mlir.i1: Boolean,
    mlir.i8: Int8,
    mlir.i16: Int16,
    mlir.i32: Int32,
    mlir.i64: Int64,
    mlir.i128: Int128,
    mlir.f16: Float16,
    mlir.bf16: BFloat16,
    mlir.f32: Float32,
    mlir.f64: Float64,
}
_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
_COMPARED = ("eq", "ne", "lt", "le", "gt", "ge")


class SsaNumber(mlir.Value):
    """A value that is also a number: `v + 1`, `-v`, `v < w` are values again."""

    signed = None

    def __init__(self, value: mlir.Value) -> None:
        super().__init__(value)
        self.plain = value  # without operators: what `==` compares

    def as_number(self) -> Numeric:
        """The value as a number of the DSL."""
        return _TYPES[self.type](self.plain)

    def ir_value(self, *, loc: Any = None, ip: Any = None) -> mlir.Value:
        """The value; `loc` and `ip` are parameters of upstream, not used here."""
        return self

    def __hash__(self) -> int:
        return super().__hash__()

    def __bool__(self) -> bool:
        return bool(self.as_number())

    def __neg__(self) -> Any:
        return SsaNumber((-self.as_number()).ir())

    def __invert__(self) -> Any:
        return SsaNumber((~self.as_number()).ir())

    def __abs__(self) -> Any:
        return SsaNumber(abs(self.as_number()).ir())

    def with_operator(self, name: str, other: Any, reflected: bool) -> Any:
        """`self name other`: a value, or a number if `other` is a number of the DSL. Raises DSLUserCodeTypeError."""
        own = self.as_number()
        if isinstance(other, Numeric):
            return operators.operate(name, *((other, own) if reflected else (own, other)))
        if isinstance(other, SsaNumber):
            if other.type != self.type:
                raise DSLUserCodeTypeError(
                    f"an operator of two SSA values needs one type, got {self.type} and {other.type}",
                    fix="make numbers of them: `Float32(v) + Int32(w)`",
                )
            side: Any = other.as_number()
        elif isinstance(other, (bool, int, float)):
            side = type(own)(other)
        else:
            return NotImplemented
        result = operators.operate(name, *((side, own) if reflected else (own, side)))
        return SsaNumber(result.ir())


def _operator(name: str, reflected: bool = False) -> Callable:
    return lambda self, other: self.with_operator(name, other, reflected)


for _name in _BINARY:
    setattr(SsaNumber, f"__{_name}__", _operator(_name))
    setattr(SsaNumber, f"__r{_name}__", _operator(_name, reflected=True))
for _name in _COMPARED:
    setattr(SsaNumber, f"__{_name}__", _operator(_name))


def with_operators(result: Any) -> Any:
    """The result of a builder, its numbers with operators."""
    if isinstance(result, mlir.Value) and not isinstance(result, SsaNumber) and result.type in _TYPES:
        return SsaNumber(result)
    return result
