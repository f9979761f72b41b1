"""The numeric types: a table, promotion rules, and values that are static or dynamic.

A value holds a Python number (static, known while tracing) or an SSA value (dynamic). Operators fold static operands
and emit ops otherwise. A static float is not rounded before it becomes part of the code, as upstream. Rules are those
measured of release 4.8.1 of NVIDIA's compiler (docs/types.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, overload

from dsl.core import number_rules
from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import mlir, zero_bits
from dsl.core.number import conversion, static_value
from dsl.core.number.float_formats import FORMATS, round_to
from dsl.core.number.numeric_type import NumericMeta
from dsl.core.number.type_name import type_name
from dsl.core.phrase import STATIC_PARAMETER, Phrase, cast, conversion as conversion_to, dynamic, shown

_INSTEAD = {
    "a bool": (
        "decide in an `if` statement of a @cute.jit or @cute.kernel function, or {parameter}",
        "DECIDE_IN_IF",
        "",
    ),
    "an int": ("use it as it is (`cutlass.{dtype}(x)` converts), or {parameter}", "USE_AS_IT_IS", "Int32"),
    "an index": ("compute with it in the kernel, or {parameter}", "COMPUTE_IN_KERNEL", ""),
    "a float": ("use it as it is (`cutlass.{dtype}(x)` converts), or {parameter}", "USE_AS_IT_IS", "Float32"),
}


class Numeric(metaclass=NumericMeta):
    """A typed number. `Int32(5)` is static; an argument or the result of an op on one is dynamic."""

    __slots__ = ("value", "owner", "known_divisor", "is_literal")
    width = 8  # bits of the value
    storage_width: int  # bits one element takes in memory: below 8, parts of a byte, the first in the low bits
    signed = True
    is_integer = is_float = False
    format: str | None  # struct format of a host argument slot; None where the type cannot be an argument
    numpy_name: str | None = None
    carrier: mlir.Type  # the MLIR type of its SSA values: bits, where MLIR has no arithmetic on the type
    _exact_range: tuple[int, int] | None = None

    if TYPE_CHECKING:  # value.py sets the operators, subclasses that have static values `wrapped`
        value: Any
        owner: Any
        known_divisor: int
        is_literal: bool  # the author wrote it as a constant: TIRx does not let a conversion wrap it

        @classmethod
        def wrapped(cls, value: Any) -> Any: ...

        truncated_divmod: ClassVar[Callable[[Any, Any], tuple[Numeric, Numeric]]]

        def __eq__(self, other: object) -> Any: ...
        def __ne__(self, other: object) -> Any: ...
        def _with(self, other: Any) -> Any: ...
        def _alone(self) -> Any: ...

        __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = __matmul__ = _with
        __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __rmatmul__ = _with
        __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = _with
        __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = _with
        __lt__ = __le__ = __gt__ = __ge__ = _with
        __neg__ = __pos__ = __abs__ = __invert__ = _alone

    def __init__(self, value: Any):
        if isinstance(value, mlir.Value):
            self.value, self.owner = getattr(value, "plain", value), mlir.current_function()
        elif isinstance(value, Numeric):
            self.value, self.owner = value.convert_value(type(self)), mlir.current_function()
            if (
                (divisor := getattr(value, "known_divisor", 0))
                and type(self).is_integer
                and type(self).width == type(value).width
            ):
                self.known_divisor = divisor
        elif isinstance(value, (bool, int, float)):
            self.value = self.wrap(value)
        elif hasattr(value, "__index__") and not isinstance(value, type) and not getattr(value, "ndim", 0):
            self.value = self.wrap(value.__index__())
        elif hasattr(value, "__float__") and not isinstance(value, type) and not getattr(value, "ndim", 0):
            self.value = self.wrap(value.__float__())
        else:
            raise DSLUserCodeTypeError(
                Phrase("{value} is not a number that {type} can hold", value=type_name(value), type=type(self)),
                fix="give a number, or an element of the tensor: `x[i]`",
            )

    @property
    def mlir_type(self) -> mlir.Type:
        return self.carrier

    @classmethod
    def storage_type(cls) -> mlir.Type:
        """The MLIR type of one element in memory (a Boolean is a byte); of elements smaller than a byte, a byte."""
        return mlir.i8 if cls is Boolean or cls.is_packed else cls.mlir_type

    @classmethod
    def wrap(cls, value: Any) -> Any:
        """`value` as this type holds it: integers modulo 2**width, floats rounded."""
        raise DSLUserCodeTypeError(
            Phrase("{type} has no values itself; use one of its concrete types", type=cls),
            fix="write Int32(x), Float32(x), ...",
        )

    @property
    def dtype(self) -> type[Numeric]:
        return type(self)

    @classmethod
    def recast_width(cls, width: int) -> type[Numeric]:
        """The type of this kind and sign that is `width` bits wide. Raises DSLUserCodeTypeError where there is none."""
        prefix = "Float" if cls.is_float else "Int" if cls.signed else "Uint"
        dtype = _NAMED.get(f"{prefix}{width}")
        if dtype is None:
            raise DSLUserCodeTypeError(
                f"there is no {prefix} of {width} bits", fix="write a width that CuTe DSL has: docs/types.md"
            )
        return dtype

    @classmethod
    def from_python(cls, value: bool | int | float) -> type[Numeric]:
        """The type a Python number takes."""
        dtype = of_python(value)
        if dtype is None:
            raise DSLUserCodeTypeError(
                Phrase("{type} is not a Python number", type=type(value)), fix="give an int, a float or a bool"
            )
        return dtype

    def convert_value(self, to: type[Numeric]):
        """This value as `to` holds it: a Python number or an SSA value. Extension is signed where both types are."""
        if not isinstance(self.value, mlir.Value):
            if to.is_abstract:
                to.wrap(self.value)
            if to.is_integer and to._exact_range is None:  # such a type has no static values
                return mlir.constant(int(self.value), to.carrier)
            return to.wrapped(self.value) if to.is_integer and type(self).is_integer else to.wrap(self.value)
        value = mlir.owned(self.value, self.owner)
        return value if to is type(self) else conversion.convert(value, type(self), to)

    def to(self, dtype: type[Numeric]):
        """This number as `dtype`; `to(int)` and `to(float)` give a Python number and need a static one."""
        if not isinstance(dtype, NumericMeta) and dtype not in (int, float, bool):
            raise DSLUserCodeTypeError(
                Phrase("`.to()` takes a numeric type, got {got!r}", got=dtype),
                fix=Phrase("for example {conversion}", conversion=conversion_to(Float32)),
            )
        return dtype(self)

    def bitcast(self, dtype: type[Numeric]) -> Numeric:
        """The same bits as a `dtype` of the same width."""
        if type(self).width != dtype.width:
            raise DSLUserCodeValueError(
                Phrase(
                    "{type:a} has {width} bits, but {dtype:a} has {other_width}: bits can only be read as a type of "
                    "the same width",
                    type=type(self),
                    width=type(self).width,
                    dtype=dtype,
                    other_width=dtype.width,
                ),
                fix="convert it to a type of that width first",
            )
        bits = self.ir()
        return dtype(bits if bits.type == dtype.carrier else mlir.result("arith.bitcast", dtype.carrier, bits))

    @property
    def divisibility(self) -> int:
        """A number this is known to be a multiple of: from `assume`, and from sums and products of such numbers."""
        return getattr(self, "known_divisor", 1)

    def with_divisibility(self, divisor: int) -> Numeric:
        """The same value, assumed to be a multiple of `divisor`."""
        assumed = object.__new__(type(self))
        assumed.value, assumed.owner, assumed.known_divisor = self.value, mlir.current_function(), divisor
        if divisor > 1 and isinstance(self.value, mlir.Value):
            zero_bits.note(self.value, divisor)
        return assumed

    def ir(self) -> mlir.Value:
        """The SSA value; a static number becomes a constant."""
        if isinstance(self.value, mlir.Value):
            return mlir.owned(self.value, self.owner)
        return mlir.constant(type(self).constant_of(self.value), self.carrier)

    @classmethod
    def constant_of(cls, value) -> int | float:
        """The constant for the static `value` in code and in memory: bits, if the carrier is an integer."""
        return int(value)

    def with_ir(self, value: mlir.Value) -> Numeric:
        return type(self)(value)

    def type_key(self) -> Any:
        return type(self)

    def ir_type(self) -> mlir.Type:
        return self.mlir_type

    def ir_value(self, *, loc=None, ip=None) -> mlir.Value:
        """The SSA value; `loc` and `ip` are parameters of upstream, not used here."""
        return self.ir()

    def __repr__(self) -> str:
        name = type(self).__name__
        return name if isinstance(self.value, mlir.Value) else f"{name}({self.value!r})"

    def __str__(self) -> str:
        return type(self).__name__ if isinstance(self.value, mlir.Value) else str(self.value)

    def __format__(self, spec: str) -> str:
        return str(self) if isinstance(self.value, mlir.Value) else format(self.value, spec)

    def __hash__(self) -> int:
        return id(self.value) if isinstance(self.value, mlir.Value) else hash(self.value)

    def _static(self, what: str, instead: str = ""):
        if isinstance(self.value, mlir.Value):
            fix, kind, name = _INSTEAD[instead or what]
            raise DSLUserCodeTypeError(
                Phrase(
                    "is {type}: its value is not known while compiling, but Python needs {what}",
                    type=dynamic(type(self)),
                    what=what,
                ),
                fix=Phrase(fix, kind, parameter=STATIC_PARAMETER, dtype=globals().get(name)),
                id="PHASE_DYNAMIC_TO_STATIC_BOOL" if what == "a bool" else "PHASE_DYNAMIC_INDEX",
            )
        return self.value

    def __bool__(self) -> bool:
        return bool(self._static("a bool"))

    def __index__(self) -> int:
        value = self._static("an int", "an index")
        if isinstance(value, float):
            raise DSLUserCodeTypeError(
                Phrase("{type} cannot be an index", type=type(self)), fix=Phrase("convert it: {cast}", cast=cast(Int32))
            )
        return int(value)

    def __int__(self) -> int:
        return int(self._static("an int"))

    def __float__(self) -> float:
        return float(self._static("a float"))


class Integer(Numeric):
    __slots__ = ()
    is_integer = True
    width = 32

    @classmethod
    def wrap(cls, value: Any) -> Any:
        return static_value.of_integer(cls, value) if cls is not Integer else super().wrap(value)

    @classmethod
    def wrapped(cls, value: int) -> int:
        """`value` modulo 2**width, silently: what an operator gives."""
        assert cls._exact_range is not None
        low, high = cls._exact_range
        return (value - low) % (high - low + 1) + low


class Float(Numeric):
    __slots__ = ()
    is_float = True
    width = 32

    @classmethod
    def wrap(cls, value: Any) -> Any:
        """As it is; `constant_of` rounds it."""
        return static_value.of_float(cls, value) if cls is not Float else super().wrap(value)

    @classmethod
    def constant_of(cls, value) -> int | float:
        if isinstance(cls.carrier, mlir.ir.IntegerType):
            return FORMATS[cls.__name__].encode(value)
        return round_to(value, cls.__name__)


_FORMATS = {8: "bB", 16: "hH", 32: "iI", 64: "qQ"}
_CARRIERS = {4: mlir.i4, 8: mlir.i8, 16: mlir.i16, 32: mlir.i32, 64: mlir.i64, 128: mlir.i128}


def _integer(width: int, signed: bool = True) -> type[Integer]:
    has_format = width in _FORMATS
    bounds = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    return NumericMeta(
        f"{'Int' if signed else 'Uint'}{width}",
        (Integer,),
        {
            "__slots__": (),
            "__module__": __name__,
            "width": width,
            "storage_width": width,
            "signed": signed,
            "carrier": _CARRIERS[width],
            "format": _FORMATS[width][not signed] if has_format else None,
            "numpy_name": f"{'' if signed else 'u'}int{width}" if has_format else None,
            "_exact_range": bounds if has_format else None,
        },
    )


def _float(
    name: str, width: int, carrier: mlir.Type, format: str | None = None, numpy_name: str | None = None
) -> type[Float]:
    return NumericMeta(
        name,
        (Float,),
        {
            "__slots__": (),
            "__module__": __name__,
            "width": width,
            "storage_width": width,
            "carrier": carrier,
            "format": format,
            "numpy_name": numpy_name,
        },
    )


if TYPE_CHECKING:  # a checker does not run what makes them: for it each is the family of all
    Int4 = Numeric
    Int8 = Numeric
    Int16 = Numeric
    Int32 = Numeric
    Int64 = Numeric
    Int128 = Numeric
    Uint8 = Numeric
    Uint16 = Numeric
    Uint32 = Numeric
    Uint64 = Numeric
    Uint128 = Numeric
    Float16 = Numeric
    BFloat16 = Numeric
    TFloat32 = Numeric
    Float32 = Numeric
    Float64 = Numeric
    Float8E5M2 = Numeric
    Float8E4M3 = Numeric
    Float8E4M3FN = Numeric
    Float8E4M3B11FNUZ = Numeric
    Float8E8M0FNU = Numeric
    Float6E3M2FN = Numeric
    Float6E2M3FN = Numeric
    Float4E2M1FN = Numeric
    Float4E2M1FNx2 = Numeric
    FloatNV8E5M3FNU = Numeric
    Float6E3M2FNx4 = Numeric
    Float6E2M3FNx4 = Numeric
else:
    Int4, Int8, Int16, Int32, Int64, Int128 = (_integer(width) for width in (4, 8, 16, 32, 64, 128))
    Uint8, Uint16, Uint32, Uint64, Uint128 = (_integer(width, signed=False) for width in (8, 16, 32, 64, 128))
    Float16 = _float("Float16", 16, mlir.f16, "e", "float16")
    BFloat16 = _float("BFloat16", 16, mlir.bf16, "H")
    TFloat32 = _float("TFloat32", 32, mlir.f32, "f")
    Float32 = _float("Float32", 32, mlir.f32, "f", "float32")
    Float64 = _float("Float64", 64, mlir.f64, "d", "float64")
    Float8E5M2, Float8E4M3, Float8E4M3FN, Float8E4M3B11FNUZ, Float8E8M0FNU = (
        _float(f"Float8{name}", 8, mlir.i8, "B") for name in ("E5M2", "E4M3", "E4M3FN", "E4M3B11FNUZ", "E8M0FNU")
    )
    Float6E3M2FN, Float6E2M3FN, Float4E2M1FN = (
        _float(name, int(name[5]), mlir.i8) for name in ("Float6E3M2FN", "Float6E2M3FN", "Float4E2M1FN")
    )
    Float4E2M1FNx2, FloatNV8E5M3FNU = _float("Float4E2M1FNx2", 8, mlir.i8), _float("FloatNV8E5M3FNU", 8, mlir.i8)
    Float6E3M2FNx4, Float6E2M3FNx4 = _float("Float6E3M2FNx4", 24, mlir.i32), _float("Float6E2M3FNx4", 24, mlir.i32)


class Boolean(Integer):
    __slots__ = ()
    width, storage_width, format, numpy_name, signed = 1, 8, "?", "bool", False
    carrier, _exact_range = mlir.i1, (0, 1)

    @classmethod
    def wrap(cls, value):
        return bool(value)

    wrapped = wrap


_NAMED: dict[str, type[Numeric]] = {
    name: each for name, each in globals().items() if isinstance(each, type) and issubclass(each, Numeric)
}


def dtype(dtype_: str) -> type[Numeric]:
    """The type called `dtype_`, as `Int32`. Raises TypeError for other names."""
    numeric_type = _NAMED.get(dtype_) if isinstance(dtype_, str) else None
    if numeric_type is None or numeric_type is Boolean or numeric_type.is_abstract:
        raise DSLUserCodeTypeError(
            f"can't interpret {shown(dtype_)} as data type",
            fix=Phrase("name a type as cutlass does: `Float32`", "IN_CUTE"),
        )
    return numeric_type


def of_python(value: Any) -> type[Numeric] | None:
    """The type a Python number takes among traced values: bool Boolean, int Int32 (Int64 past it), float Float32."""
    if isinstance(value, bool):
        return Boolean
    if isinstance(value, int):
        return Int32 if -(1 << 31) <= value < (1 << 31) else Int64
    return Float32 if isinstance(value, float) else None


@overload
def numeric(value: Numeric | bool | int | float) -> Numeric: ...
@overload
def numeric(value: Any) -> Numeric | None: ...
def numeric(value: Any) -> Numeric | None:
    """`value` as a Numeric, or None if it is not a number."""
    if isinstance(value, Numeric):
        return value
    if (own := number_rules.current().number) is not None:
        return own(value)
    if (dtype := of_python(value)) is not None:
        return dtype(value)
    as_number = getattr(type(value), "as_number", None)  # of ssa_number.SsaNumber
    return None if as_number is None else as_number(value)


def static_int(value: Any) -> int | None:
    """`value` as an int where it is an integer known while compiling; None for any other."""
    known = getattr(numeric(value), "value", None)
    return known if isinstance(known, int) else None


def literal_as(value: Any, wanted: Any) -> Numeric | None:
    """A static integer in another integer type that holds it; None where that is not possible."""
    if not isinstance(value, (Int32, Int64)) or is_dynamic(value) or wanted is Boolean:
        return None
    if not isinstance(wanted, NumericMeta) or not wanted.is_integer:
        return None
    bits = wanted.width - wanted.signed
    return wanted(value) if -(wanted.signed << bits) <= value.value < 1 << bits else None


def is_dynamic(value: Any) -> bool:
    """Whether `value` is a number known only at run time."""
    return isinstance(value, Numeric) and isinstance(value.value, mlir.Value)


def is_static(value: Any) -> bool:
    return not is_dynamic(value)


def promote(a: type[Numeric], b: type[Numeric]) -> type[Numeric]:
    """The type in which `a op b` is computed. Raises DSLUserCodeTypeError where the two have none."""
    if a is b:
        return a
    if (own := number_rules.current().promote) is not None:
        return own(a, b)
    if a.is_float and b.is_float:
        return _promote_floats(a, b)
    if a.is_float or b.is_float:
        number, integer = (a, b) if a.is_float else (b, a)
        if integer.width <= 8 and number.width > 8:
            return number
        partner = {16: Float16, 32: Float32, 64: Float64}.get(integer.width)
        if partner is None:
            raise DSLUserCodeTypeError(
                Phrase("{a} and {b} have no common type", a=a, b=b),
                fix=Phrase("convert one, for example {conversion}", conversion=conversion_to(Float32)),
            )
        return promote(number, partner)
    if a.width != b.width:
        return a if a.width > b.width else b
    return b if a.signed else a


def _promote_floats(a: type[Numeric], b: type[Numeric]) -> type[Numeric]:
    if {a, b} == {Float32, TFloat32}:
        return Float32
    if a.width != b.width:
        return a if a.width > b.width else b
    if a.width <= 8:
        raise DSLUserCodeValueError(f"{a} and {b} have no common type", fix="convert both, for example to Float16")
    return Float16
