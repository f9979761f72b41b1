"""Element types under Quadrants' names, and its rules for numbers (promotion, literals), as data for core's arithmetic.

Source: Quadrants user guide, Type System; measured on 1.3.3: float beats int, wider beats narrower, unsigned beats
signed of one width, u8 + u8 stays u8.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, SupportsFloat, TypeVar

from dsl.core.number import dtypes
from dsl.core.number.dtypes import Boolean, Numeric
from dsl.core.number.float_formats import round_to
from dsl.core.number_rules import Rules, wider
from dsl.core.phrase import shown
from dsl.quadrants.errors.errors import QuadrantsTypeError

# The public names.
__all__ = [
    "f16",
    "f32",
    "f64",
    "float16",
    "float32",
    "float64",
    "i8",
    "i16",
    "i32",
    "i64",
    "int8",
    "int16",
    "int32",
    "int64",
    "u1",
    "u8",
    "u16",
    "u32",
    "u64",
    "uint1",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]


class DataType:
    """An element type: `i32`, `f64`... Called in a kernel it converts a value; outside, a Python number."""

    def __init__(self, name: str, core: type[Numeric]):
        self.name, self.core = name, core
        self.__name__ = name

    @property
    def numpy_name(self) -> str:
        assert self.core.numpy_name is not None  # every type of this surface has one
        return self.core.numpy_name

    @property
    def format(self) -> str:
        """The letter of `struct` by which Python writes a number."""
        assert self.core.format is not None
        return self.core.format

    @property
    def bytes(self) -> int:
        return self.core.storage_width // 8

    def __call__(self, value: Any) -> Any:
        return _conversion[0](value, self)

    def __repr__(self) -> str:
        return self.name

    def to_string(self) -> str:
        return self.name

    def __reduce__(self):
        return _named, (self.name,)


_conversion: list[Callable[[Any, DataType], Any]] = []
_Function = TypeVar("_Function", bound=Callable)


def conversion(function: _Function) -> _Function:
    """Register what a call of an element type does: `function(value, dtype)`, which knows vectors and places."""
    _conversion[:] = [function]
    return function


def _named(name: str) -> DataType:
    return BY_NAME[name]


i8, i16, i32, i64 = (DataType(f"i{width}", dtypes.dtype(f"Int{width}")) for width in (8, 16, 32, 64))
u8, u16, u32, u64 = (DataType(f"u{width}", dtypes.dtype(f"Uint{width}")) for width in (8, 16, 32, 64))
f16, f32, f64 = (DataType(f"f{width}", dtypes.dtype(f"Float{width}")) for width in (16, 32, 64))
u1 = DataType("u1", Boolean)
int8, int16, int32, int64, uint8, uint16, uint32, uint64 = i8, i16, i32, i64, u8, u16, u32, u64
float16, float32, float64, uint1 = f16, f32, f64, u1
ALL = (i8, i16, i32, i64, u1, u8, u16, u32, u64, f16, f32, f64)
BY_NAME = {dtype.name: dtype for dtype in ALL}
_OF_CORE = {dtype.core: dtype for dtype in ALL}
_OF_NUMPY = {dtype.numpy_name: dtype for dtype in ALL}


class Defaults:
    """The types of `int` and `float` in kernels: set by init."""

    ip: DataType = i32
    fp: DataType = f32


DEFAULT_UNSIGNED = object()  # the unsigned type as wide as the default integer type


def of(annotation: Any) -> DataType | None:
    """The element type that an annotation or argument names: a DataType, int, float, bool, a numpy type; else None."""
    if isinstance(annotation, DataType):
        return annotation
    if annotation is DEFAULT_UNSIGNED:
        return u64 if Defaults.ip.bytes == 8 else u32
    if annotation is int:
        return Defaults.ip
    if annotation is float:
        return Defaults.fp
    if annotation is bool:
        return u1
    if isinstance(annotation, type) and issubclass(annotation, Numeric):
        return _OF_CORE.get(annotation)
    name = getattr(annotation, "__name__", None) or str(annotation).removeprefix("torch.")
    if (
        type(annotation).__module__.split(".")[0] in ("numpy", "torch")
        or getattr(annotation, "__module__", "") == "numpy"
    ):
        return _OF_NUMPY.get(str(annotation).removeprefix("torch.") if not isinstance(annotation, type) else name)
    return None


def of_core(core: type[Numeric]) -> DataType:
    return _OF_CORE[core]


def name_of(value: Any) -> str:
    """The type of a traced or Python value in the author's words."""
    return type_word(type(value))


def type_word(kind: type) -> str:
    """The name of a type of core or of Python."""
    return str(_OF_CORE.get(kind, kind.__name__))


def existing(dtype: Any) -> DataType:
    """The element type that `dtype` names. Raises QuadrantsTypeError where it names none."""
    element = of(dtype)
    if element is None:
        raise QuadrantsTypeError.at(
            f"{shown(dtype)} is not an element type",
            fix=f"write qd.{dtype}" if isinstance(dtype, str) and dtype in BY_NAME else "for example qd.f32",
        )
    return element


def is_integral(dtype: DataType) -> bool:
    return existing(dtype).core.is_integer


def is_real(dtype: DataType) -> bool:
    return existing(dtype).core.is_float


def is_signed(dtype: DataType) -> bool:
    return existing(dtype).core.signed and existing(dtype) is not u1


# --- the rules -------------------------------------------------------------------------------------------------------


def number(value: Any) -> Numeric | None:
    """A Python or numpy number as the literal it is in a kernel: of the default types. otherwise None.

    Raises QuadrantsTypeError for an integer that the default integer type cannot hold.
    """
    if isinstance(value, Numeric):
        return value
    if isinstance(value, bool):
        return Boolean(value)
    if isinstance(value, int):
        core = Defaults.ip.core
        if not core.min <= value <= core.max:
            raise QuadrantsTypeError.at(
                f"Integer literal {value} exceeded the range of default_ip: {Defaults.ip}",
                fix=f"qd.i64({value}), or qd.init(default_ip=qd.i64)",
            )
        return core(value)
    if isinstance(value, float):
        core = Defaults.fp.core
        return core(round_to(value, core.__name__))
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == ():
        return number(value.item())
    if isinstance(value, numbers.Number) and isinstance(value, SupportsFloat):
        return number(float(value))
    return None


promote = wider
_OF_INTEGERS = {"and", "or", "xor", "lshift", "rshift"}


def operation(name: str, a: type[Numeric], b: type[Numeric]) -> type[Numeric]:
    """The type `a name b` is computed in: `/` takes an integer as a number of the default float type."""
    if name in ("lshift", "rshift") and a.is_integer and b.is_integer:
        return a
    if name == "truediv":
        a, b = (Defaults.fp.core if each.is_integer else each for each in (a, b))
    dtype = promote(a, b)
    if name in _OF_INTEGERS and dtype.is_float:
        sign = {"and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"}[name]
        raise QuadrantsTypeError.at(
            f"unsupported operand type(s) for '{sign}': '{of_core(a)}' and '{of_core(b)}'",
            fix="convert the floats: `int(x)`",
        )
    return dtype


RULES = Rules(
    number=number, promote=promote, operation=operation, floor_mod=True, modular_bool=True, extends_by_source=True
)
