"""Data types by TIRx's names: `T.int32`, `T.f16`, `T.float32x4`; each is a cast, an annotation and the name of a dtype.

`T.int32(x)` casts, `T.int32()` is an extent that a call brings, `x: T.int32 = 0` declares a register,
`x: T.f32[2, 4]` an array of them. A vector type has lanes of a scalar one.
"""

from __future__ import annotations

import re
from typing import Any

from dsl.core.diagnosis import spelling
from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number import dtypes
from dsl.core.number.dtypes import Boolean, Numeric, is_dynamic, numeric
from dsl.tile.vector import ssa
from dsl.tile.vector.ssa import TensorSSA
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.syntax import signature
from dsl.tirx.values.promotion import as_literal, check_literal, converted
from dsl.tirx.values.vector_lanes import active as lanes_active, as_vector

_SCALARS = {
    "bool": Boolean,
    "bfloat16": dtypes.BFloat16,
    "float8_e4m3fn": dtypes.Float8E4M3FN,
    "float8_e5m2": dtypes.Float8E5M2,
    "float8_e4m3": dtypes.Float8E4M3,
    "float8_e8m0fnu": dtypes.Float8E8M0FNU,
    "float8_e4m3b11fnuz": dtypes.Float8E4M3B11FNUZ,
    **{f"int{width}": getattr(dtypes, f"Int{width}") for width in (8, 16, 32, 64)},
    **{f"uint{width}": getattr(dtypes, f"Uint{width}") for width in (8, 16, 32, 64)},
    **{f"float{width}": getattr(dtypes, f"Float{width}") for width in (16, 32, 64)},
}
_NAMES = {dtype: name for name, dtype in _SCALARS.items()}
_SHORT = {
    "boolean": "bool",
    "bf16": "bfloat16",
    **{
        f"{kind[0]}{width}": f"{kind}{width}"
        for kind, widths in (("int", (8, 16, 32, 64)), ("uint", (8, 16, 32, 64)), ("float", (16, 32, 64)))
        for width in widths
    },
}
LANES = (2, 4, 8, 16, 32, 64)


class DType:
    """A data type: `lanes` numbers of `scalar`. Compares equal to its name."""

    is_no_operand = "convert a number to it: `T.int32(x)`"

    def __init__(self, name: str, scalar: type[Numeric], lanes: int = 1):
        self.name, self.scalar, self.lanes = name, scalar, lanes

    @property
    def bytes(self) -> int:
        """Size of one value in memory."""
        return self.scalar.storage_width // 8 * self.lanes

    @property
    def bits(self) -> int:
        return self.scalar.width

    def __call__(self, value: Any = None, is_size_var: bool = False) -> Any:
        """`value` as this type; without one an extent or number that a call brings."""
        if value is None:
            return self._symbol()
        return cast(value, self)

    def _symbol(self) -> Numeric:
        """A number that calls read from the shape of a tensor."""
        symbols = signature.current(f"T.{self}()")
        if self.scalar not in (dtypes.Int32, dtypes.Int64) or self.lanes != 1:
            raise DSLUserCodeTypeError(
                f"an extent must be int32 or int64, got {self}", fix="T.int32()", id="SYMBOL_TYPE"
            )
        return symbols.symbol(self.scalar)

    __iter__ = None  # `T.float32[n]` declares; nothing is iterated

    def __getitem__(self, shape: Any) -> Declaration:
        return Declaration(self, shape if isinstance(shape, tuple) else (shape,))

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, str):
            return find(other) is self
        return self is other

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def type_text(self) -> str:
        return f"the data type T.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"T.{self.name}"


class Declaration:
    """The annotation `T.f32[2, 4]`: an array of registers."""

    def __init__(self, dtype: DType, shape: tuple):
        self.dtype, self.shape = dtype, shape


def _all() -> dict[str, DType]:
    dtypes_by_name = {name: DType(name, scalar) for name, scalar in _SCALARS.items()}
    for name, scalar in _SCALARS.items():
        if scalar is not Boolean:
            dtypes_by_name.update({f"{name}x{lanes}": DType(f"{name}x{lanes}", scalar, lanes) for lanes in LANES})
    return dtypes_by_name


DTYPES = _all()
EXPORTED = {
    **{name: dtype for name, dtype in DTYPES.items() if not name.startswith("bfloat16x")},
    **{short: DTYPES[name] for short, name in _SHORT.items()},
}


def find(name: Any) -> DType:
    """The type called `name` (a DType stays itself). Raises DSLUserCodeValueError for others."""
    if isinstance(name, DType):
        return name
    if isinstance(name, type) and issubclass(name, Numeric):
        return DTYPES[_NAMES[name]]
    dtype = EXPORTED.get(str(name)) or DTYPES.get(str(name))
    if dtype is None and (match := re.fullmatch(r"(\w+?)x(\d+)", str(name))) and match[1] in _SCALARS:
        dtype = DTYPES[str(name)] = DType(str(name), _SCALARS[match[1]], int(match[2]))
    if dtype is None:
        meant = spelling.alike(name, EXPORTED) if isinstance(name, str) else ""
        spelt = name.__name__ if isinstance(name, type) else repr(name)
        raise DSLUserCodeValueError(
            f"unknown data type {spelt}",
            id="DATA_TYPE",
            fix=f'did you mean "{meant}"?' if meant else 'a name such as "float32", "int8" or "float32x4"',
        )
    return dtype


def of(value: Any) -> DType:
    """The type of a number or vector."""
    if isinstance(value, TensorSSA):
        return find(f"{_NAMES[value.dtype]}x{value.size}")
    return DTYPES[_NAMES[type(numeric(value))]]


def cast(value: Any, dtype: DType) -> Any:
    """`value` converted as C does: integers extend with their type's sign, floats are truncated to integers.

    A number becomes a vector with it in every lane.
    """
    value = as_vector(value)
    if isinstance(value, TensorSSA) and dtype.lanes == 1 and lanes_active():  # a cast of all lanes
        return value.to(dtype.scalar)
    if isinstance(value, TensorSSA):
        if value.size != dtype.lanes:
            raise DSLUserCodeTypeError(
                f"a vector of {value.size} lanes does not become {dtype}",
                id="TYPE_LANES",
                fix=f"a type of {value.size} lanes",
            )
        return value if value.dtype is dtype.scalar else value.to(dtype.scalar)
    if type(value) in (int, float):
        check_literal(value, dtype.scalar)
        number = as_literal(dtype.scalar(value))
    else:
        number = numeric(value)
    if number is None:
        raise DSLUserCodeTypeError(
            f"{dtype} holds numbers, got {type_name(value)}",
            id="TYPE_CAST",
            fix="give a number, or an element of a buffer: `A[i]`",
        )
    scalar = converted(number, dtype.scalar)
    return scalar if dtype.lanes == 1 else TensorSSA(ssa.splat(scalar, dtype.lanes), dtype.lanes, dtype.scalar)


def loses_fraction(value: Any, dtype: DType) -> bool:
    """Whether storing `value` as `dtype` cuts a fraction off without a cast by the author."""
    number = numeric(value)
    if isinstance(value, TensorSSA):
        return value.dtype.is_float and dtype.scalar.is_integer
    if number is None or not number.is_float or not dtype.scalar.is_integer or dtype.scalar is Boolean:
        return False
    return is_dynamic(number) or number.value != int(number.value)
