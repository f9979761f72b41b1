"""`qd.simt.block`: the threads of a block, which take `block_dim` iterations of a loop at the kernel's
outermost scope, and the memory that they share.  Source: Quadrants user guide, Block primitives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dsl.core.control_flow import statements
from dsl.core.number.dtypes import Int32, Numeric, Uint32, is_dynamic
from dsl.core.number.operators import operate, select
from dsl.core.number.pointer import Pointer
from dsl.core.phrase import shown
from dsl.gpu.arithmetic import bits
from dsl.gpu.threads import index, sync as gpu_sync, warp
from dsl.quadrants.errors.errors import QuadrantsSyntaxError, QuadrantsTypeError
from dsl.quadrants.errors.refused_names import refuser
from dsl.quadrants.functions.signature import shape_of
from dsl.quadrants.functions.task import program
from dsl.quadrants.hints import deprecated
from dsl.quadrants.memory.dense import Indexed
from dsl.quadrants.simt import trees
from dsl.quadrants.values import dtypes as types
from dsl.quadrants.values.assignable import value_of
from dsl.quadrants.values.scalar_functions import number_of
from dsl.tile.memory.memory import alloc_smem


def sync() -> None:
    """Wait for all threads of the block.  PTX ISA: bar.sync 0. Raises QuadrantsRuntimeError outside kernels."""
    program().task.effect()
    gpu_sync.sync_threads()


def _reduced(predicate: Any, kind: str, what: str) -> Int32:
    program().task.effect()
    return gpu_sync.sync_threads_reduced(trees.holds(predicate, what), kind)


def sync_all_nonzero(predicate) -> Int32:
    """Wait as `sync`; 1 where `predicate` is not zero in all threads, else 0.  PTX ISA: barrier.red.and."""
    return _reduced(predicate, "and", "sync_all_nonzero")


def sync_any_nonzero(predicate) -> Int32:
    """Wait as `sync`; 1 where `predicate` is not zero in some thread, else 0.  PTX ISA: barrier.red.or."""
    return _reduced(predicate, "or", "sync_any_nonzero")


def sync_count_nonzero(predicate) -> Int32:
    """Wait as `sync`; in how many threads `predicate` is not zero.  PTX ISA: barrier.red.popc."""
    return _reduced(predicate, "popc", "sync_count_nonzero")


def mem_fence() -> None:
    """Order this thread's accesses as the block sees them.  PTX ISA: membar.cta. Raises as `sync`."""
    program().task.effect()
    gpu_sync.fence_acq_rel_cta()


def mem_sync() -> None:
    """The old name of `mem_fence`."""
    deprecated("qd.simt.block.mem_sync", "qd.simt.block.mem_fence")
    mem_fence()


def thread_idx() -> Int32:
    """The number of this thread in its block, x fastest.  PTX ISA: %tid. Raises as `sync`."""
    x, y, z = index.thread_idx()
    width, height, depth = program().task.block
    is_row = not is_dynamic(height) and not is_dynamic(depth) and height == depth == 1
    return x if is_row else x + (y + z * Int32(height)) * Int32(width)


def global_thread_idx() -> Int32:
    """The number of this thread in the grid. Raises as `sync`."""
    return program().task.thread_number()


def block_idx() -> Int32:
    """The number of this thread's block in the grid.  PTX ISA: %ctaid. Raises as `sync`."""
    program().task  # noqa: B018 - a host has no block
    return index.block_idx()[0]


class SharedArray(Indexed):
    """Memory that the threads of a block share, with undefined values at first; made where they run."""

    label = "shared array"

    def __init__(self, shape, dtype):
        self.task = program().task
        if not self.task.is_parallel:
            raise QuadrantsSyntaxError.at(
                "a SharedArray belongs to the threads of a block, but this is outside the loop that becomes a grid",
                "make it in the body of the outermost loop",
            )
        self.shape = shape_of(shape, "shared array")
        self.element_shape = tuple(getattr(dtype, "element_shape", ()))
        self.element_type = self.dtype = types.existing(dtype.dtype if self.element_shape else dtype)
        count = math.prod(self.shape) * math.prod(self.element_shape)
        self._pointer = alloc_smem(self.element_type.core, count)

    def in_words(self) -> str:
        return "a shared array"

    def base(self) -> Pointer:
        if program().task is not self.task:
            raise QuadrantsSyntaxError.at(
                "this SharedArray belongs to another loop, whose threads have ended",
                "make one in each loop, and pass values on in a field",
            )
        return self._pointer

    def __getitem__(self, key: Any) -> Any:
        return self.element(key)


# --- sums, extremes and scans over the block -------------------------------------------------------------------------


def _threads(block_dim: Any, what: str) -> int:
    """`block_dim`: the threads of a block of the loop, a multiple of a warp. Raises QuadrantsTypeError."""
    count = value_of(block_dim)
    count = count.value if isinstance(count, Numeric) and not is_dynamic(count) else count
    if type(count) is not int or count < warp.WARP_SIZE or count % warp.WARP_SIZE:
        got = "a run-time value" if isinstance(count, Numeric) else shown(count)
        raise QuadrantsTypeError.at(
            f"block.{what}: block_dim must be a positive multiple of subgroup size, which is 32, got {got}",
            "pass the number of threads that qd.loop_config(block_dim=) sets",
        )
    extents = program().task.block
    if not any(map(is_dynamic, extents)) and math.prod(map(int, extents)) != count:
        raise QuadrantsTypeError.at(
            f"block.{what}: block_dim is {count}, but the blocks of this loop have {math.prod(map(int, extents))} "
            "threads",
            f"write `qd.loop_config(block_dim={count})` before the loop",
        )
    return count


def _of_warps(value: Numeric, is_owner: Any, count: int, dtype: Any) -> list[Numeric]:
    """The value of each warp, from the thread for which `is_owner` holds, as all threads of the block read it."""
    core = types.existing(dtype).core
    shared = SharedArray(count // warp.WARP_SIZE, dtype)
    sync()  # an earlier trip of a loop may still be read
    _where(is_owner, lambda: shared[thread_idx() // warp.WARP_SIZE].store(core(value)))
    sync()
    return [shared[number].load() for number in range(count // warp.WARP_SIZE)]


def _where(flag: Any, body: Callable) -> None:
    statements.if_(flag, lambda: (body(), ())[1], tuple, (), ())


def _total(value: Any, block_dim: Any, combine: trees.Operator, dtype: Any, what: str) -> Numeric:
    count = _threads(block_dim, what)
    total = trees.reduce_all(value, combine, trees.LOG2_LANES, what)
    if count == warp.WARP_SIZE:
        return total
    first, *rest = _of_warps(total, operate("eq", trees.lane(), Int32(0)), count, dtype)
    for part in rest:
        first = trees.combined(combine, first, part)
    return type(total)(first)


def _before(value: Any, block_dim: Any, combine: trees.Operator, dtype: Any, what: str, first: Any = None) -> Numeric:
    """A scan; exclusive if it is given a `first` value."""
    count = _threads(block_dim, what)
    number = trees.traced(value, what)
    whole = trees.scan(number, combine, trees.LOG2_LANES, what)
    if first is None:
        mine = whole
    else:
        first = type(number)(number_of(value_of(first), what))
        mine = trees.exclusive_scan(number, combine, first, trees.LOG2_LANES, what)
    if count == warp.WARP_SIZE:
        return mine
    totals = _of_warps(whole, operate("eq", trees.lane(), Int32(warp.WARP_SIZE - 1)), count, dtype)
    here, before = thread_idx() // warp.WARP_SIZE, type(number)(totals[0])
    for place, total in enumerate(totals[1:], 1):
        longer = trees.combined(combine, before, mine)
        mine = select(operate("eq", here, Int32(place)), longer, mine)
        before = trees.combined(combine, before, type(number)(total))
    return mine


def reduce(value, block_dim, op, dtype) -> Numeric:
    """`op` over the values of all threads. Only thread 0 may count on it."""
    return _total(value, block_dim, op, dtype, "reduce")


def reduce_all(value, block_dim, op, dtype) -> Numeric:
    """`op` over the values of all threads, in each of them."""
    return _total(value, block_dim, op, dtype, "reduce_all")


def inclusive_scan(value, block_dim, op, dtype) -> Numeric:
    """`op` over the values of the threads up to this one."""
    return _before(value, block_dim, op, dtype, "inclusive_scan")


def exclusive_scan(value, block_dim, op, identity, dtype) -> Numeric:
    """`op` over the values of the threads before this one; `identity` in thread 0."""
    return _before(value, block_dim, op, dtype, "exclusive_scan", identity)


def _named(kind: str, combined: str, function: Callable) -> Callable:
    function.__name__ = function.__qualname__ = f"{kind}_{combined}"
    function.__doc__ = f"`{kind}` by `{combined}`."
    return function


def _reduction(kind: str, combined: str) -> Callable:
    def function(value, block_dim, dtype):
        return _total(value, block_dim, trees.OPERATORS[combined], dtype, f"{kind}_{combined}")

    return _named(kind, combined, function)


def _scan(kind: str, combined: str) -> Callable:
    def function(value, block_dim, dtype):
        number, what = trees.traced(value, f"{kind}_{combined}"), f"{kind}_{combined}"
        first = trees.identity(combined, type(number)) if kind == "exclusive" else None
        return _before(number, block_dim, trees.OPERATORS[combined], dtype, what, first)

    return _named(kind, combined, function)


reduce_add, reduce_min, reduce_max = (_reduction("reduce", name) for name in ("add", "min", "max"))
reduce_all_add, reduce_all_min, reduce_all_max = (_reduction("reduce_all", name) for name in ("add", "min", "max"))
inclusive_add, inclusive_min, inclusive_max = (_scan("inclusive", name) for name in ("add", "min", "max"))
exclusive_add, exclusive_min, exclusive_max = (_scan("exclusive", name) for name in ("add", "min", "max"))


def radix_rank_match_atomic_or(key, block_dim, radix_bits, bit_start, num_bits, bins, excl_prefix) -> Int32:
    """The place of this thread's `key` in the order of a digit of the block's keys; equal ones keep their order.

    The digit is `num_bits` bits of the u32 `key` from `bit_start` on. The block has a thread for each of the
    1 << radix_bits digits; `bins` gets how many keys have a digit, `excl_prefix` how many have a smaller one.
    """
    count, name = _threads(block_dim, "radix_rank_match_atomic_or"), "radix_rank_match_atomic_or"
    if count != 1 << radix_bits or num_bits > radix_bits:
        raise QuadrantsTypeError.at(
            f"block.{name}: block_dim must equal 1 << radix_bits and num_bits be at most radix_bits, got {count}, "
            f"{radix_bits} and {num_bits}",
            f"block_dim={1 << radix_bits}" if count != 1 << radix_bits else f"num_bits={radix_bits}",
        )
    digit = Int32((Uint32(trees.traced(key, name)) >> Uint32(bit_start)) & Uint32((1 << num_bits) - 1))
    peers = warp.match_sync(Int32(-1), digit, "any")
    earlier = Int32(bits.popc(peers & ((Uint32(1) << Uint32(trees.lane())) - Uint32(1))))
    of_warps = SharedArray((count // warp.WARP_SIZE, count), types.i32)
    here, mine = thread_idx(), thread_idx() // warp.WARP_SIZE
    sync()  # an earlier trip of a loop may still be read
    for number in range(count // warp.WARP_SIZE):
        of_warps[number, here].store(Int32(0))
    sync()
    _where(operate("eq", earlier, Int32(0)), lambda: of_warps[mine, digit].store(Int32(bits.popc(peers))))
    sync()
    total = Int32(0)
    for number in range(count // warp.WARP_SIZE):
        part = of_warps[number, here].load()
        of_warps[number, here].store(total)
        total = total + part
    smaller = _before(total, count, trees.OPERATORS["add"], types.i32, name, Int32(0))
    bins[here].store(total)
    excl_prefix[here].store(smaller)
    sync()
    return excl_prefix[digit].load() + of_warps[mine, digit].load() + earlier


__getattr__ = refuser("simt.block", globals())
