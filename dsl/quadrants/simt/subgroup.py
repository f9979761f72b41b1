"""`qd.simt.subgroup`: what the 32 threads of a warp exchange. All of them must come to each of these functions.

Those that end in `_tiled` work in groups of 2**log2_size lanes, others in the whole warp.  Source: Quadrants user
guide, Subgroup primitives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsl.core.number.dtypes import Int32, Numeric, Uint32, Uint64, is_dynamic
from dsl.core.number.operators import operate
from dsl.core.phrase import shown
from dsl.gpu.threads import sync as gpu_sync, warp
from dsl.quadrants import runtime
from dsl.quadrants.errors.errors import QuadrantsTypeError
from dsl.quadrants.errors.refused_names import refuser
from dsl.quadrants.functions.task import program
from dsl.quadrants.hints import deprecated
from dsl.quadrants.simt import trees
from dsl.quadrants.values.assignable import value_of
from dsl.quadrants.values.scalar_functions import integer_of

# --- who is who ------------------------------------------------------------------------------------------------------


def group_size() -> int:
    """The lanes of a warp. Raises QuadrantsRuntimeError before qd.init."""
    runtime.check()
    return warp.WARP_SIZE


def log2_group_size() -> int:
    """The logarithm of `group_size` to the base 2."""
    return group_size().bit_length() - 1


def invocation_id() -> Int32:
    """The number of this lane.  PTX ISA: %laneid."""
    return trees.lane()


def elect() -> Int32:
    """1 in lane 0, 0 in the others."""
    return Int32(operate("eq", trees.lane(), Int32(0)))


# --- waiting ---------------------------------------------------------------------------------------------------------


def sync() -> None:
    """Wait for all lanes.  PTX ISA: bar.warp.sync."""
    program().task.effect()
    gpu_sync.sync_warp()


def mem_fence() -> None:
    """Order this thread's accesses as the warp sees them (as the block does).  PTX ISA: membar.cta."""
    program().task.effect()
    gpu_sync.fence_acq_rel_cta()


def barrier() -> None:
    """The old name of `sync`."""
    deprecated("qd.simt.subgroup.barrier", "qd.simt.subgroup.sync")
    sync()


def memory_barrier() -> None:
    """The old name of `mem_fence`."""
    deprecated("qd.simt.subgroup.memory_barrier", "qd.simt.subgroup.mem_fence")
    mem_fence()


# --- values of other lanes -------------------------------------------------------------------------------------------


def shuffle(value, index) -> Numeric:
    """The `value` of lane `index`.  PTX ISA: shfl.sync.idx."""
    return trees.shuffled(value, index, "idx", "shuffle")


def shuffle_up(value, offset) -> Numeric:
    """The `value` of the lane `offset` below.  PTX ISA: shfl.sync.up."""
    return trees.shuffled(value, offset, "up", "shuffle_up")


def shuffle_down(value, offset) -> Numeric:
    """The `value` of the lane `offset` above.  PTX ISA: shfl.sync.down."""
    return trees.shuffled(value, offset, "down", "shuffle_down")


def shuffle_xor(value, mask) -> Numeric:
    """The `value` of the lane whose number is this one's xor `mask`.  PTX ISA: shfl.sync.bfly."""
    return trees.shuffled(value, mask, "bfly", "shuffle_xor")


def broadcast(value, index) -> Numeric:
    """The `value` of lane `index`."""
    return trees.shuffled(value, index, "idx", "broadcast")


def broadcast_first(value) -> Numeric:
    """The `value` of lane 0."""
    return trees.shuffled(value, 0, "idx", "broadcast_first")


# --- votes -----------------------------------------------------------------------------------------------------------


def _ballot(predicate: Any, what: str) -> Uint32:
    program().task  # noqa: B018 - not while the host evaluates
    return Uint32(warp.vote_ballot_sync(trees.holds(predicate, what)))


def ballot(predicate) -> Uint64:
    """A bit a lane: whether its `predicate` is not zero.  PTX ISA: vote.sync.ballot."""
    return Uint64(_ballot(predicate, "ballot"))


def ballot_first_n(predicate, n) -> Uint32:
    """As `ballot`, of the first `n` lanes (1 to 32, known while compiling)."""
    count = value_of(n)
    count = count.value if isinstance(count, Numeric) and not is_dynamic(count) else count
    if type(count) is not int or not 1 <= count <= 32:
        got = "a run-time value" if isinstance(count, Numeric) else shown(count)
        raise QuadrantsTypeError.at(
            f"`n` of ballot_first_n is an integer from 1 to 32, known while compiling, got {got}", "32 takes all lanes"
        )
    mask = _ballot(predicate, "ballot_first_n")
    return mask if count == 32 else mask & Uint32((1 << count) - 1)


def ballot_full_subgroup(predicate) -> Uint64:
    """The old name of `ballot`."""
    deprecated("qd.simt.subgroup.ballot_full_subgroup", "qd.simt.subgroup.ballot")
    return ballot(predicate)


def _vote(holds: Any, log2_size: int, is_all: bool) -> Int32:
    """1 where it holds in all lanes of the group, or in some."""
    if log2_size == trees.LOG2_LANES:
        return Int32((warp.vote_all_sync if is_all else warp.vote_any_sync)(holds))
    group = (1 << (1 << log2_size)) - 1
    start = Uint32(trees.lane() & ~((1 << log2_size) - 1))
    votes = (Uint32(warp.vote_ballot_sync(holds)) >> start) & Uint32(group)
    return Int32(operate("eq" if is_all else "ne", votes, Uint32(group if is_all else 0)))


def all_true_tiled(predicate, log2_size) -> Int32:
    """1 where `predicate` is not zero in all lanes of the group, else 0."""
    program().task  # noqa: B018 - not while the host evaluates
    return _vote(trees.holds(predicate, "all_true"), trees.size_of(log2_size, "all_true_tiled"), True)


def any_true_tiled(predicate, log2_size) -> Int32:
    """1 where `predicate` is not zero in some lane of the group, else 0."""
    program().task  # noqa: B018 - not while the host evaluates
    return _vote(trees.holds(predicate, "any_true"), trees.size_of(log2_size, "any_true_tiled"), False)


def all_equal_tiled(value, log2_size) -> Int32:
    """1 where all lanes of the group have one `value` (NaN equals nothing), else 0."""
    size = trees.size_of(log2_size, "all_equal_tiled")
    number = trees.traced(value, "all_equal")
    first = trees.shuffled(number, trees.lane() & ~((1 << size) - 1), "idx", "all_equal")
    return _vote(operate("eq", number, first), size, True)


def all_true(predicate) -> Int32:
    """`all_true_tiled` of the warp.  PTX ISA: vote.sync.all."""
    return all_true_tiled(predicate, trees.LOG2_LANES)


def any_true(predicate) -> Int32:
    """`any_true_tiled` of the warp.  PTX ISA: vote.sync.any."""
    return any_true_tiled(predicate, trees.LOG2_LANES)


def all_equal(value) -> Int32:
    """`all_equal_tiled` of the warp."""
    return all_equal_tiled(value, trees.LOG2_LANES)


# --- masks of lanes --------------------------------------------------------------------------------------------------


def _bit(lane_id: Any, what: str) -> Uint32:
    return Uint32(1) << Uint32(integer_of(value_of(lane_id), what))


def lanemask_eq(lane_id) -> Uint32:
    """The bit of lane `lane_id`."""
    return _bit(lane_id, "lanemask_eq")


def lanemask_lt(lane_id) -> Uint32:
    """The bits of the lanes below `lane_id`."""
    return _bit(lane_id, "lanemask_lt") - Uint32(1)


def lanemask_le(lane_id) -> Uint32:
    """The bits of the lanes up to `lane_id`."""
    bit = _bit(lane_id, "lanemask_le")
    return bit | (bit - Uint32(1))


def lanemask_gt(lane_id) -> Uint32:
    """The bits of the lanes above `lane_id`."""
    return ~lanemask_le(lane_id)


def lanemask_ge(lane_id) -> Uint32:
    """The bits of the lanes from `lane_id` on."""
    return ~lanemask_lt(lane_id)


# --- sums, extremes, scans -------------------------------------------------------------------------------------------


def _named(name: str, doc: str, function: Callable) -> Callable:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _both(name: str, of_group: Callable, doc: str) -> tuple[Callable, Callable]:
    """`name` and `name_tiled`: `of_group(log2_size, values...)` over the warp, and over groups of lanes."""

    def tiled(*arguments):
        *values, log2_size = arguments
        return of_group(trees.size_of(log2_size, f"{name}_tiled"), *values)

    def whole(*values):
        return of_group(trees.LOG2_LANES, *values)

    return _named(name, f"{doc} of the warp.", whole), _named(f"{name}_tiled", f"{doc} of the group.", tiled)


def _tree(name: str, tree: Callable, combined: str, doc: str) -> tuple[Callable, Callable]:
    combine = trees.OPERATORS[combined]
    return _both(name, lambda size, value: tree(value, combine, size, name), doc)


def _exclusive(combined: str) -> tuple[Callable, Callable]:
    name, combine = f"exclusive_{combined}", trees.OPERATORS[combined]

    def of_group(size, value):
        number = trees.traced(value, name)
        return trees.exclusive_scan(number, combine, trees.identity(combined, type(number)), size, name)

    return _both(name, of_group, f"`{combined}` of the values before this lane,")


def _segmented(combined: str) -> tuple[Callable, Callable]:
    name, combine = f"segmented_reduce_{combined}", trees.OPERATORS[combined]
    doc = f"`{combined}` of the values since the last lane with a `head_flag`, or since the first,"
    return _both(name, lambda size, value, head: trees.segmented(value, head, combine, size, name), doc)


_FIRST, _ALL, _UP_TO = "in lane 0: `{}` of the values", "`{}` of the values", "`{}` of the values up to this lane,"
(reduce_add, reduce_add_tiled), (reduce_min, reduce_min_tiled), (reduce_max, reduce_max_tiled) = (
    _tree(f"reduce_{name}", trees.reduce, name, _FIRST.format(name)) for name in ("add", "min", "max")
)
(
    (reduce_all_add, reduce_all_add_tiled),
    (reduce_all_min, reduce_all_min_tiled),
    (reduce_all_max, reduce_all_max_tiled),
) = (_tree(f"reduce_all_{name}", trees.reduce_all, name, _ALL.format(name)) for name in ("add", "min", "max"))
(
    (inclusive_add, inclusive_add_tiled),
    (inclusive_mul, inclusive_mul_tiled),
    (inclusive_min, inclusive_min_tiled),
    (inclusive_max, inclusive_max_tiled),
    (inclusive_and, inclusive_and_tiled),
    (inclusive_or, inclusive_or_tiled),
    (inclusive_xor, inclusive_xor_tiled),
) = (_tree(f"inclusive_{name}", trees.scan, name, _UP_TO.format(name)) for name in trees.OPERATORS)
(
    (exclusive_add, exclusive_add_tiled),
    (exclusive_mul, exclusive_mul_tiled),
    (exclusive_min, exclusive_min_tiled),
    (exclusive_max, exclusive_max_tiled),
    (exclusive_and, exclusive_and_tiled),
    (exclusive_or, exclusive_or_tiled),
    (exclusive_xor, exclusive_xor_tiled),
) = map(_exclusive, trees.OPERATORS)
(
    (segmented_reduce_add, segmented_reduce_add_tiled),
    (segmented_reduce_min, segmented_reduce_min_tiled),
    (segmented_reduce_max, segmented_reduce_max_tiled),
) = map(_segmented, ("add", "min", "max"))
bitonic_sort_kv, bitonic_sort_kv_tiled = _both(
    "bitonic_sort_kv",
    lambda size, key, value: trees.sort(key, value, size, "bitonic_sort_kv"),
    "the pairs (key, value) in ascending order, one a lane,",
)

__getattr__ = refuser("simt.subgroup", globals())
