"""Conversion of SSA values between numeric types.

Integers extend with the sign where both types are signed, else with zeros, and wrap when narrowed. Float to integer
truncates and saturates, NaN gives 0. Float8E5M2 and Float8E4M3FN are bits of an i8: a kernel converts them with cvt
(satfinite), a host function with the same result in integer arithmetic. Floats of 4 and 6 bits are converted as
vectors, two numbers an instruction, which GPUs have from sm_100a on.  PTX ISA: cvt.
"""

from __future__ import annotations

from dsl.core import number_rules
from dsl.core.errors import DSLUserCodeTypeError, warn_not_portable
from dsl.core.ir import arithmetic, mlir
from dsl.core.ir.mlir import Value
from dsl.core.number.float_formats import FORMATS
from dsl.core.phrase import Phrase
from dsl.core.state import in_kernel, this_thread

_CVT = {"Float8E5M2": "e5m2x2", "Float8E4M3FN": "e4m3x2"}
_NARROW = {"Float4E2M1FN": "e2m1x2", "Float6E2M3FN": "e2m3x2", "Float6E3M2FN": "e3m2x2"}


def is_bits(dtype) -> bool:
    """Whether values of `dtype` are bits in an integer, without their own arithmetic."""
    return dtype.is_float and isinstance(dtype.carrier, mlir.ir.IntegerType)


def convert(value: Value, source, target) -> Value:
    """`value` of numeric type `source` as `target`. Raises DSLUserCodeTypeError where no instruction does it."""
    if target.is_abstract:
        target.wrap(None)
    for dtype in (source, target):
        if is_bits(dtype) and dtype.__name__ not in _CVT:
            side = "source" if dtype is source else "destination"
            if dtype.__name__ in _NARROW:
                raise DSLUserCodeTypeError(
                    Phrase(
                        "Unsupported {side} float type: one {dtype} is not converted, vectors of them are",
                        side=side,
                        dtype=dtype,
                    ),
                    fix="convert a whole `t.load()`, in a kernel for sm_100a",
                )
            raise DSLUserCodeTypeError(
                Phrase(
                    "Unsupported {side} float type: {dtype} is a storage type without conversions",
                    side=side,
                    dtype=dtype,
                ),
                fix="use Float8E4M3FN or Float8E5M2",
            )
    if is_bits(source):
        return _from_float8(value, source, target)
    if is_bits(target):
        return _to_float8(value, source, target)
    if target.__name__ == "Boolean":
        return arithmetic.compare("ne", value, mlir.constant(0, value.type), source.signed)
    if target.__name__ == "Int4" and source.is_float:  # by way of 16 bits, which saturate; these wrap
        value = arithmetic.convert(value, mlir.i16, True, True)
    signed = source.signed and source.__name__ != "Boolean"
    both = target.signed or not target.is_integer or number_rules.current().extends_by_source
    return arithmetic.convert(value, target.carrier, signed and both, target.signed)


def convert_pairs(values: list[Value], source, target) -> list[Value] | None:
    """A vector's elements converted from or to floats of 4 or 6 bits, two an instruction;
    None where neither type is one.

    Raises DSLUserCodeError in host functions; a kernel is refused where it is compiled for less than sm_100a.
    """
    narrow = next((dtype for dtype in (source, target) if dtype.__name__ in _NARROW), None)
    if narrow is None:
        return None
    if not (source.is_float and target.is_float):
        raise DSLUserCodeTypeError(
            Phrase(
                "Unsupported conversion of {source} to {target}: no instruction does it", source=source, target=target
            ),
            fix=Phrase("go by Float32: `x.to(cutlass.Float32)`", "GO_BY_FLOAT32"),
        )
    if not in_kernel():
        raise DSLUserCodeTypeError(
            f"a host function does not convert from or to {narrow}", fix="convert in a kernel for sm_100a"
        )
    if (source.__name__, target.__name__) == ("Float16", "Float4E2M1FN"):
        warn_not_portable("a Float16 becomes a Float4E2M1FN", fix="go by Float32")
    this_thread.functions[-1].need("sm_100a", f"converts from or to {narrow}")
    if len(values) % 2:
        return (convert_pairs([*values, values[-1]], source, target) or [])[:-1]
    if source is narrow:
        halves = [half for k in range(0, len(values), 2) for half in _from_pair(values[k], values[k + 1], narrow)]
        return (
            halves
            if target.carrier == mlir.f16
            else [arithmetic.convert(half, target.carrier, True, target.signed) for half in halves]
        )
    wide = values if not is_bits(source) else [_from_float8(value, source, None) for value in values]
    numbers = [
        arithmetic.convert(value, mlir.f32, source.signed and source.__name__ != "Boolean", True) for value in wide
    ]
    return [code for k in range(0, len(numbers), 2) for code in _to_pair(numbers[k], numbers[k + 1], narrow)]


def _from_pair(low: Value, high: Value, narrow) -> list[Value]:
    step = 4 if narrow.width == 4 else 8
    moved = arithmetic.shift(
        "shl", mlir.result("arith.extui", mlir.i16, high), mlir.constant(step, mlir.i16), False, step
    )
    both = arithmetic.binary("or", mlir.result("arith.extui", mlir.i16, low), moved, False)
    pair = mlir.intrinsic(f"llvm.nvvm.{_NARROW[narrow.__name__]}.to.f16x2.rn", mlir.vector(mlir.f16, 2), both)
    return [_element(pair, 0), _element(pair, 1)]


def _to_pair(low: Value, high: Value, narrow) -> list[Value]:
    step = 4 if narrow.width == 4 else 8
    both = mlir.intrinsic(f"llvm.nvvm.ff.to.{_NARROW[narrow.__name__]}.rn.satfinite", mlir.i16, high, low)
    mask = mlir.constant((1 << narrow.width) - 1, mlir.i16)
    parts = both, arithmetic.shift("shr", both, mlir.constant(step, mlir.i16), False, step)
    return [mlir.result("arith.trunci", mlir.i8, arithmetic.binary("and", part, mask, False)) for part in parts]


def _element(vector: Value, index: int) -> Value:
    return mlir.op(
        "vector.extract",
        [mlir.f16],
        [vector],
        {"static_position": mlir.ir.DenseI64ArrayAttr.get([index], mlir.context)},
    ).results[0]


def _to_float8(value: Value, source, target) -> Value:
    cvt = _CVT[target.__name__]
    if in_kernel() and value.type == mlir.f16:
        pair = mlir.result("vector.from_elements", mlir.vector(mlir.f16, 2), value, mlir.constant(0.0, mlir.f16))
        return mlir.result("arith.trunci", mlir.i8, mlir.intrinsic(f"llvm.nvvm.f16x2.to.{cvt}.rn", mlir.i16, pair))
    number = arithmetic.convert(value, mlir.f32, source.signed and source.__name__ != "Boolean", True)
    if in_kernel():
        packed = mlir.intrinsic(f"llvm.nvvm.ff.to.{cvt}.rn", mlir.i16, mlir.constant(0.0, mlir.f32), number)
        return mlir.result("arith.trunci", mlir.i8, packed)
    return _encode(number, FORMATS[target.__name__])


def _from_float8(value: Value, source, target) -> Value:
    if in_kernel():
        packed = mlir.intrinsic(
            f"llvm.nvvm.{_CVT[source.__name__]}.to.f16x2.rn",
            mlir.vector(mlir.f16, 2),
            mlir.result("arith.extui", mlir.i16, value),
        )
        half = _element(packed, 0)
    else:
        half = _decode(value, FORMATS[source.__name__])
    if target is None:
        return half
    if is_bits(target):
        return half if source is target else _to_float8(half, source, target)
    if target.__name__ == "Boolean":
        return arithmetic.compare("ne", half, mlir.constant(0.0, mlir.f16), True)
    return arithmetic.convert(half, target.carrier, True, target.signed)


def _encode(number: Value, form) -> Value:
    """An f32 in an 8-bit format, to nearest even, saturating: adding a power of two rounds a subnormal result."""

    def integer(value: int) -> Value:
        return mlir.constant(value, mlir.i32)

    def binary(name: str, a: Value, b: Value | int) -> Value:
        return arithmetic.binary(name, a, b if isinstance(b, Value) else integer(b), False)

    drop = 23 - form.fraction_bits
    bits = mlir.result("arith.bitcast", mlir.i32, number)
    size = binary("and", bits, 0x7FFFFFFF)
    half = mlir.result("arith.shrui", mlir.i32, size, integer(drop))
    rounded = binary("add", binary("add", size, (1 << (drop - 1)) - 1), binary("and", half, 1))
    normal = binary(
        "sub", mlir.result("arith.shrui", mlir.i32, rounded, integer(drop)), (127 - form.bias) << form.fraction_bits
    )
    step = (127 + 1 - form.bias + drop) << 23  # the float whose last place is the format's smallest step
    sum_ = arithmetic.binary(
        "add", mlir.result("arith.bitcast", mlir.f32, size), mlir.result("arith.bitcast", mlir.f32, integer(step)), True
    )
    small = binary("sub", mlir.result("arith.bitcast", mlir.i32, sum_), step)
    code = arithmetic.select(arithmetic.compare("lt", size, integer((128 - form.bias) << 23), False), small, normal)
    code = arithmetic.select(
        arithmetic.compare("gt", size, integer(0x7F000000), False), integer(form.greatest_code), code
    )
    code = binary("min", code, form.greatest_code)
    code = arithmetic.select(arithmetic.compare("gt", size, integer(0x7F800000), False), integer(0x7F), code)
    sign = binary("and", mlir.result("arith.shrui", mlir.i32, bits, integer(24)), 0x80)
    sign = arithmetic.select(arithmetic.compare("gt", size, integer(0x7F800000), False), integer(0), sign)
    return mlir.result("arith.trunci", mlir.i8, binary("or", code, sign))


def decode(code: Value, form) -> Value:
    """An i32 that holds the bits of a format of finite numbers (4 and 6 bits), as f32."""
    size = arithmetic.binary("and", code, mlir.constant((1 << form.sign_bit) - 1, mlir.i32), False)
    moved = mlir.result("arith.shli", mlir.i32, size, mlir.constant(23 - form.fraction_bits, mlir.i32))
    scaled = arithmetic.binary(
        "mul", mlir.result("arith.bitcast", mlir.f32, moved), mlir.constant(2.0 ** (127 - form.bias), mlir.f32), True
    )
    negative = arithmetic.compare(
        "ne",
        arithmetic.binary("and", code, mlir.constant(1 << form.sign_bit, mlir.i32), False),
        mlir.constant(0, mlir.i32),
        False,
    )
    return arithmetic.select(negative, arithmetic.negate(scaled), scaled)


def _decode(code: Value, form) -> Value:
    """An 8-bit format as f16, which has all its values: the fraction moved up, the exponent's bias made good."""
    wide = mlir.result("arith.extui", mlir.i16, code)
    moved = mlir.result("arith.shli", mlir.i16, wide, mlir.constant(8 if form.exponent_bits == 5 else 7, mlir.i16))
    if form.exponent_bits == 5:
        return mlir.result("arith.bitcast", mlir.f16, moved)
    size = arithmetic.binary("and", moved, mlir.constant(0x3F80, mlir.i16), False)
    scaled = arithmetic.binary(
        "mul", mlir.result("arith.bitcast", mlir.f16, size), mlir.constant(2.0 ** (15 - form.bias), mlir.f16), True
    )
    sign = arithmetic.binary(
        "and",
        mlir.result("arith.shli", mlir.i16, wide, mlir.constant(8, mlir.i16)),
        mlir.constant(-0x8000, mlir.i16),
        False,
    )
    signed = arithmetic.binary("or", mlir.result("arith.bitcast", mlir.i16, scaled), sign, False)
    nan = arithmetic.compare("eq", size, mlir.constant(0x3F80, mlir.i16), False)
    return mlir.result("arith.bitcast", mlir.f16, arithmetic.select(nan, mlir.constant(0x7FFF, mlir.i16), signed))
