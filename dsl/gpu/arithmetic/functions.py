"""The functions of `cute.math` on numbers: exact ones as operations, elementary ones as elementary.call, or as one
approximate instruction where `fastmath` or `approx` asks for it.  PTX ISA: Floating-Point Instructions.

`fastmath`, `approx` and `ftz` choose instructions for Float32 (Float16 and BFloat16 go through Float32); Float64 has no
approximate ones and keeps its accurate functions. A host function, which has none of these instructions, ignores them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from dsl.core import trace
from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import arithmetic, mlir
from dsl.core.number import elementary_functions, integer_power, operators
from dsl.core.number.conversion import is_bits
from dsl.core.number.dtypes import Boolean, Float32, Float64, Numeric, TFloat32, numeric
from dsl.core.phrase import Phrase, conversion
from dsl.gpu import inline

_LOG2_E, _LN_2, _LOG10_2 = 1.4426950408889634, 0.6931471805599453, 0.3010299956639812


class RoundingMode(enum.Enum):
    """The rounding of a result between two numbers.  PTX ISA: Rounding Modifiers."""

    NEAREST_EVEN = "rn"
    ZERO = "rz"
    UP = "rp"
    DOWN = "rm"


def _operands(name: str, *operands: Any, floats: bool = True) -> list[Numeric]:
    """The operands as numbers of one type. Raises DSLUserCodeTypeError for others."""
    numbers = [number for operand in operands if (number := numeric(operand)) is not None]
    if len(numbers) < len(operands):
        raise DSLUserCodeTypeError(
            f"{name} takes numbers, got {', '.join(map(operators.type_name, operands))}",
            fix="give numbers, or a TensorSSA: `x[i]`, or `x.load()` of a tensor in registers",
        )
    types = [type(number) for number in numbers]
    if len(set(types)) > 1:
        got = ", ".join(map(str, types))
        raise DSLUserCodeTypeError(
            f"All operands to {name} must have the same numeric type, got {got}",
            fix=Phrase("convert them, for example {conversion}", conversion=conversion(types[0])),
        )
    if is_bits(types[0]) or types[0] is TFloat32 or (floats and not types[0].is_float):
        raise DSLUserCodeTypeError(
            Phrase("{name} is only supported for floating-point types, got {dtype}", name=name, dtype=types[0]),
            fix=Phrase("convert it: {conversion}", conversion=conversion(Float32)),
        )
    return numbers


def _choose(name: str, x: Numeric, fastmath: bool, approx: bool, ftz: bool) -> str | None:
    """ ".approx.f" or ".approx.ftz.f" where one approximate instruction is asked for, else None."""
    if fastmath and ftz:
        raise DSLUserCodeValueError(
            f"{name}: fastmath and ftz are mutually exclusive", fix="pass approx=True with ftz=True"
        )
    if ftz and not approx:
        raise DSLUserCodeValueError(f"{name}: ftz requires approx=True", fix="pass approx=True as well")
    if not (fastmath or approx) or isinstance(x, Float64) or not trace.in_kernel():
        return None
    return ".approx.ftz.f" if ftz else ".approx.f"


def _instruction(name: str, *operands: Numeric) -> Numeric:
    """NVVM's intrinsic `name` on Float32, for operands of a narrower type too."""
    result = inline.intrinsic(f"nvvm.{name}", Float32, *map(Float32, operands))
    return type(operands[0])(result)


def _text(instruction: str, *operands: Numeric) -> Numeric:
    """A PTX instruction on Float32 that has no intrinsic."""
    places = ", ".join(f"${place}" for place in range(len(operands) + 1))
    result = inline.ptx(f"{instruction} {places};", Float32, "=f" + ",f" * len(operands), *map(Float32, operands))
    return type(operands[0])(result)


def _unary(name: str, x: Numeric) -> Numeric:
    """LLVM's intrinsic of one operand, which gives the type of the operand."""
    kind = type(x)
    return kind(mlir.intrinsic(f"llvm.{name}.{x.ir().type}", kind.carrier, x.ir()))


# --- elementary functions --------------------------------------------------------------------------------------------


def _accurate(name: str, *operands: Numeric) -> Numeric:
    return type(operands[0])(elementary_functions.call(name, *(operand.ir() for operand in operands)))


def _elementary(name: str, symbol: str = "") -> Callable:
    def function(x, fastmath=False):
        (x,) = _operands(name, x)
        return _accurate(symbol or name, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of a float; `fastmath` changes nothing."
    return function


acos, acosh, asin, asinh, atan, atanh, cbrt, cosh, erf, erfc, expm1, log1p, sinh = map(
    _elementary,
    ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cosh", "erf", "erfc", "expm1", "log1p", "sinh"),
)


def exp(x, fastmath=False):
    """e**x; `fastmath`: ex2.approx.ftz of x * log2(e)."""
    (x,) = _operands("exp", x)
    if _choose("exp", x, fastmath, False, False):
        return _instruction("ex2.approx.ftz.f32", Float32(x) * _LOG2_E).to(type(x))
    return _accurate("exp", x)


def exp2(x, fastmath=False, approx=False, ftz=False):
    """2**x: for Float32 ex2.approx (2 ulp), as upstream; `fastmath` and `ftz`: ex2.approx.ftz."""
    (x,) = _operands("exp2", x)
    _choose("exp2", x, fastmath, approx, ftz)
    if isinstance(x, Float64) or not trace.in_kernel():
        return _accurate("exp2", x)
    return _instruction("ex2.approx.ftz.f32" if fastmath or ftz else "ex2.approx.f32", x)


def exp10(x):
    """10**x."""
    (x,) = _operands("exp10", x)
    if isinstance(x, Float64) or not trace.in_kernel():
        return pow(type(x)(10.0), x)
    return _accurate("exp10", x)


def log(x, fastmath=False):
    """The natural logarithm; `fastmath`: lg2.approx.ftz times ln(2)."""
    (x,) = _operands("log", x)
    if _choose("log", x, fastmath, False, False):
        return (_instruction("lg2.approx.ftz.f", Float32(x)) * _LN_2).to(type(x))
    return _accurate("log", x)


def log2(x, fastmath=False, approx=False, ftz=False):
    """The logarithm to base 2; `fastmath`: lg2.approx.ftz, `approx`: lg2.approx."""
    (x,) = _operands("log2", x)
    if _choose("log2", x, fastmath, approx, ftz):
        return _instruction("lg2.approx.ftz.f" if fastmath or ftz else "lg2.approx.f", x)
    return _accurate("log2", x)


def log10(x, fastmath=False):
    """The logarithm to base 10; `fastmath`: lg2.approx times log10(2)."""
    (x,) = _operands("log10", x)
    if _choose("log10", x, fastmath, False, False):
        return (_instruction("lg2.approx.f", Float32(x)) * _LOG10_2).to(type(x))
    return _accurate("log10", x)


def sin(x, fastmath=False, approx=False, ftz=False):
    """The sine of radians; `fastmath` or `approx`: sin.approx."""
    (x,) = _operands("sin", x)
    chosen = _choose("sin", x, fastmath, approx, ftz)
    return _instruction("sin" + chosen, x) if chosen else _accurate("sin", x)


def cos(x, fastmath=False, approx=False, ftz=False):
    """The cosine of radians; `fastmath` or `approx`: cos.approx."""
    (x,) = _operands("cos", x)
    chosen = _choose("cos", x, fastmath, approx, ftz)
    return _instruction("cos" + chosen, x) if chosen else _accurate("cos", x)


def sincos(x, fastmath=False):
    """(sin(x), cos(x))."""
    return sin(x, fastmath), cos(x, fastmath)


def tan(x, fastmath=False):
    """The tangent of radians; `fastmath`: sin.approx by cos.approx, div.approx."""
    (x,) = _operands("tan", x)
    if _choose("tan", x, fastmath, False, False):
        wide = Float32(x)
        ratio = _instruction("div.approx.f", _instruction("sin.approx.f", wide), _instruction("cos.approx.f", wide))
        return ratio.to(type(x))
    return _accurate("tan", x)


def tanh(x, fastmath=False, approx=False):
    """The hyperbolic tangent; `fastmath` or `approx`: tanh.approx."""
    (x,) = _operands("tanh", x)
    return _text("tanh.approx.f32", x) if _choose("tanh", x, fastmath, approx, False) else _accurate("tanh", x)


def atan2(y, x, fastmath=False):
    """The angle of the point (x, y)."""
    return _accurate("atan2", *_operands("atan2", y, x))


def pow(base, exponent, fastmath=False):
    """base ** exponent; `fastmath`: ex2.approx(exponent * lg2.approx(base))."""
    base, exponent = _operands("pow", base, exponent, floats=False)
    if type(base).is_integer:
        return ipowi(base, exponent)
    if _choose("pow", base, fastmath, False, False):
        product = _instruction("lg2.approx.f", Float32(base)) * Float32(exponent)
        return _instruction("ex2.approx.f32", product).to(type(base))
    return _accurate("pow", base, exponent)


def ipowi(base, exponent):
    """Integer base ** integer exponent, wrapping; a negative exponent gives 0, except for 1 and -1."""
    (base,) = _operands("ipowi", base, floats=False)
    kind = type(base)
    if kind.is_float:
        return fpowi(base, exponent)
    return kind(integer_power.integer(base.ir(), kind(exponent).ir(), kind.signed))


def fpowi(base, exponent, fastmath=False):
    """Float base ** integer exponent."""
    (base,) = _operands("fpowi", base, floats=False)
    return ipowi(base, exponent) if type(base).is_integer else pow(base, type(base)(exponent), fastmath)


# --- algebra ---------------------------------------------------------------------------------------------------------


def _rounded(name: str, operands: list[Numeric], rounding: RoundingMode | None, ftz: bool) -> Numeric | None:
    """The instruction with an explicit mode or .ftz, or None where the plain operation will do."""
    if ((rounding is None or rounding is RoundingMode.NEAREST_EVEN) and not ftz) or not trace.in_kernel():
        return None
    mode = (rounding or RoundingMode.NEAREST_EVEN).value
    kind = type(operands[0])
    if kind is Float64 and not ftz:
        return Float64(mlir.intrinsic(f"llvm.nvvm.{name}.{mode}.d", mlir.f64, *(operand.ir() for operand in operands)))
    if kind is not Float32:
        raise DSLUserCodeTypeError(
            f"{name} has a rounding mode and ftz for Float32 only, got {kind}",
            fix=Phrase("convert it: {conversion}", conversion=conversion(Float32)),
        )
    return _instruction(f"{name}.{mode}{'.ftz' * ftz}.f", *operands)


def _no_both(name: str, fastmath: bool, ftz: bool) -> None:
    if fastmath and ftz:
        raise DSLUserCodeValueError(f"{name}: fastmath and ftz are mutually exclusive", fix="pass one of them")


def add(x, y, fastmath=False, rounding=None, ftz=False):
    """x + y."""
    _no_both("add", fastmath, ftz)
    x, y = _operands("add", x, y, floats=False)
    rounded = _rounded("add", [x, y], rounding, ftz)
    return x + y if rounded is None else rounded


def sub(x, y, fastmath=False):
    """x - y."""
    x, y = _operands("sub", x, y, floats=False)
    return x - y


def mul(x, y, fastmath=False, rounding=None, ftz=False):
    """x * y."""
    _no_both("mul", fastmath, ftz)
    x, y = _operands("mul", x, y, floats=False)
    rounded = _rounded("mul", [x, y], rounding, ftz)
    return x * y if rounded is None else rounded


def fma(a, b, c, fastmath=False, rounding=None, ftz=False):
    """a * b + c, rounded once; of integers, wrapping."""
    _no_both("fma", fastmath, ftz)
    a, b, c = _operands("fma", a, b, c, floats=False)
    if type(a).is_integer:
        return a * b + c
    rounded = _rounded("fma", [a, b, c], rounding, ftz)
    kind = type(a)
    if rounded is not None:
        return rounded
    return kind(mlir.intrinsic(f"llvm.fma.{a.ir().type}", kind.carrier, a.ir(), b.ir(), c.ir()))


def div(x, y, fastmath=False, approx=False, ftz=False, full=False, rounding=None):
    """x / y; of integers the quotient rounded down. `approx`: div.approx; `full`: div.full (2 ulp each)."""
    _no_both("div", fastmath, ftz)
    x, y = _operands("div", x, y, floats=False)
    if type(x).is_integer:
        return x // y
    if (approx or full) and trace.in_kernel() and not isinstance(x, Float64):
        if full:
            return _text("div.full.ftz.f32" if ftz else "div.full.f32", x, y)
        return _instruction("div.approx.ftz.f" if ftz else "div.approx.f", x, y)
    rounded = _rounded("div", [x, y], rounding, ftz)
    return x / y if rounded is None else rounded


def rem(x, y, fastmath=False):
    """The remainder of x / y rounded towards zero; it has the sign of x."""
    (x,) = _operands("rem", x, floats=False)
    kind = type(x)
    y = kind(y)
    if kind.is_float:
        return _accurate("fmod", x, y)
    return kind(arithmetic.divide_truncating(x.ir(), y.ir(), kind.signed)[1])


def rcp(x, fastmath=False, approx=False, rounding=None, ftz=False):
    """1 / x; `approx`: rcp.approx."""
    _no_both("rcp", fastmath, ftz)
    (x,) = _operands("rcp", x)
    if approx and trace.in_kernel() and not isinstance(x, Float64):
        return _instruction("rcp.approx.ftz.f", x) if ftz else _text("rcp.approx.f32", x)
    rounded = _rounded("rcp", [x], rounding, ftz)
    return type(x)(1.0) / x if rounded is None else rounded


def sqrt(x, fastmath=False, approx=False, ftz=False, rounding=None):
    """The square root; `fastmath`: sqrt.approx.ftz, `approx`: sqrt.approx."""
    _no_both("sqrt", fastmath, ftz)
    (x,) = _operands("sqrt", x)
    if (fastmath or approx) and trace.in_kernel() and not isinstance(x, Float64):
        return _instruction("sqrt.approx.ftz.f" if fastmath or ftz else "sqrt.approx.f", x)
    rounded = _rounded("sqrt", [x], rounding, ftz)
    return _unary("sqrt", x) if rounded is None else rounded


def rsqrt(x, fastmath=False, approx=False, ftz=False):
    """1 / sqrt(x): for Float32 rsqrt.approx (2 ulp), as upstream; `fastmath` and `ftz`: rsqrt.approx.ftz."""
    (x,) = _operands("rsqrt", x)
    _choose("rsqrt", x, fastmath, approx, ftz)
    if isinstance(x, Float64) or not trace.in_kernel():
        return type(x)(1.0) / _unary("sqrt", x)
    return _instruction("rsqrt.approx.ftz.f" if fastmath or ftz else "rsqrt.approx.f", x)


# --- signs, rounding, classes ----------------------------------------------------------------------------------------


def neg(x, fastmath=False):
    """-x."""
    return -_operands("neg", x, floats=False)[0]


def abs(x, fastmath=False, ftz=False):
    """|x|; `ftz` flushes a subnormal."""
    _no_both("abs", fastmath, ftz)
    (x,) = _operands("abs", x, floats=False)
    if ftz and isinstance(x, Float32) and trace.in_kernel():
        return _instruction("fabs.ftz.f", x)
    return x.__abs__()


def absi(x):
    """|x|."""
    return abs(x)


absf = abs


def copysign(mag, sign, fastmath=False):
    """|mag| with the sign of `sign`."""
    mag, sign = _operands("copysign", mag, sign)
    kind = type(mag)
    return kind(mlir.intrinsic(f"llvm.copysign.{mag.ir().type}", kind.carrier, mag.ir(), sign.ir()))


def _to_integral(name: str, intrinsic: str) -> Callable:
    def function(x, fastmath=False):
        (x,) = _operands(name, x)
        return _unary(intrinsic, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of a float, as a float."
    return function


ceil, floor, trunc, round, roundeven = (
    _to_integral(name, intrinsic)
    for name, intrinsic in (
        ("ceil", "ceil"),
        ("floor", "floor"),
        ("trunc", "trunc"),
        ("round", "round"),
        ("roundeven", "roundeven"),
    )
)


def _class_test(name: str, mask: int) -> Callable:
    def function(x, fastmath=False):
        (x,) = _operands(name, x)
        return Boolean(mlir.intrinsic(f"llvm.is.fpclass.{x.ir().type}", mlir.i1, x.ir(), mlir.constant(mask, mlir.i32)))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of a float, as a Boolean."
    return function


# --- extremes --------------------------------------------------------------------------------------------------------


def _extreme(name: str, x, y, ftz: bool, propagate_nan: bool) -> Numeric:
    x, y = _operands(name, x, y, floats=False)
    kind = type(x)
    if kind.is_integer:
        return operators.operate(name, x, y)
    if ftz and kind is Float32 and trace.in_kernel():
        return _instruction(f"f{name}.ftz{'.nan' * propagate_nan}.f", x, y)
    a, b = x.ir(), y.ir()
    kept = arithmetic.select(arithmetic.compare("ge" if name == "max" else "le", b, a, True), b, a)
    return kind(arithmetic.select(mlir.result("arith.cmpf", mlir.i1, a, a, predicate=mlir.int_attr(14)), b, kept))


def max(x, y, propagate_nan=False, ftz=False):
    """The larger; a NaN gives way to the other operand (upstream's `propagate_nan` works with ftz only)."""
    return _extreme("max", x, y, ftz, propagate_nan)


def min(x, y, propagate_nan=False, ftz=False):
    """The smaller; a NaN gives way to the other operand (upstream's `propagate_nan` works with ftz only)."""
    return _extreme("min", x, y, ftz, propagate_nan)


def clamp(x, lo, hi, fastmath=False, propagate_nan=False, ftz=False):
    """x, but not below `lo` nor above `hi`."""
    return min(max(x, lo, propagate_nan, ftz), hi, propagate_nan, ftz)


isfinite, isinf, isnan, isnormal = (
    _class_test(name, mask)
    for name, mask in (("isfinite", 0x1F8), ("isinf", 0x204), ("isnan", 0x003), ("isnormal", 0x108))
)
