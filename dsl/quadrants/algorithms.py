"""`qd.algorithms`: sums, scans, selections and sorts of whole arrays, as funcs called at a kernel's outermost scope.

Each is a few loops over BLOCKS blocks; a block takes a contiguous part of the array, THREADS elements at a time. The
sums of the blocks are in the caller's `scratch`.  Source: Quadrants user guide, Algorithms.
"""

# This is a program in Quadrants, so its annotations are Quadrants' types.
# pyright: reportArgumentType=false, reportIndexIssue=false, reportInvalidTypeForm=false, reportGeneralTypeIssues=false
# pyright: reportOperatorIssue=false, reportCallIssue=false, reportAttributeAccessIssue=false, reportOptionalIterable=false
from __future__ import annotations

from typing import Any

from dsl.core.number.dtypes import Numeric
from dsl.core.phrase import shown
from dsl.quadrants.errors.errors import QuadrantsTypeError, WrongValue
from dsl.quadrants.errors.refused_names import refuser
from dsl.quadrants.functions.annotations import Template
from dsl.quadrants.functions.inlined_function import func
from dsl.quadrants.functions.kernel import kernel
from dsl.quadrants.hints import deprecated
from dsl.quadrants.memory.dense import Dense
from dsl.quadrants.memory.field import field
from dsl.quadrants.simt import block, trees
from dsl.quadrants.syntax.static import loop_config, static
from dsl.quadrants.values.atomic import atomic_add
from dsl.quadrants.values.dtypes import DataType, f32, f64, i32, i64, u32, u64
from dsl.quadrants.values.ops import bit_cast, cast, select as choose

__all__ = [
    "PrefixSumExecutor",
    "exclusive_scan_add",
    "exclusive_scan_max",
    "exclusive_scan_min",
    "exclusive_scan_scratch_slots",
    "parallel_sort",
    "reduce_add",
    "reduce_by_key_add",
    "reduce_by_key_scratch_slots",
    "reduce_max",
    "reduce_min",
    "reduce_scratch_slots",
    "select",
    "select_scratch_slots",
    "sort",
    "sort_scratch_slots",
]

BLOCKS, THREADS, DIGITS = 64, 256, 256
MOST_LOG256 = 4
_BITS = {i32: u32, u32: u32, f32: u32, i64: u64, u64: u64, f64: u64}


# --- known while compiling -----------------------------------------------------------------------------------


def _depth(log256_max_n: Any) -> None:
    """Raise WrongValue unless the capacity is 256 ** (1 to 4)."""
    if type(log256_max_n) is not int or not 1 <= log256_max_n <= MOST_LOG256:
        raise WrongValue.at(
            f"log256_max_n is an integer from 1 to {MOST_LOG256}, got {shown(log256_max_n)}",
            "the least one with 256 ** log256_max_n elements or more",
        )


def _bits_of(dtype: DataType) -> DataType:
    """The unsigned type as wide as `dtype`. Raises QuadrantsTypeError for other widths."""
    if dtype not in _BITS:
        raise QuadrantsTypeError.at(
            f"the elements are one of {', '.join(map(str, _BITS))}, got {shown(dtype)}", "convert the array"
        )
    return _BITS[dtype]


def _start(op: str, dtype: DataType) -> Numeric:
    """The value that changes no sum or extreme."""
    _bits_of(dtype)
    return trees.identity(op, dtype.core)


def _slots(count: int, log256_max_n: Any) -> int:
    if log256_max_n is not None:
        _depth(log256_max_n)
    return count


def reduce_scratch_slots(n, log256_max_n: int | None = None) -> int:
    """The elements of `scratch` that reduce_add, reduce_min and reduce_max need, whatever `n` is."""
    return _slots(BLOCKS, log256_max_n)


def exclusive_scan_scratch_slots(n, log256_max_n: int | None = None) -> int:
    """The elements of `scratch` that the scans need, whatever `n` is."""
    return _slots(BLOCKS, log256_max_n)


def select_scratch_slots(n) -> int:
    """The elements of `scratch` that `select` needs, whatever `n` is."""
    return BLOCKS


def reduce_by_key_scratch_slots(n) -> int:
    """The elements of `scratch` that `reduce_by_key_add` needs, whatever `n` is."""
    return BLOCKS


def sort_scratch_slots(n, log256_max_n: int | None = None) -> int:
    """The elements of `scratch` that `sort` needs, whatever `n` is."""
    return _slots(BLOCKS * DIGITS, log256_max_n)


# --- sums and scans --------------------------------------------------------------------------------------------------


@func
def _trips(n: i32) -> i32:
    """How often a block takes THREADS elements."""
    return (n + (BLOCKS * THREADS - 1)) // (BLOCKS * THREADS)


@func
def _place(trip: i32, n: i32) -> i32:
    """The element of this thread in a trip of its block."""
    return (block.block_idx() * _trips(n) + trip) * THREADS + block.thread_idx()


@func(requires_top_level=True)
def _sum_blocks(value: Template, source: Template, scratch: Template, n, dtype: Template, op: Template):
    """scratch[b] = `op` over the values of block b."""
    loop_config(block_dim=THREADS)
    for _ in range(BLOCKS * THREADS):
        total = cast(_start(op, dtype), dtype)
        for trip in range(_trips(n)):
            i = _place(trip, n)
            if i < n:
                total = trees.OPERATORS[op](total, value(source, i))
        whole = block.reduce_all(total, THREADS, trees.OPERATORS[op], dtype)
        if block.thread_idx() == 0:
            scratch[block.block_idx()] = bit_cast(whole, _bits_of(dtype))


@func(requires_top_level=True)
def _scan_sums(scratch: Template, dtype: Template, op: Template, total: Template):
    """An exclusive scan of the blocks' sums; total[0] is their sum, unless it is None."""
    loop_config(block_dim=BLOCKS)
    for b in range(BLOCKS):
        mine = bit_cast(scratch[b], dtype)
        before = block.exclusive_scan(mine, BLOCKS, trees.OPERATORS[op], _start(op, dtype), dtype)
        scratch[b] = bit_cast(before, _bits_of(dtype))
        if static(total is not None):
            if b == BLOCKS - 1:
                total[0] = trees.OPERATORS[op](before, mine)


@func
def _element(source: Template, i: i32):
    return source[i]


@func(requires_top_level=True)
def _reduce(arr: Template, out: Template, scratch: Template, n, dtype: Template, op: Template):
    _sum_blocks(_element, arr, scratch, n, dtype, op)
    _scan_sums(scratch, dtype, op, out)


@func(requires_top_level=True)
def _scan(
    arr: Template, out: Template, scratch: Template, n, dtype: Template, op: Template, inclusive: Template,
    offset: Template,
):  # fmt: skip
    _sum_blocks(_element_from, (arr, offset), scratch, n, dtype, op)
    _scan_sums(scratch, dtype, op, None)
    loop_config(block_dim=THREADS)
    for _ in range(BLOCKS * THREADS):
        before = bit_cast(scratch[block.block_idx()], dtype)
        for trip in range(_trips(n)):
            i = _place(trip, n)
            mine = cast(_start(op, dtype), dtype)
            if i < n:
                mine = arr[i + offset]
            first = block.exclusive_scan(mine, THREADS, trees.OPERATORS[op], _start(op, dtype), dtype)
            whole = block.reduce_all(mine, THREADS, trees.OPERATORS[op], dtype)
            result = trees.OPERATORS[op](before, first)
            if static(inclusive):
                result = trees.OPERATORS[op](result, mine)
            if i < n:
                out[i + offset] = result
            before = trees.OPERATORS[op](before, whole)


@func
def _element_from(source: Template, i: i32):
    return source[0][i + source[1]]


@func(requires_top_level=True)
def reduce_add(arr: Template, out: Template, scratch: Template, n, dtype: Template, log256_max_n: Template):
    """out[0] = the sum of arr[0:n]."""
    _depth(log256_max_n)
    _reduce(arr, out, scratch, n, dtype, "add")


@func(requires_top_level=True)
def reduce_min(arr: Template, out: Template, scratch: Template, n, dtype: Template, log256_max_n: Template):
    """out[0] = the least of arr[0:n]."""
    _depth(log256_max_n)
    _reduce(arr, out, scratch, n, dtype, "min")


@func(requires_top_level=True)
def reduce_max(arr: Template, out: Template, scratch: Template, n, dtype: Template, log256_max_n: Template):
    """out[0] = the greatest of arr[0:n]."""
    _depth(log256_max_n)
    _reduce(arr, out, scratch, n, dtype, "max")


@func(requires_top_level=True)
def exclusive_scan_add(arr: Template, out: Template, scratch: Template, n, dtype: Template, log256_max_n: Template):
    """out[i] = the sum of arr[0:i]."""
    _depth(log256_max_n)
    _scan(arr, out, scratch, n, dtype, "add", False, 0)


@func(requires_top_level=True)
def exclusive_scan_min(arr: Template, out: Template, scratch: Template, n, dtype: Template, log256_max_n: Template):
    """out[i] = the least of arr[0:i]."""
    _depth(log256_max_n)
    _scan(arr, out, scratch, n, dtype, "min", False, 0)


@func(requires_top_level=True)
def exclusive_scan_max(arr: Template, out: Template, scratch: Template, n, dtype: Template, log256_max_n: Template):
    """out[i] = the greatest of arr[0:i]."""
    _depth(log256_max_n)
    _scan(arr, out, scratch, n, dtype, "max", False, 0)


# --- selections ------------------------------------------------------------------------------------------------------


@func
def _is_head(keys: Template, i: i32) -> i32:
    """Whether a run of equal keys begins here."""
    head = 1
    if i > 0:
        head = cast(keys[i] != keys[i - 1], i32)
    return head


@func(requires_top_level=True)
def _numbered(flag: Template, source: Template, scratch: Template, n, action: Template, arrays: Template):
    """action(arrays, i, flag, k) for each element: k flags are before it. Needs scratch from _sum_blocks."""
    loop_config(block_dim=THREADS)
    for _ in range(BLOCKS * THREADS):
        before = cast(scratch[block.block_idx()], i32)
        for trip in range(_trips(n)):
            i = _place(trip, n)
            mine = 0
            if i < n:
                mine = flag(source, i)
            k = before + block.exclusive_add(mine, THREADS, i32)
            if i < n:
                action(arrays, i, mine, k)
            before += block.reduce_all_add(mine, THREADS, i32)


@func
def _copy_selected(arrays: Template, i: i32, flag: i32, k: i32):
    if flag != 0:
        arrays[0][k] = arrays[1][i]


@func(requires_top_level=True)
def select(
    arr: Template, flags: Template, out: Template, num_out: Template, scratch: Template, n, log256_max_n: Template
):
    """The elements of arr[0:n] whose flag is 1, in order; num_out[0] is how many. Flags are 0 or 1."""
    _depth(log256_max_n)
    _sum_blocks(_element, flags, scratch, n, i32, "add")
    _scan_sums(scratch, i32, "add", num_out)
    _numbered(_element, flags, scratch, n, _copy_selected, (out, arr))


@func
def _add_to_run(arrays: Template, i: i32, head: i32, k: i32):
    run = k + head - 1
    if head != 0:
        arrays[0][run] = arrays[1][i]
    atomic_add(arrays[2][run], arrays[3][i])


@func(requires_top_level=True)
def reduce_by_key_add(
    keys_in: Template, values_in: Template, keys_out: Template, values_out: Template, num_runs: Template,
    scratch: Template, n, value_dtype: Template, log256_max_n: Template,
):  # fmt: skip
    """The key and the sum of the values of each run of equal keys in keys_in[0:n]; num_runs[0] is how many."""
    _depth(log256_max_n)
    _sum_blocks(_is_head, keys_in, scratch, n, i32, "add")
    _scan_sums(scratch, i32, "add", num_runs)
    for k in range(num_runs[0]):
        values_out[k] = cast(0, value_dtype)
    _numbered(_is_head, keys_in, scratch, n, _add_to_run, (keys_out, keys_in, values_out, values_in))


# --- sorts -----------------------------------------------------------------------------------------------------------


@func
def _digit(key, dtype: Template, shift: Template) -> i32:
    """Eight bits of a key. The sign of signed numbers is turned, and the other bits of negative floats: so they order
    as unsigned numbers do."""
    bits = bit_cast(key, _bits_of(dtype))
    sign = cast(1, _bits_of(dtype)) << static(dtype.bytes * 8 - 1)
    if static(dtype in (f32, f64)):
        bits = choose((bits & sign) != 0, ~bits, bits | sign)
    elif static(dtype in (i32, i64)):
        bits = bits ^ sign
    return cast((bits >> static(shift)) & cast(DIGITS - 1, _bits_of(dtype)), i32)


@func(requires_top_level=True)
def _sort_by_digit(
    keys: Template, keys_out: Template, values: Template, values_out: Template, scratch: Template, n, dtype: Template,
    has_values: Template, shift: Template,
):  # fmt: skip
    """A stable sort by one digit: how many of each a block has, where they go, and there."""
    loop_config(block_dim=THREADS)
    for _ in range(BLOCKS * THREADS):
        counts = block.SharedArray(DIGITS, i32)
        counts[block.thread_idx()] = 0
        block.sync()
        for trip in range(_trips(n)):
            i = _place(trip, n)
            if i < n:
                counts[_digit(keys[i], dtype, shift)] += 1
        block.sync()
        scratch[block.thread_idx() * BLOCKS + block.block_idx()] = cast(counts[block.thread_idx()], u32)
    loop_config(block_dim=THREADS)
    for t in range(THREADS):
        before = 0
        for trip in range(BLOCKS * DIGITS // THREADS):
            mine = cast(scratch[trip * THREADS + t], i32)
            scratch[trip * THREADS + t] = cast(before + block.exclusive_add(mine, THREADS, i32), u32)
            before += block.reduce_all_add(mine, THREADS, i32)
    loop_config(block_dim=THREADS)
    for _ in range(BLOCKS * THREADS):
        t = block.thread_idx()
        starts = block.SharedArray(DIGITS, i32)
        counts, smaller = block.SharedArray(DIGITS, i32), block.SharedArray(DIGITS, i32)
        starts[t] = cast(scratch[t * BLOCKS + block.block_idx()], i32)
        for trip in range(_trips(n)):
            i = _place(trip, n)
            digit = DIGITS - 1  # of a thread without an element: after all others
            if i < n:
                digit = _digit(keys[i], dtype, shift)
            rank = block.radix_rank_match_atomic_or(cast(digit, u32), THREADS, 8, 0, 8, counts, smaller)
            if i < n:
                place = starts[digit] + rank - smaller[digit]
                keys_out[place] = keys[i]
                if static(has_values):
                    values_out[place] = values[i]
            block.sync()
            starts[t] += counts[t]
            block.sync()


def _passes(end_bit: Any) -> range:
    """The digits to sort by. Raises WrongValue unless there is an even number of them."""
    if type(end_bit) is not int or end_bit <= 0 or end_bit % 16:
        raise WrongValue.at(
            f"end_bit is a positive multiple of 16, got {shown(end_bit)}", "32 sorts by all bits of a 4-byte key"
        )
    return range(0, end_bit, 16)


@func(requires_top_level=True)
def sort(
    keys: Template, tmp_keys: Template, values: Template, tmp_values: Template, scratch: Template, n,
    key_dtype: Template, has_values: Template, end_bit: Template, log256_max_n: Template,
):  # fmt: skip
    """Sort keys[0:n[()]] in place and, if `has_values`, move `values` with them; equal keys keep their order."""
    _depth(log256_max_n)
    count = n[()]
    for low in static(_passes(end_bit)):
        _sort_by_digit(keys, tmp_keys, values, tmp_values, scratch, count, key_dtype, has_values, low)
        _sort_by_digit(tmp_keys, keys, tmp_values, values, scratch, count, key_dtype, has_values, low + 8)


# --- called from Python ----------------------------------------------------------------------------------------------


@kernel
def _merge_exchange(
    keys: Template, values: Template, has_values: Template, offset: Template, value_offset: Template, n: i32, p: i32,
    k: i32, count: i32,
):  # fmt: skip
    """A step of Batcher's odd-even merge sort: pairs that are `k` apart, in groups of 2 * `p`."""
    for pair in range(count):
        a = k % p + pair // k * (2 * k) + pair % k
        b = a + k
        if b < n and a // (2 * p) == b // (2 * p):
            if keys[a + offset] > keys[b + offset]:
                smaller = keys[b + offset]
                keys[b + offset] = keys[a + offset]
                keys[a + offset] = smaller
                if static(has_values):
                    moved = values[b + value_offset]
                    values[b + value_offset] = values[a + value_offset]
                    values[a + value_offset] = moved


def _offset(field: Any) -> int:
    return (getattr(field, "offset", None) or (0,))[0]


def parallel_sort(keys: Dense, values: Dense | None = None) -> None:
    """Sort a field of one dimension in place, and move `values` with the keys."""
    deprecated("qd.algorithms.parallel_sort", "qd.algorithms.sort")
    n = keys.shape[0]
    others = keys if values is None else values
    p = 1
    while p < n:
        k = p
        while k >= 1:
            _merge_exchange(keys, others, values is not None, _offset(keys), _offset(others), n, p, k, (n + 1) // 2 + k)
            k //= 2
        p *= 2


@kernel
def _running_sum(arr: Template, scratch: Template, offset: Template, n: i32):
    _scan(arr, arr, scratch, n, i32, "add", True, offset)


class PrefixSumExecutor:
    """The inclusive sums of a field of i32 of `length` elements, in place."""

    def __init__(self, length: int):
        deprecated("qd.algorithms.PrefixSumExecutor", "qd.algorithms.exclusive_scan_add")
        self.sorting_length = length
        self._scratch = field(u32, BLOCKS)

    def run(self, input_arr: Dense) -> None:
        """input_arr[i] = the sum of input_arr[0] to input_arr[i]. Raises QuadrantsTypeError for other types."""
        if input_arr.dtype is not i32:
            raise QuadrantsTypeError.at(
                f"Only qd.i32 type is supported for prefix sum, got {input_arr.dtype}",
                "qd.algorithms.exclusive_scan_add takes other types",
            )
        _running_sum(input_arr, self._scratch, _offset(input_arr), self.sorting_length)


__getattr__ = refuser("algorithms", globals())
