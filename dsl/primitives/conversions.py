"""Conversions between numbers of other widths, packed ones among them, and sums of packed products.

PTX ISA: cvt, dp4a, dp2a. The first of two floats that become one word is the high half; packed ones keep theirs.
"""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number.dtypes import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Int8, Int16, Int32, Numeric
from dsl.core.number.operators import type_name
from dsl.core.phrase import shown
from dsl.primitives.enums import DotAccumulateType, FPRoundingMode, IntRoundingMode, SaturationMode
from dsl.primitives.operands import needs_blackwell, run, static, word
from dsl.primitives.vector import Vector

_F8 = {Float8E4M3FN: "e4m3x2", Float8E5M2: "e5m2x2"}
_HALVES = {Float16: "f16x2", BFloat16: "bf16x2"}


def _rounding(rnd: Any, known: str) -> str:
    """The qualifier of a rounding mode, one of `known`."""
    if rnd is None:
        raise DSLUserCodeValueError("this conversion takes a rounding mode", fix=f'rnd="{known.split()[0]}"')
    name = word(rnd, FPRoundingMode, "rnd")
    if name == "rs":
        raise needs_blackwell("a conversion that rounds at random")
    if name not in known.split():
        raise DSLUserCodeValueError(
            f"rnd must be {' or '.join(known.split())} here, got {name}", fix=f'rnd="{known[:2]}"'
        )
    return f".{name}"


def _saturation(sat: Any) -> str:
    if sat is None:
        return ""
    if word(sat, SaturationMode, "sat") != "satfinite":
        raise DSLUserCodeValueError("sat must be satfinite here, got sat", fix='sat="satfinite"')
    return ".satfinite"


def _relu(relu: Any) -> str:
    return ".relu" if relu else ""


def convert_float_to_tf32(src: Any, *, rnd: Any = None, sat: Any = None, relu: bool | None = None) -> Int32:
    """The bits of a Float32 as TF32; `rnd`: rna, rn or rz.  PTX ISA: cvt."""
    rounding = _rounding(rnd, "rna rn rz")
    if relu and rounding == ".rna":
        raise DSLUserCodeValueError("relu takes rnd rn or rz", fix='rnd="rn"')
    return run(f"cvt{rounding}{_saturation(sat)}{_relu(relu)}.tf32.f32 $0, $1;", Int32, Float32(src))


def convert_float_to_integer(
    src: Any, *, result_type: Any = Int32, rnd: Any = None, sat: bool | None = None, ftz: bool | None = None,
    is_signed: bool | None = None,
) -> Numeric:  # fmt: skip
    """A Float32 as an Int8 or Int32, of its unsigned range unless `is_signed`; to the nearest unless `rnd` is given.
    PTX ISA: cvt."""
    if result_type not in (Int8, Int32):
        raise DSLUserCodeTypeError(
            f"result_type must be Int8 or Int32, got {shown(result_type)}", fix="result_type=cutlass.Int32"
        )
    rounding = word(IntRoundingMode.RNI if rnd is None else rnd, IntRoundingMode, "rnd")
    kind = f"{'s' if is_signed else 'u'}{result_type.width}"
    text = f"cvt.{rounding}{'.ftz' if ftz else ''}{'.sat' if sat else ''}.{kind}.f32 $0, $1;"
    return result_type(run(text, Int32 if result_type is Int32 else Int16, Float32(src)))


def cvt_f32x2_to_f8x2(
    a: Any, b: Any, dst_ty: Any, *, is_pzo: bool | None = None, scale_factor: Any = None, scale_factor_kind: Any = None,
    rnd: Any = None, sat: Any = None, relu: bool | None = None,
) -> Int16:  # fmt: skip
    """Two Float32 as floats of 8 bits, `a` in the high byte.  PTX ISA: cvt."""
    _only_hopper(scale_factor, scale_factor_kind, is_pzo)
    suffix = _narrow(dst_ty, rnd, sat)
    return run(f"cvt.rn.satfinite{_relu(relu)}.{suffix}.f32 $0, $1, $2;", Int16, Float32(a), Float32(b))


def _narrow(dtype: Any, rnd: Any, sat: Any) -> str:
    """A pair of 8-bit floats as PTX names it; it is always rounded to the nearest, and saturates."""
    if dtype not in _F8:
        raise _unknown("two floats", dtype)
    _rounding(rnd, "rn")
    if not _saturation(sat):
        raise DSLUserCodeValueError("a conversion to 8 bits saturates", fix='sat="satfinite"')
    return _F8[dtype]


def _only_hopper(*of_blackwell: Any) -> None:
    if any(each is not None and each is not False for each in of_blackwell):
        raise needs_blackwell("a conversion with a scale, random bits or is_pzo")


def convert(
    src: Any, dst_dtype: Any, *, rnd: Any = None, sat: Any = None, relu: bool | None = None, scale_factor: Any = None,
    scale_factor_kind: Any = None, random_bits: Any = None, result_type: Any = None,
) -> Any:  # fmt: skip
    """A Vector of two floats as another type: Float32 as Float16, BFloat16 or 8 bits, Float16 as 8 bits, 8 bits as
    Float16. Two of 8 bits come as an Int16, or as `result_type`, a Vector of two Int8.  PTX ISA: cvt.

    Of Float32 the first element becomes the high half, of others each keeps its place, as NVIDIA's compiler has it.
    """
    _only_hopper(scale_factor, scale_factor_kind, random_bits)
    if not isinstance(src, Vector) or src.numel() != 2:
        if isinstance(src, Vector) and src.numel() == 4 and src.dtype is Float32:
            raise needs_blackwell("a conversion of four Float32")
        raise DSLUserCodeTypeError(
            f"convert takes a Vector of two floats, got {src.type_text if isinstance(src, Vector) else type_name(src)}",
            fix="Vector.from_elements([x, y], cutlass.Float32)",
        )
    source = src.dtype
    if source is Float32 and dst_dtype in _HALVES:
        qualifiers = f"{_rounding(rnd, 'rn rz')}{_saturation(sat)}{_relu(relu)}"
        first, second = src.to_elements()
        packed = run(f"cvt{qualifiers}.{_HALVES[dst_dtype]}.f32 $0, $1, $2;", Int32, first, second)
        return Vector.from_elements([packed], Int32).bitcast(dst_dtype)
    if source is Float32 and dst_dtype in _F8:
        first, second = src.to_elements()
        return _carried(cvt_f32x2_to_f8x2(first, second, dst_dtype, rnd=rnd, sat=sat, relu=relu), result_type)
    if source is Float16 and dst_dtype in _F8:
        suffix = _narrow(dst_dtype, "rn" if rnd is None else rnd, "satfinite" if sat is None else sat)
        word_ = src.bitcast(Int32)[0]
        return _carried(run(f"cvt.rn.satfinite{_relu(relu)}.{suffix}.f16x2 $0, $1;", Int16, word_), result_type)
    if source in _F8 and dst_dtype is Float16:
        packed = run(f"cvt.rn{_relu(relu)}.f16x2.{_F8[source]} $0, $1;", Int32, src.bitcast(Int16)[0])
        return Vector.from_elements([packed], Int32).bitcast(Float16)
    raise _unknown(str(source), dst_dtype)


def _unknown(source: str, target: Any) -> Exception:
    """The error of a missing conversion: Blackwell has some, of floats of 4 and 6 bits and BFloat16 to 8 bits."""
    if isinstance(target, type) and issubclass(target, Numeric) and target.is_float and target.width <= 8:
        return needs_blackwell(f"a conversion of {source} to {target.__name__}")
    return DSLUserCodeTypeError(
        f"there is no packed conversion of {source} to {shown(target)}",
        fix="Float32 to Float16, BFloat16 or 8 bits, Float16 to 8 bits and back; or `Vector.to(dtype)`",
    )


def _carried(packed: Int16, result_type: Any) -> Any:
    """Two of 8 bits as what the author asks for."""
    if result_type is None or result_type is Int16:
        return packed
    return Vector.from_elements([packed], Int16).bitcast(Int8)


# --- sums of products -----------------------------------------------------------------------------------------------


def dot_accumulate_4way(a: Any, a_type: Any, b: Any, b_type: Any, c: Any) -> Int32:
    """c plus the four products of 8-bit integers, signed or unsigned.  PTX ISA: dp4a."""
    kinds = f"{_kind(a_type)}.{_kind(b_type)}"
    return run(f"dp4a.{kinds} $0, $1, $2, $3;", Int32, _packed(a, 4, 8), _packed(b, 4, 8), Int32(c))


def dot_accumulate_2way(a: Any, a_type: Any, b: Any, b_type: Any, c: Any, b_hi: bool) -> Int32:
    """c plus two products of 16-bit integers of `a` and 8-bit ones of `b`, its last two if `b_hi`.  PTX ISA: dp2a."""
    kinds = f"{'hi' if static(b_hi, 'b_hi') else 'lo'}.{_kind(a_type)}.{_kind(b_type)}"
    return run(f"dp2a.{kinds} $0, $1, $2, $3;", Int32, _packed(a, 2, 16), _packed(b, 4, 8), Int32(c))


def _kind(signedness: Any) -> str:
    return "s32" if word(signedness, DotAccumulateType, "type of an operand") == "signed" else "u32"


def _packed(vector: Any, count: int, width: int) -> Int32:
    if (
        not isinstance(vector, Vector)
        or vector.numel() != count
        or not vector.dtype.is_integer
        or vector.dtype.width != width
    ):
        raise DSLUserCodeTypeError(
            f"an operand must be a Vector of {count} integers of {width} bits, got "
            f"{vector.type_text if isinstance(vector, Vector) else type_name(vector)}",
            fix=f"Vector.from_elements(numbers, cutlass.Int{width})",
        )
    return vector.bitcast(Int32)[0]
