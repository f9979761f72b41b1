"""Vectors of narrow numbers as wider ones, under upstream's names.
They take and give SSA values: `t.load().ir_value()`.

A kernel can as well write `t.load().to(cutlass.BFloat16)`, of which these are the parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import arithmetic, mlir
from dsl.core.number import conversion
from dsl.core.number.dtypes import BFloat16, Float4E2M1FN, Float16, Float32, Int4, Int8, Numeric
from dsl.core.phrase import shown


def _elements(vector: mlir.Value) -> list[mlir.Value]:
    def one(index: int) -> mlir.Value:
        position = mlir.ir.DenseI64ArrayAttr.get([index], mlir.context)
        return mlir.op("vector.extract", [vector.type.element_type], [vector], {"static_position": position}).results[0]

    return [one(index) for index in range(vector.type.shape[0])]


def _vector(elements: list[mlir.Value]) -> mlir.Value:
    return mlir.result("vector.from_elements", mlir.vector(elements[0].type, len(elements)), *elements)


def _check(vector: Any, source: type[Numeric], count: int | None, name: str) -> None:
    is_vector = isinstance(vector, mlir.Value) and isinstance(vector.type, mlir.ir.VectorType)
    if not is_vector or vector.type.element_type != source.carrier or count not in (None, vector.type.shape[0]):
        wanted = f"a vector of {source}" if count is None else f"a vector of {shown(count)} {source}"
        raise DSLUserCodeTypeError(
            f"{name} takes {wanted} as an SSA value, got "
            f"{vector.type if isinstance(vector, mlir.Value) else type(vector).__name__}",
            fix="t.load().ir_value()",
        )


def _fixed(name: str, source: type[Numeric], target: type[Numeric], count: int) -> Callable:
    def convert(vector: mlir.Value, *, with_shuffle: bool = False) -> mlir.Value:
        _check(vector, source, count, name)
        return _converted(vector, source, target, with_shuffle)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"{count} {source} as {target}."
    return convert


def _converted(
    vector: mlir.Value, source: type[Numeric], target: type[Numeric], with_shuffle: bool = False
) -> mlir.Value:
    if with_shuffle:
        raise DSLUserCodeValueError(
            "the order of with_shuffle=True is not part of this compiler",
            fix="leave with_shuffle out: the elements stay in order",
        )
    pairs = conversion.convert_pairs(_elements(vector), source, target)
    if pairs is not None:
        return _vector(pairs)
    return _vector([conversion.convert(element, source, target) for element in _elements(vector)])


cvt_i8x2_to_bf16x2, cvt_i8x4_to_bf16x4 = (_fixed(f"cvt_i8x{n}_to_bf16x{n}", Int8, BFloat16, n) for n in (2, 4))
cvt_i8x2_to_f32x2, cvt_i8x4_to_f32x4 = (_fixed(f"cvt_i8x{n}_to_f32x{n}", Int8, Float32, n) for n in (2, 4))
cvt_i4x2_to_bf16x2, cvt_i4x4_to_bf16x4, cvt_i4x8_to_bf16x8 = (
    _fixed(f"cvt_i4x{n}_to_bf16x{n}", Int4, BFloat16, n) for n in (2, 4, 8)
)
cvt_f4e2m1x2_to_f16x2, cvt_f4e2m1x4_to_f16x4, cvt_f4e2m1x8_to_f16x8 = (
    _fixed(f"cvt_f4e2m1x{n}_to_f16x{n}", Float4E2M1FN, Float16, n) for n in (2, 4, 8)
)
cvt_f32x2_bf16x2 = _fixed("cvt_f32x2_bf16x2", Float32, BFloat16, 2)


def cvt_i8_bf16(src_i8: mlir.Value) -> mlir.Value:
    """One Int8 as BFloat16."""
    return conversion.convert(src_i8, Int8, BFloat16)


def cvt_i4_bf16(src_i4: mlir.Value) -> mlir.Value:
    """One Int4 as BFloat16."""
    return conversion.convert(src_i4, Int4, BFloat16)


def cvt_i8_bf16_intrinsic(vec_i8: mlir.Value, length: int) -> mlir.Value:
    """`length` Int8 as BFloat16."""
    _check(vec_i8, Int8, length, "cvt_i8_bf16_intrinsic")
    return _converted(vec_i8, Int8, BFloat16)


def cvt_i4_bf16_intrinsic(vec_i4: mlir.Value, length: int, *, with_shuffle: bool = False) -> mlir.Value:
    """`length` Int4 as BFloat16."""
    _check(vec_i4, Int4, length, "cvt_i4_bf16_intrinsic")
    return _converted(vec_i4, Int4, BFloat16, with_shuffle)


def sext_unpacked_i4_i8_intrinsic(vec_unpacked_i4: mlir.Value, length: int) -> mlir.Value:
    """`length` Int4, each in the low bits of an Int8 whose other bits are 0, with their sign."""
    _check(vec_unpacked_i4, Int8, length, "sext_unpacked_i4_i8_intrinsic")
    eight = arithmetic.constant(8, vec_unpacked_i4.type)
    return arithmetic.binary("sub", arithmetic.binary("xor", vec_unpacked_i4, eight, False), eight, False)


def sext_unpacked_i4x4_to_i8x4(src_vec4: mlir.Value) -> mlir.Value:
    """Four of them."""
    return sext_unpacked_i4_i8_intrinsic(src_vec4, 4)
