"""`qd.simt.warp`: the exchanges of CUDA's warps, with a mask of the lanes that take part."""

from __future__ import annotations

from typing import Any

from dsl.core.number.dtypes import Float32, Int32, Numeric, Uint32
from dsl.gpu.inline import ptx
from dsl.gpu.threads import sync as gpu_sync, warp
from dsl.quadrants.errors.refused_names import refuser
from dsl.quadrants.functions.task import program
from dsl.quadrants.simt.trees import holds, traced
from dsl.quadrants.values.assignable import value_of
from dsl.quadrants.values.scalar_functions import integer_of

__all__ = [
    "active_mask",
    "all_nonzero",
    "any_nonzero",
    "ballot",
    "match_all",
    "match_any",
    "shfl_down_f32",
    "shfl_down_i32",
    "shfl_sync_f32",
    "shfl_sync_i32",
    "shfl_up_f32",
    "shfl_up_i32",
    "shfl_xor_i32",
    "sync",
    "unique",
]


def _lanes(mask: Any) -> Int32:
    program().task  # noqa: B018 - not while the host evaluates
    return Int32(integer_of(value_of(mask), "a mask of lanes"))


def all_nonzero(mask, predicate) -> Int32:
    """1 where `predicate` is not zero in all lanes of `mask`.  PTX ISA: vote.sync.all."""
    return Int32(warp.vote_all_sync(holds(predicate, "all_nonzero"), _lanes(mask)))


def any_nonzero(mask, predicate) -> Int32:
    """1 where `predicate` is not zero in some lane of `mask`.  PTX ISA: vote.sync.any."""
    return Int32(warp.vote_any_sync(holds(predicate, "any_nonzero"), _lanes(mask)))


def unique(mask, predicate) -> Int32:
    """1 where `predicate` is zero in all lanes of `mask`, or in none.  PTX ISA: vote.sync.uni."""
    return Int32(warp.vote_uni_sync(holds(predicate, "unique"), _lanes(mask)))


def ballot(predicate) -> Int32:
    """A bit a lane: whether its `predicate` is not zero.  PTX ISA: vote.sync.ballot."""
    return warp.vote_ballot_sync(holds(predicate, "ballot"), _lanes(warp.FULL_MASK - (1 << 32)))


def _shuffle(kind: str, core: type[Numeric], mask: Any, val: Any, offset: Any) -> Any:
    clamp = 0 if kind == "up" else 31
    number = core(traced(val, "a shuffle"))
    return warp.shuffle_sync_op(number, integer_of(value_of(offset), "a shuffle"), _lanes(mask), clamp, kind)


def shfl_sync_i32(mask, val, offset):
    """The `val` of lane `offset`.  PTX ISA: shfl.sync.idx."""
    return _shuffle("idx", Int32, mask, val, offset)


def shfl_sync_f32(mask, val, offset):
    """The `val` of lane `offset`.  PTX ISA: shfl.sync.idx."""
    return _shuffle("idx", Float32, mask, val, offset)


def shfl_up_i32(mask, val, offset):
    """The `val` of the lane `offset` below.  PTX ISA: shfl.sync.up."""
    return _shuffle("up", Int32, mask, val, offset)


def shfl_up_f32(mask, val, offset):
    """The `val` of the lane `offset` below.  PTX ISA: shfl.sync.up."""
    return _shuffle("up", Float32, mask, val, offset)


def shfl_down_i32(mask, val, offset):
    """The `val` of the lane `offset` above.  PTX ISA: shfl.sync.down."""
    return _shuffle("down", Int32, mask, val, offset)


def shfl_down_f32(mask, val, offset):
    """The `val` of the lane `offset` above.  PTX ISA: shfl.sync.down."""
    return _shuffle("down", Float32, mask, val, offset)


def shfl_xor_i32(mask, val, offset):
    """The `val` of the lane whose number is this one's xor `offset`.  PTX ISA: shfl.sync.bfly."""
    return _shuffle("bfly", Int32, mask, val, offset)


def match_any(mask, value) -> Uint32:
    """The lanes of `mask` that have this lane's `value`.  PTX ISA: match.any.sync."""
    return warp.match_sync(_lanes(mask), Int32(traced(value, "match_any")), "any")


def match_all(mask, val) -> Uint32:
    """`mask` where all its lanes have one `val`, else 0.  PTX ISA: match.all.sync."""
    return warp.match_sync(_lanes(mask), Int32(traced(val, "match_all")), "all")


def active_mask() -> Uint32:
    """The lanes that run together with this one.  PTX ISA: activemask."""
    program().task  # noqa: B018 - not while the host evaluates
    return ptx("activemask.b32 $0;", Uint32, "=r")


def sync(mask) -> None:
    """Wait for the lanes of `mask`.  PTX ISA: bar.warp.sync."""
    program().task.effect()
    gpu_sync.sync_warp(_lanes(mask))


__getattr__ = refuser("simt.warp", globals())
