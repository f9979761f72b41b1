"""T.cuda: CUDA C++'s functions of a kernel."""

from __future__ import annotations

import re
from collections.abc import Callable

from dsl.core.control_flow.assertions import require
from dsl.core.control_flow.statements import if_
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number.dtypes import Boolean, Float32, Int32, Int64, Numeric, Uint32, is_dynamic, numeric
from dsl.core.number.operators import operate
from dsl.core.number.pointer import Pointer
from dsl.core.phrase import shown
from dsl.gpu import debug
from dsl.gpu.arithmetic import bits, functions
from dsl.gpu.inline import ptx
from dsl.gpu.memory import atomic
from dsl.gpu.threads import registers, sync, warp
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.errors.unsupported import module_getattr as _refuser
from dsl.tirx.errors.upstream_names import CUDA as _UPSTREAM
from dsl.tirx.functions import ids, operations, warp_shuffles
from dsl.tirx.functions.cuda_operands import number_of, pointer_of
from dsl.tirx.functions.cuda_packed import (
    bfloat1622float2 as bfloat1622float2,
    float2_x as float2_x,
    float2_y as float2_y,
    float8tohalf8 as float8tohalf8,
    float22bfloat162_rn as float22bfloat162_rn,
    float22bfloat162_rn_from_float2 as float22bfloat162_rn_from_float2,
    float22half2 as float22half2,
    fp8x4_e4m3_from_float4 as fp8x4_e4m3_from_float4,
    half8tofloat8 as half8tofloat8,
    hmax2 as hmax2,
    hmin2 as hmin2,
    make_float2 as make_float2,
)
from dsl.tirx.functions.mbarrier_waits import (
    mbarrier_wait as mbarrier_wait,
    mbarrier_wait_acquire_cluster as mbarrier_wait_acquire_cluster,
)
from dsl.tirx.memory.buffer import load_vector
from dsl.tirx.syntax.choice import if_then_else
from dsl.tirx.values import dtypes
from dsl.tirx.values.effects import noted

BARRIERS, WARPGROUP = 16, 128  # named barriers of a block; threads of a warpgroup


# --- barriers --------------------------------------------------------------------------------------------------------


@noted
def cta_sync() -> None:
    """Wait for all threads of the block: __syncthreads()."""
    sync.sync_threads()


@noted
def elect_sync() -> Boolean:
    """True in one lane of the warp (0.27's name of T.ptx.elect_sync).  PTX ISA: elect.sync."""
    return sync.elected()


@noted
def warp_sync() -> None:
    """Wait for all lanes of the warp: __syncwarp()."""
    sync.sync_warp()


def check_barrier(number: object) -> None:
    """Raise for a barrier id that is not an integer from 0 to 15."""
    barrier = numeric(number)
    if barrier is None or not barrier.is_integer:
        raise DSLUserCodeTypeError(
            f"barrier id must be an integer, got {type_name(number)}",
            id="BARRIER_ID",
            fix=f"a number from 0 to {BARRIERS - 1}",
        )
    if not is_dynamic(barrier) and not 0 <= int(barrier.value) < BARRIERS:
        raise DSLUserCodeValueError(
            f"barrier id must be 0-{BARRIERS - 1}, got {int(barrier.value)}",
            id="BARRIER_ID",
            fix=f"a number from 0 to {BARRIERS - 1}",
        )


@noted
def warpgroup_sync(bar_no: object) -> None:
    """Wait at barrier `bar_no` for the 128 threads of a warpgroup: bar.sync bar_no, 128."""
    check_barrier(bar_no)
    sync.barrier(bar_no, WARPGROUP)


def _votes(name: str) -> Callable:
    @noted
    def vote(cond: object) -> Int32:
        text = (
            f"{{ .reg .pred %dsl_p, %dsl_q; setp.ne.b32 %dsl_p, $1, 0; bar.red.{name}.pred %dsl_q, 0, %dsl_p; "
            "selp.b32 $0, 1, 0, %dsl_q; }"
        )
        return Int32(ptx(text, Int32, "=r,r", Int32(Boolean(numeric(cond)))))

    vote.__name__ = vote.__qualname__ = f"syncthreads_{name}"
    which = {"and": "all", "or": "any"}[name]
    vote.__doc__ = f"Wait for all threads of the block; whether `cond` holds in {which} of them."
    return vote


syncthreads_and, syncthreads_or = _votes("and"), _votes("or")


@noted
def cluster_sync() -> None:
    """Wait for all threads of the cluster: barrier.cluster.arrive, and wait."""
    sync.cluster_arrive()
    sync.cluster_wait()


@noted
def thread_fence() -> None:
    """Order memory accesses as seen by the GPU: __threadfence()."""
    sync.fence_acq_rel_gpu()


@noted
def nano_sleep(time: object) -> None:
    """Wait for about so many nanoseconds.  PTX ISA: nanosleep."""
    ptx("nanosleep.u32 $0;", None, "r", Uint32(numeric(time)))


# --- lanes -----------------------------------------------------------------------------------------------------------


@noted
def ballot_sync(mask: object, pred: object) -> Uint32:
    """One bit a lane of `mask`: its `pred`."""
    return Uint32(warp.vote_ballot_sync(Boolean(numeric(pred)), Uint32(numeric(mask))))


@noted
def any_sync(mask: object, pred: object) -> Int32:
    """1 if `pred` holds in any lane of `mask`, else 0."""
    return Int32(warp.vote_any_sync(Boolean(numeric(pred)), Uint32(numeric(mask))))


@noted
def reduce_add_sync_u32(mask: object, value: object) -> Uint32:
    """The sum over the lanes of `mask`.  PTX ISA: redux.sync."""
    return Uint32(warp.warp_redux_sync(Uint32(numeric(value)), "add", Uint32(numeric(mask))))


@noted
def reduce_min_sync_u32(mask: object, value: object) -> Uint32:
    """The least over the lanes of `mask`."""
    return Uint32(warp.warp_redux_sync(Uint32(numeric(value)), "umin", Uint32(numeric(mask))))


def _shuffles(kind: str, name: str) -> Callable:
    def shuffle(mask: object, var: object, lane: object, width: object = 32) -> object:
        return warp_shuffles.shuffle(kind, mask, var, lane, width)

    shuffle.__doc__ = f"`var` of another lane.  PTX ISA: shfl.sync.{kind}."
    shuffle.__name__ = shuffle.__qualname__ = name
    return noted(shuffle)


__shfl_sync, __shfl_up_sync, __shfl_down_sync, __shfl_xor_sync = map(
    _shuffles, ("idx", "up", "down", "bfly"), ("__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync")
)
_shfl_sync, _shfl_up_sync, _shfl_down_sync, _shfl_xor_sync = (
    __shfl_sync,
    __shfl_up_sync,
    __shfl_down_sync,
    __shfl_xor_sync,
)


@noted
def __activemask() -> Uint32:
    """A mask of the active lanes."""
    return registers.activemask()


# --- reductions ------------------------------------------------------------------------------------------------------

_COMBINE = {"sum": lambda a, b: a + b, "max": operations.max, "min": operations.min}
_IDENTITY = {
    "sum": lambda dtype: 0,
    "max": lambda dtype: -float("inf") if dtype.is_float else dtype.min,
    "min": lambda dtype: float("inf") if dtype.is_float else dtype.max,
}


def _combiner(op: str) -> Callable:
    if op not in _COMBINE:
        raise DSLUserCodeValueError(
            f"the operation of a reduction must be sum, max or min, got {shown(op)}",
            id="REDUCE_OP",
            fix='"sum", "max" or "min"',
        )
    return _COMBINE[op]


@noted
def warp_reduce(value: object, op: str, width: int = 32) -> Numeric:
    """`op` ("sum", "max", "min") over each segment of `width` lanes, by a butterfly of shuffles; every lane has it."""
    combine, number = _combiner(op), number_of(f"warp_{op}", value)
    if not isinstance(width, int) or width not in (2, 4, 8, 16, 32):
        raise DSLUserCodeValueError(
            f"the width of a reduction must be 2, 4, 8, 16 or 32, got {shown(width)}",
            id="REDUCE_WIDTH",
            fix="width=32, all lanes of the warp",
        )
    dtype = type(number)
    offset = width // 2
    while offset:
        number = dtype(combine(number, warp.shuffle_sync_bfly(number, offset)))
        offset //= 2
    return number


@noted
def cta_reduce(value: object, op: str, num_warps: int, scratch: object) -> Numeric:
    """`op` over the `num_warps` warps of the block, through as many elements at `scratch`; every thread has it."""
    if not isinstance(num_warps, int) or not 1 <= num_warps <= 32:
        raise DSLUserCodeValueError(
            f"a block has 1 to 32 warps, got {shown(num_warps)}",
            id="REDUCE_WARPS",
            fix="the threads of the block divided by 32",
        )
    combine, number = _combiner(op), number_of(f"cta_{op}", value)
    dtype = type(number)
    place = pointer_of(f"cta_{op}", scratch).recast(dtype)
    number = warp_reduce(number, op)
    thread = thread_rank()
    own_warp, lane = thread >> 5, thread & 31
    _store_where(operate("eq", lane, 0), place + own_warp, number)
    sync.sync_threads()
    identity = dtype(_IDENTITY[op](dtype))
    partial = if_then_else(operate("lt", lane, num_warps), lambda: (place + lane).load(), lambda: identity)
    total = partial
    offset = 16
    while offset:
        total = dtype(combine(total, warp.shuffle_sync_bfly(total, offset)))
        offset //= 2
    sync.sync_threads()
    return total


def _store_where(test: Numeric, pointer: Pointer, value: Numeric) -> None:
    if_(test, lambda: pointer.store(value) or (), lambda: (), (), ())


warp_sum, warp_max, warp_min = (
    lambda value, width=32, op=op: warp_reduce(value, op, width) for op in ("sum", "max", "min")
)
cta_sum, cta_max, cta_min = (
    lambda value, num_warps, scratch, op=op: cta_reduce(value, op, num_warps, scratch) for op in ("sum", "max", "min")
)


# --- memory ----------------------------------------------------------------------------------------------------------


@noted
def atomic_add(res_addr: object, value: object) -> Numeric:
    """Add to memory atomically; returns the old value."""
    return atomic.update("add", pointer_of("atomic_add", res_addr), number_of("atomic_add", value))


@noted
def atomic_cas(ptr: object, old_val: object, new_val: object) -> Numeric:
    """Atomically replace `old_val` in memory; returns the old value."""
    return atomic.compare_and_swap(
        pointer_of("atomic_cas", ptr), number_of("atomic_cas", old_val), number_of("atomic_cas", new_val)
    )


@noted
def ldg(addr: object, dtype: object, *, dst: object = None, vec: str = "") -> object:
    """Load from an address that no thread writes during the kernel."""
    if dst is not None or vec:
        raise DSLUserCodeError(
            "T.cuda.ldg(dst=, vec=) is not part of this compiler yet",
            id="UNSUPPORTED_NAME",
            fix="T.cuda.ldg(addr, dtype)",
        )
    wanted, pointer = dtypes.find(dtype), pointer_of("ldg", addr)
    typed = pointer.recast(wanted.scalar)
    return typed.load() if wanted.lanes == 1 else load_vector(typed, wanted.lanes, min(wanted.bytes, 16))


def cvta_generic_to_shared(ptr: object) -> Uint32:
    """The address in shared memory as a number."""
    return Uint32(pointer_of("cvta_generic_to_shared", ptr).toint())


def smem_addr_from_uint64(cluster_addr: object) -> Uint32:
    """The lower 32 bits of an address in shared memory."""
    return Uint32(number_of("smem_addr_from_uint64", cluster_addr))


# --- numbers ---------------------------------------------------------------------------------------------------------


def thread_rank() -> Int32:
    """The thread's number in its block."""
    return ids.linear()


clock64 = noted(registers.clock64)


@noted
def mov_sreg(bits: int, reg_name: str) -> Numeric:
    """The special register `reg_name`, of 32 or 64 bits, as an integer.  PTX ISA: Special Registers."""
    if bits not in (32, 64):
        raise DSLUserCodeValueError(
            f"a special register has 32 or 64 bits, got {shown(bits)}",
            id="SPECIAL_REGISTER",
            fix="32, or 64 for clock64",
        )
    if not isinstance(reg_name, str) or not re.fullmatch(r"[a-z]\w*(\.[xyz])?", reg_name):
        raise DSLUserCodeValueError(
            f"the name of a special register must be as in PTX, without %, got {shown(reg_name)}",
            id="SPECIAL_REGISTER",
            fix='T.cuda.mov_sreg(32, "laneid")',
        )
    dtype, letter = (Int64, "l") if bits == 64 else (Int32, "r")
    return ptx(f"mov.u{bits} $0, %{reg_name};", dtype, f"={letter}")


def ffs_u32(value: object) -> Int32:
    """The position of the lowest set bit, from 1; 0 if no bit is set."""
    number = Uint32(numeric(value))
    lowest = Int32(bits.clz(bits.brev(number))) + 1
    return if_then_else(operate("eq", number, 0), lambda: Int32(0), lambda: lowest)


def float_as_uint(x: object) -> Uint32:
    """The bits of a float."""
    return Float32(numeric(x)).bitcast(Uint32)


def uint_as_float(bits: object) -> Float32:
    """A float of these bits."""
    return Uint32(numeric(bits)).bitcast(Float32)


def half2float(src: object) -> Float32:
    """A float16 or bfloat16 as float32."""
    return Float32(numeric(src))


bfloat162float = half2float


def fdividef(x: object, y: object) -> Float32:
    """x / y within 2 ulp: __fdividef."""
    return functions.div(Float32(numeric(x)), Float32(numeric(y)), approx=True)


# --- output and assertions -------------------------------------------------------------------------------------------


@noted
def printf(fmt: str, *args: object) -> None:
    """C's printf."""
    if not isinstance(fmt, str):
        raise DSLUserCodeTypeError(
            f"the format of printf must be text, got {type_name(fmt)}",
            id="PRINTF_FORMAT",
            fix='T.cuda.printf("%d\\n", x)',
        )
    debug.printf(fmt, *args, end="", braces=False)


@noted
def trap_when_assert_failed(cond: object) -> None:
    """End the kernel with a trap where `cond` does not hold."""
    number = numeric(cond)
    if number is None:
        raise DSLUserCodeTypeError(
            f"the condition must be a bool, got {type_name(cond)}", id="ASSERT_TYPE", fix="compare: `x > 0`"
        )
    require(Boolean(number), AssertionError, "trap_when_assert_failed")


__getattr__ = _refuser("T.cuda", globals(), _UPSTREAM)
