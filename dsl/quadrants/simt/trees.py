"""Sums, extremes and scans over groups of 2**log2_size lanes of a warp, by shuffles."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

from dsl.core.number.dtypes import Boolean, Int32, Numeric, Uint32, is_dynamic
from dsl.core.number.operators import operate, select
from dsl.core.phrase import shown
from dsl.gpu.arithmetic import bits
from dsl.gpu.threads import index, warp
from dsl.quadrants.errors.errors import QuadrantsTypeError
from dsl.quadrants.functions.task import dynamic, program
from dsl.quadrants.values import ops
from dsl.quadrants.values.assignable import value_of
from dsl.quadrants.values.scalar_functions import integer_of, number_of

Operator = Callable[[Any, Any], Any]
LOG2_LANES = 5
# How two values combine, and what the first lane of an exclusive scan holds. Source: Quadrants user guide, Subgroup.
OPERATORS: dict[str, Operator] = {
    "add": operator.add,
    "mul": operator.mul,
    "min": ops.min,
    "max": ops.max,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}


def identity(name: str, dtype: type[Numeric]) -> Numeric:
    """The value that changes nothing when it is combined with another."""
    if name in ("min", "max"):
        if dtype.is_float:
            return dtype(math.inf if name == "min" else -math.inf)
        if dtype is Boolean:
            return Boolean(name == "min")
        return dtype(dtype.max if name == "min" else dtype.min)
    if name == "and":
        return dtype(-1 if dtype.signed else dtype.max)
    return dtype(1 if name == "mul" else 0)


def traced(value: Any, what: str) -> Numeric:
    """The number that a lane brings. Raises QuadrantsTypeError for other things, QuadrantsRuntimeError in Python."""
    program().task  # noqa: B018 - not while the host evaluates
    return dynamic(number_of(value_of(value), what))


def lane() -> Int32:
    """The number of this lane in its warp."""
    program().task  # noqa: B018 - as above
    return index.lane_idx()


def holds(predicate: Any, what: str) -> Boolean:
    """Whether an integer is not zero."""
    return Boolean(integer_of(value_of(predicate), what))


def size_of(log2_size: Any, what: str) -> int:
    """`log2_size`, known while compiling. Raises QuadrantsTypeError."""
    size = value_of(log2_size)
    size = size.value if isinstance(size, Numeric) and not is_dynamic(size) else size
    if type(size) is not int or not 0 <= size <= LOG2_LANES:
        got = "a run-time value" if isinstance(size, Numeric) else shown(size)
        raise QuadrantsTypeError.at(
            f"`log2_size` of {what} is an integer from 0 to {LOG2_LANES}, known while compiling, got {got}",
            f"{LOG2_LANES} takes all 32 lanes",
        )
    return size


def shuffled(value: Any, lanes: Any, kind: str, what: str) -> Numeric:
    """The value of another lane. `kind`: idx, up, down or bfly, which `lanes` is the operand of."""
    number, operand = traced(value, what), integer_of(value_of(lanes), what)
    clamp = 0 if kind == "up" else 31
    return type(number)(warp.shuffle_sync_op(number, operand, warp.FULL_MASK, clamp, kind))


def combined(combine: Operator, a: Numeric, b: Numeric) -> Numeric:
    """`combine(a, b)` in the type of the lanes' values."""
    return type(a)(number_of(value_of(combine(a, b)), "the operator"))


def _offsets(log2_size: int) -> Iterator[int]:
    return (1 << step for step in range(log2_size))


def reduce(value: Any, combine: Operator, log2_size: int, what: str) -> Numeric:
    """All values of the group, in its first lane; other lanes hold parts."""
    total = traced(value, what)
    for offset in reversed(list(_offsets(log2_size))):
        total = combined(combine, total, shuffled(total, offset, "down", what))
    return total


def reduce_all(value: Any, combine: Operator, log2_size: int, what: str) -> Numeric:
    """All values of the group, in each lane."""
    total = traced(value, what)
    for offset in _offsets(log2_size):
        total = combined(combine, total, shuffled(total, offset, "bfly", what))
    return total


def scan(value: Any, combine: Operator, log2_size: int, what: str, distance: Numeric | None = None) -> Numeric:
    """The values up to this lane. `distance`: how many lanes before this one count, by default all of the group."""
    total = traced(value, what)
    before = lane() & ((1 << log2_size) - 1) if distance is None else distance
    for offset in _offsets(log2_size):
        longer = combined(combine, shuffled(total, offset, "up", what), total)
        total = select(operate("ge", before, Int32(offset)), longer, total)
    return total


def exclusive_scan(value: Any, combine: Operator, first: Any, log2_size: int, what: str) -> Numeric:
    """The values before this lane; `first` in the first lane of the group."""
    number = traced(value, what)
    start = type(number)(number_of(value_of(first), what))
    is_first = operate("eq", lane() & ((1 << log2_size) - 1), Int32(0))
    return scan(select(is_first, start, shuffled(number, 1, "up", what)), combine, log2_size, what)


def segmented(value: Any, head_flag: Any, combine: Operator, log2_size: int, what: str) -> Numeric:
    """The values from the last lane up to this one whose `head_flag` is not zero, or from the group's first lane."""
    here = lane()
    first = Uint32(1) << Uint32(here & ~((1 << log2_size) - 1))
    heads = Uint32(warp.vote_ballot_sync(holds(head_flag, what))) | first
    up_to_here = Uint32(warp.FULL_MASK) >> Uint32(Int32(31) - here)
    last = Int32(31) - Int32(bits.clz(heads & up_to_here))
    return scan(value, combine, log2_size, what, here - last)


def sort(key: Any, value: Any, log2_size: int, what: str) -> tuple[Numeric, Numeric]:
    """The pairs of the group in ascending order of (key, value), one a lane: a bitonic network."""
    pair = traced(key, what), traced(value, what)
    here = lane()
    for step in range(1, log2_size + 1):
        for stride in reversed(range(step)):
            other = tuple(shuffled(part, 1 << stride, "bfly", what) for part in pair)
            is_low = operate("eq", here & (1 << stride), Int32(0))
            ascends = operate("eq", here & (1 << step) & ((1 << log2_size) - 1), Int32(0))
            takes = select(operate("eq", is_low, ascends), _below(other, pair), _below(pair, other))
            pair = tuple(select(takes, theirs, mine) for theirs, mine in zip(other, pair))
    return pair


def _below(a: tuple, b: tuple) -> Boolean:
    tie = operate("and", operate("eq", a[0], b[0]), operate("lt", a[1], b[1]))
    return Boolean(operate("or", operate("lt", a[0], b[0]), tie))
