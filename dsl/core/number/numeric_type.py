"""The class of the numeric types: their facts, and what follows from these."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dsl.core.ir import mlir
from dsl.core.number.float_formats import FORMATS, Format


class NumericMeta(type):
    """Types print by their bare name, and compare by identity; their facts are attributes."""

    if TYPE_CHECKING:
        width: int
        storage_width: int
        signed: bool
        is_integer: bool
        is_float: bool
        format: str | None
        numpy_name: str | None
        carrier: mlir.Type

    def __repr__(cls) -> str:
        return cls.__name__

    def __str__(cls) -> str:
        return cls.__name__

    @property
    def is_abstract(cls) -> bool:
        """Whether this is a family (Numeric, Integer, Float) and no type of values."""
        return cls.__name__ in ("Numeric", "Integer", "Float")

    @property
    def bytes(cls) -> int:
        """Bytes that one value takes, rounded up."""
        return -(-cls.width // 8)

    def n_bytes(cls, n_elements: int) -> int:
        """Bytes that `n_elements` packed elements take, rounded up."""
        return -(-cls.width * n_elements // 8)

    @property
    def is_packed(cls) -> bool:
        """Whether elements follow each other in memory bit by bit, without an integer for each: 4, 6 and 24 bits."""
        return cls.storage_width not in (8, 16, 32, 64, 128)

    @property
    def mlir_type(cls) -> mlir.Type:
        """The MLIR type of its SSA values."""
        return cls.carrier

    @property
    def zero(cls) -> int | float:
        return 0.0 if cls.is_float else 0

    @property
    def min(cls) -> int:
        """The least value of an integer type of this width."""
        cls._only("min", cls.is_integer)
        return -(1 << (cls.width - 1)) if cls.signed or cls.width == 1 else 0

    @property
    def max(cls) -> int:
        """The greatest value of an integer type of this width."""
        cls._only("max", cls.is_integer)
        return (1 << (cls.width - 1)) - 1 if cls.signed or cls.width == 1 else (1 << cls.width) - 1

    @property
    def inf(cls) -> float:
        cls._only("inf", cls.is_float)
        return math.inf

    @property
    def nan(cls) -> float:
        cls._only("nan", cls.is_float)
        return math.nan

    @property
    def exponent_width(cls) -> int:
        """Exponent bits of a narrow float type."""
        return cls._narrow("exponent_width").exponent_bits

    @property
    def mantissa_width(cls) -> int:
        """Fraction bits of a narrow float type."""
        return cls._narrow("mantissa_width").fraction_bits

    def _narrow(cls, name: str) -> Format:
        """The format of one number of a narrow float type, or of a group of them (Float4E2M1FNx2)."""
        format = FORMATS.get(cls.__name__.partition("x")[0])
        if format is None or format.sign_bit >= 9:
            raise cls._lacks(name)
        return format

    def _only(cls, name: str, has: bool) -> None:
        if not has:
            raise cls._lacks(name)

    def _lacks(cls, name: str) -> AttributeError:
        return AttributeError(f"{cls} has no attribute '{name}'")

    def is_same_kind(cls, other: NumericMeta) -> bool:
        """Whether both are integer types or both float types."""
        return cls.is_integer == other.is_integer and cls.is_float == other.is_float
