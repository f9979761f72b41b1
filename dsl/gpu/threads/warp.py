"""Exchanges between the lanes of a warp: shuffles, votes, reductions.  PTX ISA: shfl.sync, vote.sync, redux.sync."""

from __future__ import annotations

from collections.abc import Callable

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import BFloat16, Boolean, Float16, Float32, Float64, Int32, Int64, Numeric, Uint32, numeric
from dsl.core.number.operators import type_name
from dsl.core.phrase import Phrase, cast, shown
from dsl.gpu.inline import intrinsic, ptx

FULL_MASK = 0xFFFFFFFF
WARP_SIZE = 32


def shuffle_sync_op(value, offset, mask: int | Numeric = FULL_MASK, mask_and_clamp=31, kind: str = "idx"):
    """The `value` of another lane of `mask`.

    `kind` is idx, up, down or bfly; `mask_and_clamp` holds the segment mask in bits 8-12 and the clamp in bits 0-4, so
    a segment of w lanes is `((32 - w) << 8) | 31` (for up: `(32 - w) << 8`).  PTX ISA: shfl.sync.

    Narrow values travel in 32 bits, 64-bit values in two shuffles. Raises DSLUserCodeTypeError for other values.
    """
    number = numeric(value)
    if number is None:
        raise DSLUserCodeTypeError(
            Phrase("a shuffle moves a number, got {value}", value=type_name(value)),
            fix="shuffle the elements one by one",
        )
    operands = Int32(offset), Int32(mask_and_clamp), Int32(mask)
    dtype = type(number)
    if dtype.width == 64:
        return _shuffle_wide(number, kind, *operands)
    if dtype in (Float16, BFloat16):
        return dtype(_shuffle(Float32(number), kind, *operands))
    if dtype.is_integer and dtype.width < 32:
        return dtype(_shuffle(Int32(number), kind, *operands))
    return _shuffle(number, kind, *operands)


def _shuffle(number: Numeric, kind: str, offset: Int32, clamp: Int32, mask: Int32) -> Numeric:
    dtype = type(number)
    suffix, carrier = ("f32", Float32) if dtype is Float32 else ("i32", Int32)
    return dtype(intrinsic(f"nvvm.shfl.sync.{kind}.{suffix}", carrier, mask, carrier(number), offset, clamp).ir())


def _shuffle_wide(number: Numeric, kind: str, *operands: Int32) -> Numeric:
    dtype = type(number)
    bits = number.ir() if dtype.is_integer else mlir.result("arith.bitcast", mlir.i64, number.ir())
    whole = Int64(bits)
    low, high = (_shuffle(Int32(part), kind, *operands) for part in (whole, whole >> 32))
    joined = ((Int64(high) << 32) | (Int64(low) & Int64(0xFFFFFFFF))).ir()
    return dtype(mlir.result("arith.bitcast", mlir.f64, joined) if dtype is Float64 else joined)


def shuffle_sync(value, offset, mask=FULL_MASK, mask_and_clamp=31):
    """The value of lane `offset` of the segment.  PTX ISA: shfl.sync.idx."""
    return shuffle_sync_op(value, offset, mask, mask_and_clamp, "idx")


def shuffle_sync_up(value, offset, mask=FULL_MASK, mask_and_clamp=0):
    """The value of the lane `offset` below; a lane without one keeps its own.  PTX ISA: shfl.sync.up."""
    return shuffle_sync_op(value, offset, mask, mask_and_clamp, "up")


def shuffle_sync_down(value, offset, mask=FULL_MASK, mask_and_clamp=31):
    """The value of the lane `offset` above; a lane without one keeps its own.  PTX ISA: shfl.sync.down."""
    return shuffle_sync_op(value, offset, mask, mask_and_clamp, "down")


def shuffle_sync_bfly(value, offset, mask=FULL_MASK, mask_and_clamp=31):
    """The value of the lane whose number is this one's xor `offset`.  PTX ISA: shfl.sync.bfly."""
    return shuffle_sync_op(value, offset, mask, mask_and_clamp, "bfly")


def vote_ballot_sync(pred, mask: int | Numeric = FULL_MASK) -> Int32:
    """One bit a lane of `mask`: its `pred`.  PTX ISA: vote.sync.ballot."""
    return intrinsic("nvvm.vote.ballot.sync", Int32, Int32(mask), Boolean(pred))


def vote_any_sync(pred, mask: int | Numeric = FULL_MASK) -> Boolean:
    """Whether `pred` holds in any lane of `mask`.  PTX ISA: vote.sync.any."""
    return intrinsic("nvvm.vote.any.sync", Boolean, Int32(mask), Boolean(pred))


def vote_all_sync(pred, mask: int | Numeric = FULL_MASK) -> Boolean:
    """Whether `pred` holds in all lanes of `mask`.  PTX ISA: vote.sync.all."""
    return intrinsic("nvvm.vote.all.sync", Boolean, Int32(mask), Boolean(pred))


def vote_uni_sync(pred, mask: int | Numeric = FULL_MASK) -> Boolean:
    """Whether `pred` is the same in all lanes of `mask`.  PTX ISA: vote.sync.uni."""
    return intrinsic("nvvm.vote.uni.sync", Boolean, Int32(mask), Boolean(pred))


def warp_reduction(val, op: Callable, threads_in_group: int = 32):
    """`op` over the lanes of each group of `threads_in_group` (a power of two), by butterfly shuffles."""
    if not isinstance(threads_in_group, int) or not 1 <= threads_in_group <= 32:
        raise DSLUserCodeTypeError(
            f"threads_in_group must be 1, 2, 4, 8, 16 or 32, got {shown(threads_in_group)}",
            fix="threads_in_group=32 takes the whole warp",
        )
    number = numeric(val)
    val = val if number is None else number
    offset = threads_in_group // 2
    while offset:
        val = op(val, shuffle_sync_bfly(val, offset))
        offset //= 2
    return val


def make_warp_uniform(value) -> Int32:
    """`value` of lane 0, which the compiler then knows to be the same in the warp.  PTX ISA: shfl.sync.idx."""
    return shuffle_sync(Int32(value), 0)


_REDUX = {
    "add": ("add", "s32"),
    "max": ("max", "s32"),
    "min": ("min", "s32"),
    "umax": ("max", "u32"),
    "umin": ("min", "u32"),
    "and": ("and", "b32"),
    "or": ("or", "b32"),
    "xor": ("xor", "b32"),
}


def warp_redux_sync(value, kind: str, mask_and_clamp: int | Numeric = FULL_MASK):
    """The sum, extreme or bitwise combination of a 32-bit integer over the lanes of the mask.  PTX ISA: redux.sync."""
    number = numeric(value)
    if kind not in _REDUX or number is None or not type(number).is_integer or type(number).width != 32:
        raise DSLUserCodeTypeError(
            Phrase(
                "redux.sync combines Int32 or Uint32 by one of {names}, got {value} and {kind!r}",
                names=", ".join(_REDUX),
                value=type_name(value),
                kind=kind,
            ),
            fix="use warp_reduction for other types",
        )
    operation, suffix = _REDUX[kind]
    return ptx(f"redux.sync.{operation}.{suffix} $0, $1, $2;", type(number), "=r,r,r", number, Int32(mask_and_clamp))


def match_sync(mask, value, kind: str = "any") -> Uint32:
    """The lanes that have this lane's value; `all`: every lane of the mask, or 0.  PTX ISA: match.sync."""
    number = numeric(value)
    is_integer = number is not None and type(number).is_integer and type(number).width in (32, 64)
    if number is None or kind not in ("any", "all") or not is_integer:
        raise DSLUserCodeTypeError(
            Phrase(
                "match.sync compares integers of 32 or 64 bits, any or all, got {value} and {kind!r}",
                value=type_name(value),
                kind=kind,
            ),
            fix=Phrase("convert it first, for example {cast}", cast=cast(Int32)),
        )
    width, letter = type(number).width, "l" if type(number).width == 64 else "r"
    destination = "$0" if kind == "any" else "$0|%dsl_all"
    text = f"match.{kind}.sync.b{width} {destination}, $1, $2;"
    if kind == "all":
        text = "{ .reg .pred %dsl_all; " + text + " }"
    return ptx(text, Uint32, f"=r,{letter},r", number, Int32(mask))


def vote_sync_op(pred, kind: str, mask: int | Numeric = FULL_MASK):
    """vote_any_sync, vote_all_sync, vote_uni_sync or vote_ballot_sync, by name."""
    votes = {"any": vote_any_sync, "all": vote_all_sync, "uni": vote_uni_sync, "ballot": vote_ballot_sync}
    if kind not in votes:
        raise DSLUserCodeTypeError(
            f"kind must be one of {', '.join(votes)}, got {shown(kind)}", fix="write one of these as a string"
        )
    return votes[kind](pred, mask)
