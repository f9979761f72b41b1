"""What lanes of a warp tell each other: shuffles, votes, reductions.  PTX ISA: shfl.sync, vote.sync, redux.sync."""

from __future__ import annotations

from collections.abc import Callable

from dsl.core import mlir
from dsl.core.dtypes import Boolean, Float16, BFloat16, Float32, Float64, Int32, Int64, Numeric, numeric
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.value import type_name
from dsl.gpu.inline import intrinsic

FULL_MASK = 0xFFFFFFFF
WARP_SIZE = 32


def shuffle_sync_op(value, offset, mask=FULL_MASK, mask_and_clamp=31, kind: str = "idx"):
    """The `value` of another lane of `mask`.

    `kind` is idx, up, down or bfly; `mask_and_clamp` holds the segment mask in bits 8-12 and the clamp in bits 0-4, so
    a segment of w lanes is `((32 - w) << 8) | 31` (for up: `(32 - w) << 8`).  PTX ISA: shfl.sync.

    Narrow values travel in 32 bits, 64-bit values in two shuffles. Raises DSLUserCodeTypeError for what is no number.
    """
    number = numeric(value)
    if number is None:
        raise DSLUserCodeTypeError(f"a shuffle moves a number, and got {type_name(value)}",
                                   fix="shuffle the elements one by one")
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
    joined = ((Int64(high) << 32) | (Int64(low) & 0xFFFFFFFF)).ir()
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


def vote_ballot_sync(pred, mask=FULL_MASK) -> Int32:
    """One bit a lane of `mask`: its `pred`.  PTX ISA: vote.sync.ballot."""
    return intrinsic("nvvm.vote.ballot.sync", Int32, Int32(mask), Boolean(pred))


def vote_any_sync(pred, mask=FULL_MASK) -> Boolean:
    """Whether `pred` holds in any lane of `mask`.  PTX ISA: vote.sync.any."""
    return intrinsic("nvvm.vote.any.sync", Boolean, Int32(mask), Boolean(pred))


def vote_all_sync(pred, mask=FULL_MASK) -> Boolean:
    """Whether `pred` holds in all lanes of `mask`.  PTX ISA: vote.sync.all."""
    return intrinsic("nvvm.vote.all.sync", Boolean, Int32(mask), Boolean(pred))


def vote_uni_sync(pred, mask=FULL_MASK) -> Boolean:
    """Whether `pred` is the same in all lanes of `mask`.  PTX ISA: vote.sync.uni."""
    return intrinsic("nvvm.vote.uni.sync", Boolean, Int32(mask), Boolean(pred))


def warp_reduction(value, op: Callable, threads_in_group: int = 32):
    """`op` over the lanes of each group of `threads_in_group` (a power of two), by butterfly shuffles."""
    offset = threads_in_group // 2
    while offset:
        value = op(value, shuffle_sync_bfly(value, offset))
        offset //= 2
    return value


def make_warp_uniform(value) -> Int32:
    """`value` of lane 0, which the compiler then knows to be the same in the warp.  PTX ISA: shfl.sync.idx."""
    return shuffle_sync(Int32(value), 0)
