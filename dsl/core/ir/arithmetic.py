"""Arithmetic on SSA values, scalars and vectors alike: one row an operation, integer and float spellings side by side.

Nothing here is left to LLVM's undefined behaviour: a dynamic divisor and a dynamic shift amount are guarded with what
PTX defines (shifts clamp at the width; x / 0 is all ones, x % 0 is x, INT_MIN / -1 wraps).  PTX ISA: shl, shr, div,
rem.
"""

from __future__ import annotations

from dsl.core.ir import mlir
from dsl.core.ir.mlir import Value

# name: (signed integer op, unsigned integer op, float op); None where the operation does not exist.
BINARY = {
    "add": ("arith.addi", "arith.addi", "arith.addf"),
    "sub": ("arith.subi", "arith.subi", "arith.subf"),
    "mul": ("arith.muli", "arith.muli", "arith.mulf"),
    "div": (None, None, "arith.divf"),
    "and": ("arith.andi", "arith.andi", None),
    "or": ("arith.ori", "arith.ori", None),
    "xor": ("arith.xori", "arith.xori", None),
    "min": ("arith.minsi", "arith.minui", "arith.minnumf"),
    "max": ("arith.maxsi", "arith.maxui", "arith.maxnumf"),
    "rem": (None, None, "arith.remf"),
}
# name: (signed predicate, unsigned predicate, float predicate) of arith.cmpi and arith.cmpf; NaN compares unequal.
COMPARE = {"eq": (0, 0, 1), "ne": (1, 1, 13), "lt": (2, 6, 4), "le": (3, 7, 5), "gt": (4, 8, 2), "ge": (5, 9, 3)}


def element(type_: mlir.Type) -> mlir.Type:
    """The type of one element of a vector type; a scalar type is its own."""
    return type_.element_type if isinstance(type_, mlir.ir.VectorType) else type_


def with_element(type_: mlir.Type, element_type: mlir.Type) -> mlir.Type:
    """`type_` with elements of `element_type`."""
    return mlir.vector(element_type, type_.shape[0]) if isinstance(type_, mlir.ir.VectorType) else element_type


def constant(number: int | float, type_: mlir.Type) -> Value:
    """A constant; of a vector type, with `number` in every element."""
    if not isinstance(type_, mlir.ir.VectorType):
        return mlir.constant(number, type_)
    if isinstance(type_.element_type, mlir.ir.IntegerType):
        assert not isinstance(number, float)
        element = mlir.int_attr(number, type_.element_type)
    else:
        element = mlir.float_attr(number, type_.element_type)
    splat = mlir.ir.DenseElementsAttr.get_splat(type_, element)
    return mlir.result("arith.constant", type_, value=splat)


def _intrinsic(name: str, result_type: mlir.Type, *operands: Value, suffixes: tuple[mlir.Type, ...]) -> Value:
    return mlir.intrinsic(".".join(("llvm", name, *map(_suffix, suffixes))), result_type, *operands)


def _suffix(type_: mlir.Type) -> str:
    """How LLVM names a type in an intrinsic: f32, v4f32."""
    return f"v{type_.shape[0]}{type_.element_type}" if isinstance(type_, mlir.ir.VectorType) else str(type_)


def is_float(value: Value) -> bool:
    return not isinstance(element(value.type), mlir.ir.IntegerType)


def binary(name: str, a: Value, b: Value, signed: bool) -> Value:
    """`a name b` for operands of one type."""
    return mlir.result(BINARY[name][2 if is_float(a) else 0 if signed else 1], a.type, a, b)


def compare(name: str, a: Value, b: Value, signed: bool) -> Value:
    """`a name b` as an i1, or a vector of them."""
    truth = with_element(a.type, mlir.i1)
    signed_predicate, unsigned_predicate, float_predicate = COMPARE[name]
    if is_float(a):
        return mlir.result("arith.cmpf", truth, a, b, predicate=mlir.int_attr(float_predicate))
    predicate = signed_predicate if signed else unsigned_predicate
    return mlir.result("arith.cmpi", truth, a, b, predicate=mlir.int_attr(predicate))


def select(condition: Value, a: Value, b: Value) -> Value:
    return mlir.result("arith.select", a.type, condition, a, b)


def _constant_like(value: Value, number: int) -> Value:
    return constant(number, value.type)


def _safe_divisor(a: Value, b: Value, signed: bool, static_divisor: int | None) -> tuple[Value, Value | None]:
    """A divisor LLVM may divide by, and the i1 that is true if the real one was zero (None if it cannot be)."""
    if static_divisor not in (None, 0, -1):
        return b, None
    is_zero = compare("eq", b, _constant_like(b, 0), signed)
    safe = select(is_zero, _constant_like(b, 1), b)
    if signed:
        lowest = _constant_like(a, -(1 << (element(a.type).width - 1)))
        overflows = binary("and", compare("eq", a, lowest, True), compare("eq", b, _constant_like(b, -1), True), True)
        safe = select(overflows, _constant_like(b, 1), safe)
    return safe, is_zero


def divide_truncating(a: Value, b: Value, signed: bool, static_divisor: int | None = None) -> tuple[Value, Value]:
    """Integer quotient rounded towards zero, and its remainder."""
    divisor, is_zero = _safe_divisor(a, b, signed, static_divisor)
    quotient = mlir.result("arith.divsi" if signed else "arith.divui", a.type, a, divisor)
    remainder = mlir.result("arith.remsi" if signed else "arith.remui", a.type, a, divisor)
    if is_zero is not None:
        quotient = select(is_zero, _constant_like(a, -1), quotient)
        remainder = select(is_zero, a, remainder)
    return quotient, remainder


def divide_floor(a: Value, b: Value, signed: bool, static_divisor: int | None = None) -> Value:
    """Integer quotient rounded down; float quotient rounded down."""
    if is_float(a):
        return _intrinsic("floor", a.type, binary("div", a, b, True), suffixes=(a.type,))
    quotient, remainder = divide_truncating(a, b, signed, static_divisor)
    if not signed:
        return quotient
    inexact = compare("ne", remainder, _constant_like(a, 0), True)
    signed_like_a = remainder if static_divisor else a  # of a constant, LLVM knows the remainder's form as a shift
    opposite = compare("lt", binary("xor", signed_like_a, b, True), _constant_like(a, 0), True)
    if static_divisor is None or static_divisor == 0:
        inexact = binary("and", inexact, compare("ne", b, _constant_like(b, 0), True), True)
    lower = binary("sub", quotient, _constant_like(a, 1), True)
    return select(binary("and", inexact, opposite, True), lower, quotient)


def modulo_floor(a: Value, b: Value, signed: bool, static_divisor: int | None = None) -> Value:
    """`a - b * floor(a / b)`: it has the sign of `b`. x % 0 is x for integers, NaN for floats."""
    if is_float(a):
        quotient = divide_floor(a, b, signed)
        return binary("sub", a, binary("mul", b, quotient, True), True)
    remainder = divide_truncating(a, b, signed, static_divisor)[1]
    if not signed:
        return remainder
    signed_like_a = remainder if static_divisor else a
    other_sign = compare("lt", binary("xor", signed_like_a, b, True), _constant_like(a, 0), True)
    wanted = binary("and", other_sign, compare("ne", remainder, _constant_like(a, 0), True), True)
    if static_divisor is None or static_divisor == 0:
        wanted = binary("and", wanted, compare("ne", b, _constant_like(b, 0), True), True)
    return select(wanted, binary("add", remainder, b, True), remainder)


def shift(name: str, a: Value, amount: Value, signed: bool, static_amount: int | None = None) -> Value:
    """`shl`, or `shr` (arithmetic where `signed`); amounts at or past the width shift everything out."""
    width = element(a.type).width
    spelled = {"shl": "arith.shli", "shr": "arith.shrsi" if signed else "arith.shrui"}[name]
    if static_amount is not None and 0 <= static_amount < width:
        return mlir.result(spelled, a.type, a, amount)
    inside = compare("lt", amount, _constant_like(amount, width), False)
    if name == "shr" and signed:
        clamped = select(inside, amount, _constant_like(amount, width - 1))
        return mlir.result(spelled, a.type, a, clamped)
    if width == 64:  # LLVM 22 makes a PTX shift of the same amount, cut to 32 bits, of a select between the two
        safe = binary("and", amount, _constant_like(amount, width - 1), False)
    else:
        safe = select(inside, amount, _constant_like(amount, 0))
    shifted = mlir.result(spelled, a.type, a, safe)
    return select(inside, shifted, _constant_like(a, 0))


def negate(a: Value) -> Value:
    if is_float(a):
        return mlir.result("arith.negf", a.type, a)
    return mlir.result("arith.subi", a.type, _constant_like(a, 0), a)


def absolute(a: Value, signed: bool) -> Value:
    if is_float(a):
        return _intrinsic("fabs", a.type, a, suffixes=(a.type,))
    return select(compare("lt", a, _constant_like(a, 0), True), negate(a), a) if signed else a


def convert(a: Value, to: mlir.Type, from_signed: bool, to_signed: bool) -> Value:
    """Conversion to elements of type `to`: integers wrap, float to integer saturates (NaN gives 0).  PTX ISA: cvt."""
    from_element, to_element, to = element(a.type), to, with_element(a.type, to)
    if a.type == to:
        return a
    from_float, to_float = is_float(a), not isinstance(to_element, mlir.ir.IntegerType)
    if from_float and to_float:
        return _convert_float(a, to_element)
    if from_float:
        return _intrinsic(f"fpto{'s' if to_signed else 'u'}i.sat", to, a, suffixes=(to, a.type))
    if to_float:
        return mlir.result("arith.sitofp" if from_signed else "arith.uitofp", to, a)
    if to_element.width < from_element.width:
        return mlir.result("arith.trunci", to, a)
    return mlir.result("arith.extsi" if from_signed else "arith.extui", to, a)


def _convert_float(a: Value, to: mlir.Type) -> Value:
    width, to_width = element(a.type).width, to.width
    if width == to_width:  # no instruction converts f16 <-> bf16
        return _convert_float(_convert_float(a, mlir.f32), to)
    return mlir.result("arith.extf" if to_width > width else "arith.truncf", with_element(a.type, to), a)
