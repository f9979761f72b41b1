"""What T computes with: divisions, extremes, functions of floats, bits, vectors, shuffles by TVM's portable names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dsl.core import trace
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import arithmetic
from dsl.core.number.dtypes import Numeric, Uint32, is_dynamic, numeric
from dsl.core.number.operators import operate
from dsl.gpu import bits, functions, sync, warp
from dsl.gpu.registers import activemask
from dsl.tile import ssa
from dsl.tile.ssa import TensorSSA
from dsl.tirx import dtypes, ids
from dsl.tirx.effects import noted
from dsl.tirx.error_wording import type_name
from dsl.tirx.promotion import GREATEST, check_divisor, converted, instead_of, number_of, promote
from dsl.tirx.vector_lanes import as_vector

__all__ = [
    "Broadcast",
    "Max",
    "Min",
    "Ramp",
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "attr",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "broadcast",
    "ceil",
    "ceildiv",
    "clz",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "evaluate",
    "exp",
    "exp2",
    "exp10",
    "fabs",
    "floor",
    "floordiv",
    "floormod",
    "fma",
    "fmod",
    "func_attr",
    "hypot",
    "infinity",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "likely",
    "log",
    "log1p",
    "log2",
    "log10",
    "max",
    "max_value",
    "min",
    "min_value",
    "nearbyint",
    "popcount",
    "pow",
    "ramp",
    "reinterpret",
    "round",
    "rsqrt",
    "shift_left",
    "shift_right",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "static_assert",
    "tan",
    "tanh",
    "trunc",
    "truncdiv",
    "truncmod",
    "tvm_storage_sync",
    "tvm_warp_activemask",
    "tvm_warp_shuffle",
    "tvm_warp_shuffle_down",
    "tvm_warp_shuffle_up",
    "tvm_warp_shuffle_xor",
]


def _together(name: str, *operands: Any) -> list[Numeric]:
    """Operands as numbers of their common dtype. Raises DSLUserCodeTypeError for one that is not a number."""
    numbers = []
    for operand in operands:
        number = numeric(operand)
        if number is None:
            raise DSLUserCodeTypeError(
                f"T.{name} takes numbers, got {type_name(operand)}", id="OPERAND_TYPE", fix=instead_of(operand)
            )
        numbers.append(number)
    dtype = type(numbers[0])
    for number in numbers[1:]:
        dtype = promote(dtype, type(number))
    return [converted(number, dtype) for number in numbers]


def _elementwise(function: Callable, *operands: Any) -> Any:
    """`function` of numbers, or lane by lane."""
    operands = tuple(map(as_vector, operands))
    vectors = [operand for operand in operands if isinstance(operand, TensorSSA)]
    if not vectors:
        return function(*operands)
    lanes = vectors[0].size
    every = [
        [ssa_lane(operand, k) if isinstance(operand, TensorSSA) else operand for operand in operands]
        for k in range(lanes)
    ]
    results = [number_of(function(*lane)) for lane in every]
    return TensorSSA(ssa.from_elements([number.ir() for number in results]), lanes, type(results[0]))


def ssa_lane(vector: TensorSSA, k: int) -> Numeric:
    """Lane `k` of a vector."""
    return vector.dtype(ssa.extract(vector.ir(), k))


# --- floats ----------------------------------------------------------------------------------------------------------


def _of_floats(name: str, function: Callable, document: str = "") -> Callable:
    def compute(*operands: Any) -> Any:
        def one(*numbers: Any) -> Any:
            converted_operands = _together(name, *numbers)
            if not converted_operands[0].is_float:
                raise DSLUserCodeTypeError(
                    f"T.{name} takes floats, got {type_name(converted_operands[0])}",
                    id="OPERAND_TYPE",
                    fix="convert it: `T.float32(x)`",
                )
            if not trace.active():
                raise DSLUserCodeError(
                    f"T.{name} is called outside a T function",
                    id="CALL_OUTSIDE",
                    fix=f"call it in a T.prim_func; math.{name} computes in Python",
                )
            return function(*converted_operands)

        return _elementwise(one, *operands)

    def of_two(x1: Any, x2: Any) -> Any:
        return compute(x1, x2)

    def of_one(x: Any) -> Any:
        return compute(x)

    operation = of_two if name in _OF_TWO else of_one
    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = document or f"`{name}` of floats, of vectors lane by lane."
    return operation


_OF_TWO = ("atan2", "copysign", "fmod", "hypot", "ldexp")
(
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    atan2,
    ceil,
    copysign,
    cos,
    cosh,
    erf,
    exp,
    exp2,
    floor,
    fmod,
    log,
    log10,
    log1p,
    log2,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
    isfinite,
    isinf,
    isnan,
    rsqrt,
) = (
    _of_floats(name, getattr(functions, "rem" if name == "fmod" else name))
    for name in (
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atanh",
        "atan2",
        "ceil",
        "copysign",
        "cos",
        "cosh",
        "erf",
        "exp",
        "exp2",
        "floor",
        "fmod",
        "log",
        "log10",
        "log1p",
        "log2",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "trunc",
        "isfinite",
        "isinf",
        "isnan",
        "rsqrt",
    )
)
round = _of_floats("round", functions.roundeven, "To the nearest integer, halves to the even one.")
nearbyint = _of_floats("nearbyint", functions.roundeven, "To the nearest integer, halves to the even one.")
exp10 = _of_floats("exp10", functions.exp10, "10 to the power of a float.")
sigmoid = _of_floats("sigmoid", lambda x: 1 / (1 + functions.exp(-x)), "1 / (1 + exp(-x)).")
hypot = _of_floats("hypot", lambda x, y: functions.sqrt(x * x + y * y), "sqrt(x*x + y*y).")
ldexp = _of_floats("ldexp", lambda x, y: x * functions.exp2(y), "x * 2**y.")


def fma(a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once."""

    def one(*operands: Any) -> Any:
        x, y, z = _together("fma", *operands)
        return functions.fma(x, y, z)

    return _elementwise(one, a, b, c)


def pow(x: Any, y: Any) -> Any:
    """x to the power of y."""

    def one(*operands: Any) -> Any:
        base, exponent = _together("pow", *operands)
        return functions.pow(base, exponent)

    return _elementwise(one, x, y)


def abs(x: Any) -> Any:
    """|x|."""
    return _elementwise(lambda operand: _together("abs", operand)[0].__abs__(), x)


fabs = abs


def max(a: Any, b: Any) -> Any:
    """The larger of two numbers; a NaN gives way to the other."""
    return _elementwise(lambda x, y: operate("max", *_together("max", x, y)), a, b)


def min(a: Any, b: Any) -> Any:
    """The smaller of two numbers; a NaN gives way to the other."""
    return _elementwise(lambda x, y: operate("min", *_together("min", x, y)), a, b)


Max, Min = max, min


# --- integers --------------------------------------------------------------------------------------------------------


def _integers(name: str, *operands: Any) -> list[Numeric]:
    numbers = _together(name, *operands)
    if not numbers[0].is_integer:
        raise DSLUserCodeTypeError(
            f"T.{name} takes integers, got {type_name(numbers[0])}", id="OPERAND_TYPE", fix="convert it: `T.int32(x)`"
        )
    return numbers


def _of_integers(name: str, sign: str) -> Callable:
    def operation(a: Any, b: Any) -> Any:
        return _elementwise(lambda x, y: operate(sign, *_integers(name, x, y)), a, b)

    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = f"`{name}` of two integers."
    return operation


floordiv, floormod, bitwise_and, bitwise_or, bitwise_xor, shift_left, shift_right = (
    _of_integers(name, sign)
    for name, sign in (
        ("floordiv", "floordiv"),
        ("floormod", "mod"),
        ("bitwise_and", "and"),
        ("bitwise_or", "or"),
        ("bitwise_xor", "xor"),
        ("shift_left", "lshift"),
        ("shift_right", "rshift"),
    )
)


def _truncated(name: str, part: int) -> Callable:
    def operation(a: Any, b: Any) -> Any:
        def one(x: Any, y: Any) -> Any:
            x, y = _integers(name, x, y)
            static = None if is_dynamic(y) else y.value
            check_divisor(name, y)
            if not is_dynamic(x) and static:
                quotient = int(math.copysign(1, x.value) * math.copysign(1, static)) * (
                    builtins_abs(x.value) // builtins_abs(static)
                )
                return type(x)(type(x).wrapped((quotient, x.value - quotient * static)[part]))
            return type(x)(arithmetic.divide_truncating(x.ir(), y.ir(), type(x).signed, static)[part])

        return _elementwise(one, a, b)

    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = ("The quotient rounded towards zero.", "The remainder of truncdiv; it has the sign of a.")[part]
    return operation


builtins_abs = int.__abs__
truncdiv, truncmod = _truncated("truncdiv", 0), _truncated("truncmod", 1)


def ceildiv(a: Any, b: Any) -> Any:
    """The quotient of two integers rounded up."""
    a, b = _integers("ceildiv", a, b)
    return (a + b - 1) // b


def bitwise_not(x: Any) -> Any:
    """Every bit inverted."""
    return ~_integers("bitwise_not", x)[0]


def popcount(x: Any) -> Any:
    """How many bits are set."""
    return bits.popc(_integers("popcount", x)[0])


def clz(x: Any) -> Any:
    """How many leading zeros."""
    return bits.clz(_integers("clz", x)[0])


# --- limits, bits of another type ------------------------------------------------------------------------------------


def max_value(dtype: Any) -> Numeric:
    """The greatest value of a dtype."""
    wanted = dtypes.find(dtype)
    return wanted.scalar(GREATEST[wanted.scalar] if wanted.scalar.is_float else wanted.scalar.max)


def min_value(dtype: Any) -> Numeric:
    """The least value of a dtype."""
    wanted = dtypes.find(dtype)
    return wanted.scalar(-GREATEST[wanted.scalar] if wanted.scalar.is_float else wanted.scalar.min)


def infinity(dtype: Any) -> Numeric:
    """Positive infinity of a float dtype."""
    return dtypes.find(dtype).scalar(math.inf)


def reinterpret(dtype: Any, value: Any) -> Any:
    """The same bits as another dtype of the same width."""
    wanted = dtypes.find(dtype)
    number = numeric(value)
    if number is None or wanted.lanes != 1 or type(number).width != wanted.scalar.width:
        raise DSLUserCodeTypeError(
            f"the bits of {type_name(value)} are no {wanted}", id="REINTERPRET", fix="a dtype of the same width"
        )
    return number.bitcast(wanted.scalar)


# --- vectors ---------------------------------------------------------------------------------------------------------


def Broadcast(value: Any, lanes: int) -> TensorSSA:
    """A vector with `value` in every lane."""
    (number,) = _together("Broadcast", value)
    return TensorSSA(ssa.splat(number, int(lanes)), int(lanes), type(number))


def Ramp(base: Any, stride: Any, lanes: int) -> TensorSSA:
    """The vector base, base + stride, ..."""
    base, stride = _integers("Ramp", base, stride)
    elements = [base + stride * k for k in range(int(lanes))]
    return TensorSSA(ssa.from_elements([number.ir() for number in elements]), int(lanes), type(base))


broadcast, ramp = Broadcast, Ramp


# --- statements ------------------------------------------------------------------------------------------------------


def evaluate(value: Any) -> None:
    """Compute a value and drop it."""


def likely(condition: Any) -> Any:
    """`condition`, which is mostly true."""
    return condition


def static_assert(condition: Any, message: str = "") -> None:
    """Raises DSLUserCodeError where a condition known while compiling does not hold."""
    number = numeric(condition)
    if number is None or is_dynamic(number):
        raise DSLUserCodeTypeError(
            "T.static_assert tests what is known while compiling",
            id="STATIC_ASSERT",
            fix="test it at run time: `T.cuda.trap_when_assert_failed(x > 0)`, or `assert`",
        )
    if not number.value:
        raise DSLUserCodeError(
            message or "this does not hold", id="STATIC_ASSERT", fix="give what the assertion asks for"
        )


def func_attr(attributes: dict) -> None:
    """Attributes of the function. They have no effect here."""


def attr(attributes: Any, *_rest: Any) -> None:
    """Attributes of the device part: "tirx.launch_bounds_min_blocks_per_sm"."""
    if isinstance(attributes, dict):
        ids.current("attr").attributes.update(attributes)


# --- threads ---------------------------------------------------------------------------------------------------------


@noted
def tvm_storage_sync(scope: str) -> None:
    """Wait for all threads of the block ("shared"), or of the warp ("warp")."""
    if scope not in ("shared", "shared.dyn", "warp"):
        raise DSLUserCodeValueError(f"no threads meet over {scope!r}", fix='"shared" or "warp"', id="STORAGE_SYNC")
    (sync.sync_warp if scope == "warp" else sync.sync_threads)()


def _segment(width: Any) -> int:
    number = numeric(width)
    if number is None or is_dynamic(number) or int(number.value) not in (1, 2, 4, 8, 16, 32):
        raise DSLUserCodeValueError(
            "the width of a shuffle is 1, 2, 4, 8, 16 or 32, known while compiling", id="SHUFFLE_WIDTH", fix="width=32"
        )
    return (32 - int(number.value)) << 8


def shuffle(kind: str, mask: Any, value: Any, operand: Any, width: Any = 32) -> Any:
    """`value` of another lane.  PTX ISA: shfl.sync. CUDA C++ Programming Guide: Warp Shuffle Functions."""
    if numeric(value) is None:
        raise DSLUserCodeTypeError(
            f"a shuffle moves a number, got {type_name(value)}", id="OPERAND_TYPE", fix=instead_of(value)
        )
    clamp = _segment(width) | (0 if kind == "up" else 31)
    return warp.shuffle_sync_op(value, operand, Uint32(numeric(mask)), clamp, kind)


@noted
def tvm_warp_shuffle(mask: Any, value: Any, warp_id: Any, width: Any = 32, warp_size: Any = 32) -> Any:
    """`value` of lane `warp_id` of the segment."""
    return shuffle("idx", mask, value, warp_id, width)


@noted
def tvm_warp_shuffle_up(mask: Any, value: Any, offset: Any, width: Any = 32, warp_size: Any = 32) -> Any:
    """`value` of the lane `offset` below."""
    return shuffle("up", mask, value, offset, width)


@noted
def tvm_warp_shuffle_down(mask: Any, value: Any, offset: Any, width: Any = 32, warp_size: Any = 32) -> Any:
    """`value` of the lane `offset` above."""
    return shuffle("down", mask, value, offset, width)


@noted
def tvm_warp_shuffle_xor(mask: Any, value: Any, lane_mask: Any, width: Any = 32, warp_size: Any = 32) -> Any:
    """`value` of the lane whose number is this one's xor `lane_mask`."""
    return shuffle("bfly", mask, value, lane_mask, width)


@noted
def tvm_warp_activemask() -> Numeric:
    """The lanes that run together."""
    return activemask()
