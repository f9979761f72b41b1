"""Extents and strides that a later call brings: `cute.sym_int`."""

from __future__ import annotations

from dataclasses import dataclass

from dsl.core.errors import DSLUserCodeValueError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Int32, Int64, Numeric
from dsl.core.phrase import shown


@dataclass(frozen=True, eq=False)
class SymInt:
    """An extent or stride known at the call only, a multiple of `divisibility`; one object is one value in a call."""

    width: int = 32
    divisibility: int = 1
    symbol: str | None = None

    def __repr__(self) -> str:
        kind = " ".join(["i64"] * (self.width == 64) + [f"div={self.divisibility}"] * (self.divisibility > 1))
        return self.symbol or "?" + (f"{{{kind}}}" if kind else "")

    @property
    def dtype(self) -> type[Numeric]:
        return Int64 if self.width == 64 else Int32

    def rebuild(self, value: mlir.Value) -> Numeric:
        """The value while tracing, with what is known of its divisors."""
        return self.dtype(value).with_divisibility(self.divisibility)


def sym_int(width: int = 32, *, divisibility: int = 1, symbol: str | None = None) -> SymInt:
    """An extent or stride that a later call brings; the same object used twice must get equal values."""
    if width not in (32, 64):
        raise DSLUserCodeValueError(
            f"a symbol is 32 or 64 bits wide, not {shown(width)}", fix="sym_int(32) or sym_int(64)"
        )
    return SymInt(width, divisibility, symbol)


def sym_int32(divisibility: int = 1, symbol: str | None = None) -> SymInt:
    """`sym_int` of 32 bits."""
    return sym_int(32, divisibility=divisibility, symbol=symbol)


def sym_int64(divisibility: int = 1, symbol: str | None = None) -> SymInt:
    """`sym_int` of 64 bits."""
    return sym_int(64, divisibility=divisibility, symbol=symbol)
