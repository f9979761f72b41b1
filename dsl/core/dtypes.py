"""The numeric types: a table on top, promotion rules below, and values that are static or dynamic.

A value holds a Python number (static, known while tracing) or an SSA value (dynamic). Operators fold static operands
and emit ops otherwise. Rules of promotion are those measured of release 4.8.1 of NVIDIA's compiler (docs/types.md).
"""

from __future__ import annotations

import math
import struct

from dsl.core import arith, mlir
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError


class NumericMeta(type):
    """Types print by their bare name, and compare by identity."""

    def __repr__(cls) -> str:
        return cls.__name__

    def __str__(cls) -> str:
        return cls.__name__


class Numeric(metaclass=NumericMeta):
    """A typed number. `Int32(5)` is static; an argument or the result of an op on one is dynamic."""

    __slots__ = ("value", "owner", "known_divisor")
    width: int                    # bits of the value
    storage_width: int            # bits one element takes in memory
    signed = True
    is_integer = is_float = False
    format: str                   # struct format of a host argument slot
    numpy_dtype: str | None = None

    def __init__(self, value: object):
        if isinstance(value, mlir.Value):
            self.value, self.owner = value, mlir.current_function()
        elif isinstance(value, Numeric):
            self.value, self.owner = value.convert_value(type(self)), mlir.current_function()
        elif isinstance(value, (bool, int, float)):
            self.value = self.wrap(value)
        elif hasattr(value, "__index__"):
            self.value = self.wrap(value.__index__())
        elif hasattr(value, "__float__"):
            self.value = self.wrap(value.__float__())
        else:
            raise DSLUserCodeTypeError(f"{type(value).__name__} is not a number that {type(self)} can hold")

    @classmethod
    def mlir_type(cls) -> mlir.Type:
        return _MLIR_TYPES[cls.__name__]

    @classmethod
    def storage_type(cls) -> mlir.Type:
        """The MLIR type of one element in memory (a Boolean is a byte)."""
        return mlir.i8 if cls is Boolean else cls.mlir_type()

    @classmethod
    def wrap(cls, value):
        """`value` as this type holds it: integers modulo 2**width, floats rounded."""
        raise DSLUserCodeTypeError(f"{cls} has no values of its own; use one of its concrete types")

    @property
    def dtype(self) -> type[Numeric]:
        return type(self)

    def convert_value(self, to: type[Numeric]):
        """This value as `to` holds it: a Python number or an SSA value."""
        if not isinstance(self.value, mlir.Value):
            return to.wrap(self.value)
        mlir.check_owner(self.owner)
        if to is type(self):
            return self.value
        if to is Boolean:
            return arith.compare("ne", self.value, mlir.constant(0, self.value.type), self.signed)
        signed = self.signed and type(self) is not Boolean
        return arith.convert(self.value, to.mlir_type(), signed, to.signed)

    def to(self, dtype: type[Numeric]) -> Numeric:
        return dtype(self)

    @property
    def divisibility(self) -> int:
        """A number this is known to be a multiple of; arithmetic does not keep it."""
        return getattr(self, "known_divisor", 1)

    def with_divisibility(self, divisor: int) -> Numeric:
        """The same value, assumed to be a multiple of `divisor`."""
        assumed = object.__new__(type(self))
        assumed.value, assumed.owner, assumed.known_divisor = self.value, mlir.current_function(), divisor
        return assumed

    def ir(self) -> mlir.Value:
        """The SSA value; a static number becomes a constant."""
        if isinstance(self.value, mlir.Value):
            mlir.check_owner(self.owner)
            return self.value
        value = int(self.value) if type(self) is Boolean else self.value
        return mlir.constant(value, self.mlir_type())

    def with_ir(self, value: mlir.Value) -> Numeric:
        return type(self)(value)

    def type_key(self) -> object:
        return type(self)

    def ir_type(self) -> mlir.Type:
        return self.mlir_type()

    def ir_value(self) -> mlir.Value:
        return self.ir()

    def __repr__(self) -> str:
        shown = "dynamic" if isinstance(self.value, mlir.Value) else repr(self.value)
        return f"{type(self).__name__}({shown})"

    def __hash__(self) -> int:
        return id(self.value) if isinstance(self.value, mlir.Value) else hash(self.value)

    def _static(self, what: str):
        if isinstance(self.value, mlir.Value):
            raise DSLUserCodeTypeError(
                f"is a dynamic {type(self).__name__}: its value is not known while compiling, and Python needs {what}",
                fix="compare or index it inside a @cute.jit or @cute.kernel function, or pass it as cutlass.Constexpr",
                id="PHASE_DYNAMIC_TO_STATIC_BOOL" if what == "a bool" else "PHASE_DYNAMIC_INDEX")
        return self.value

    def __bool__(self) -> bool:
        return bool(self._static("a bool"))

    def __index__(self) -> int:
        value = self._static("an int")
        if isinstance(value, float):
            raise DSLUserCodeTypeError(f"{type(self).__name__} cannot be an index", fix="convert it: `Int32(x)`")
        return int(value)

    def __int__(self) -> int:
        return int(self._static("an int"))

    def __float__(self) -> float:
        return float(self._static("a float"))


class Integer(Numeric):
    __slots__ = ()
    is_integer = True

    @classmethod
    def wrap(cls, value):
        if isinstance(value, float) and not math.isfinite(value):
            raise DSLUserCodeTypeError(f"{value} has no value of type {cls}")
        value = int(value) & ((1 << cls.width) - 1)
        return value - (1 << cls.width) if cls.signed and value >> (cls.width - 1) else value


class Float(Numeric):
    __slots__ = ()
    is_float = True

    @classmethod
    def wrap(cls, value):
        return round_float(float(value), cls.__name__)


def round_float(value: float, name: str) -> float:
    """`value` rounded to nearest even in the float type called `name`."""
    if name == "Float64" or not math.isfinite(value):
        return value
    if name == "BFloat16":
        bits = struct.unpack("<I", struct.pack("<f", round_float(value, "Float32")))[0]
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
        return struct.unpack("<f", struct.pack("<I", bits))[0]
    try:
        code = "<e" if name == "Float16" else "<f"
        return struct.unpack(code, struct.pack(code, value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _make(name: str, base: type, width: int, format: str, numpy_dtype: str | None, signed: bool = True) -> type:
    return NumericMeta(name, (base,), {"__slots__": (), "width": width, "storage_width": max(width, 8), "signed": signed,
                                       "format": format, "numpy_dtype": numpy_dtype, "__module__": __name__})


Int8, Int16, Int32, Int64 = (_make(f"Int{w}", Integer, w, f, f"int{w}") for w, f in
                             ((8, "b"), (16, "h"), (32, "i"), (64, "q")))
Uint8, Uint16, Uint32, Uint64 = (_make(f"Uint{w}", Integer, w, f, f"uint{w}", signed=False) for w, f in
                                 ((8, "B"), (16, "H"), (32, "I"), (64, "Q")))
Float16 = _make("Float16", Float, 16, "e", "float16")
BFloat16 = _make("BFloat16", Float, 16, "H", None)
Float32 = _make("Float32", Float, 32, "f", "float32")
Float64 = _make("Float64", Float, 64, "d", "float64")


class Boolean(Integer):
    __slots__ = ()
    width, storage_width, format, numpy_dtype, signed = 1, 8, "?", "bool", False

    @classmethod
    def wrap(cls, value):
        return bool(value)


_MLIR_TYPES = {"Boolean": mlir.i1, "Float16": mlir.f16, "BFloat16": mlir.bf16, "Float32": mlir.f32, "Float64": mlir.f64,
               **{f"{sign}nt{w}": t for sign in ("I", "Ui") for w, t in
                  ((8, mlir.i8), (16, mlir.i16), (32, mlir.i32), (64, mlir.i64))}}
_SIGNED = {8: Int8, 16: Int16, 32: Int32, 64: Int64}


def of_python(value: object) -> type[Numeric] | None:
    """The type a Python number takes among traced values: bool Boolean, int Int32 (Int64 past it), float Float32."""
    if isinstance(value, bool):
        return Boolean
    if isinstance(value, int):
        return Int32 if -(1 << 31) <= value < (1 << 31) else Int64
    return Float32 if isinstance(value, float) else None


def numeric(value: object) -> Numeric | None:
    """`value` as a Numeric, or None where it is no number."""
    if isinstance(value, Numeric):
        return value
    dtype = of_python(value)
    return dtype(value) if dtype else None


def is_dynamic(value: object) -> bool:
    """Whether `value` is a number known only at run time."""
    return isinstance(value, Numeric) and isinstance(value.value, mlir.Value)


def is_static(value: object) -> bool:
    return not is_dynamic(value)


def promote(a: type[Numeric], b: type[Numeric]) -> type[Numeric]:
    """The type in which `a op b` is computed."""
    if a is b:
        return a
    if a.is_float and b.is_float:
        return (a if a.width > b.width else b) if a.width != b.width else Float16
    if a.is_float or b.is_float:
        number, integer = (a, b) if a.is_float else (b, a)
        if integer.width <= 8:
            return number
        return promote(number, {16: Float16, 32: Float32, 64: Float64}[integer.width])
    if a.width != b.width:
        return a if a.width > b.width else b
    return _SIGNED[a.width]
