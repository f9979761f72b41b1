"""T.ptx: PTX instructions by their names."""

from __future__ import annotations

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.number.dtypes import Boolean, Float32, Int32, Uint32, is_dynamic, numeric
from dsl.core.phrase import shown
from dsl.gpu.arithmetic import functions, math
from dsl.gpu.inline import ptx as _text
from dsl.gpu.threads import launch_control, mbarrier as gpu_mbarrier, sync, warp
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.errors.upstream_names import PTX as _UPSTREAM, PTX_GROUPS as _GROUPS
from dsl.tirx.functions.cuda import check_barrier
from dsl.tirx.functions.instruction_arguments import SINK, Moved, Predicate
from dsl.tirx.functions.instructions import Namespace
from dsl.tirx.functions.mbarrier_waits import barrier_of, mbarrier_wait
from dsl.tirx.values.effects import noted


@noted
def elect_sync() -> Boolean:
    """True in one lane of the warp.  PTX ISA: elect.sync."""
    return sync.elected()


@noted
def any_sync(mask: object, pred: object) -> Boolean:
    """Whether `pred` holds in any lane of `mask`.  PTX ISA: vote.sync.any."""
    return warp.vote_any_sync(Boolean(numeric(pred)), Uint32(numeric(mask)))


def exp2(x: object) -> Float32:
    """2**x.  PTX ISA: ex2.approx.ftz.f32."""
    return functions.exp2(Float32(numeric(x)), approx=True, ftz=True)


def rcp(x: object) -> Float32:
    """1 / x.  PTX ISA: rcp.approx.ftz.f32."""
    return functions.rcp(Float32(numeric(x)), approx=True, ftz=True)


def max_f32(a: object, b: object, *, ftz: bool = False, nan: bool = False) -> Float32:
    """The larger.  PTX ISA: max.f32."""
    return math.fmax(a, b, ftz=ftz, nan=nan)


@noted
def _bar_sync(name_bar_id: object, thread_count: object) -> None:
    """Wait for `thread_count` threads at barrier `name_bar_id`, 0 to 15.  PTX ISA: bar.sync."""
    check_barrier(name_bar_id)
    sync.barrier(name_bar_id, thread_count)


@noted
def _bar_arrive(name_bar_id: object, thread_count: object) -> None:
    """Arrive without waiting.  PTX ISA: bar.arrive."""
    check_barrier(name_bar_id)
    sync.barrier_arrive(name_bar_id, thread_count)


@noted
def _fence(sem: str = "acq_rel", scope: str = "gpu") -> None:
    """`T.ptx.fence("acq_rel", "gpu")`.  PTX ISA: fence."""
    if sem not in ("acq_rel", "sc", "acquire", "release") or scope not in ("cta", "cluster", "gpu", "sys"):
        raise DSLUserCodeError(f"no fence is called {sem}.{scope}", fix='T.ptx.fence("acq_rel", "gpu")', id="FENCE")
    _text(f"fence.{sem}.{scope};", None, "")


@noted
def _proxy_async(space: str = "") -> None:
    """Order accesses of the generic and the async proxy."""
    if space not in ("", "global", "shared::cta", "shared::cluster"):
        raise DSLUserCodeError(f"no proxy fence is of {shown(space)}", fix='"shared::cta" or "global"', id="FENCE")
    _text(f"fence.proxy.async{'.' if space else ''}{space};", None, "")


@noted
def setmaxnreg(inc: bool, reg_count: int) -> None:
    """More or fewer registers a thread of the warpgroup.  PTX ISA: setmaxnreg."""
    launch_control.set_registers("inc" if inc else "dec", reg_count)


# --- mbarrier --------------------------------------------------------------------------------------------------------


@noted
def _arrive(bar: object) -> None:
    """Arrive once.  PTX ISA: mbarrier.arrive."""
    gpu_mbarrier.arrive(barrier_of(bar))


@noted
def _expect_tx(bar: object, byte_count: object) -> None:
    """Arrive once, and expect this number of bytes.  PTX ISA: mbarrier.arrive.expect_tx."""
    gpu_mbarrier.arrive_expect_tx(barrier_of(bar), byte_count)


@noted
def _init(bar: object, thread_count: object) -> None:
    """Make a barrier whose phases end with this number of arrivals; one thread does."""
    gpu_mbarrier.init(barrier_of(bar), thread_count)


@noted
def _try_wait_once(bar: object, phase: object, ticks: object = None) -> Boolean:
    """Whether the phase of parity `phase` has ended, after waiting a while."""
    return gpu_mbarrier.try_wait(barrier_of(bar), Int32(numeric(phase)))


def pred(value: object) -> Predicate:
    """`value`, an integer or a bool, as the predicate that an instruction reads."""
    return Predicate(value)


def addr(base: object, byte_offset: object) -> Moved:
    """The address `byte_offset` bytes after `base`: [base+offset]."""
    offset = numeric(byte_offset)
    if offset is None or is_dynamic(offset) or not offset.is_integer:
        raise DSLUserCodeTypeError(
            f"T.ptx.addr takes a number of bytes known while compiling, got {type_name(byte_offset)}",
            id="PTX_OPERANDS",
            fix="move the address: `A.ptr_to([i])`",
        )
    return Moved(base, int(offset.value))


_OWN = {
    ("elect_sync",): elect_sync,
    ("any_sync",): any_sync,
    ("exp2",): exp2,
    ("rcp",): rcp,
    ("max_f32",): max_f32,
    ("bar", "sync"): _bar_sync,
    ("bar", "arrive"): _bar_arrive,
    ("barrier", "sync"): _bar_sync,
    ("griddepcontrol", "wait"): noted(launch_control.griddepcontrol_wait),
    ("griddepcontrol", "launch_dependents"): noted(launch_control.griddepcontrol_launch_dependents),
    ("fence",): _fence,
    ("fence", "mbarrier_init"): noted(gpu_mbarrier.init_fence),
    ("fence", "proxy_async"): _proxy_async,
    ("setmaxnreg",): setmaxnreg,
    ("mbarrier", "init"): _init,
    ("mbarrier", "arrive"): _arrive,
    ("mbarrier", "arrive", "expect_tx"): _expect_tx,
    ("mbarrier", "try_wait"): mbarrier_wait,
    ("mbarrier", "try_wait_once"): _try_wait_once,
}
# What 0.27 has in the place of names of 0.26 that it refuses.
_NEWER = {
    "elect_sync": "T.cuda.elect_sync()",
    "any_sync": "T.cuda.any_sync(mask, pred)",
    "exp2": "T.ptx.ex2.approx.ftz.f32(d, x)",
    "rcp": "T.ptx.rcp.approx.ftz.f32(d, x)",
    "max_f32": "T.ptx.max.f32(d, a, b)",
    "fence": "T.ptx.fence.acq_rel.gpu()",
    "fence.mbarrier_init": "T.ptx.fence.mbarrier_init.release.cluster()",
    "fence.proxy_async": "T.ptx.fence.proxy.async_.shared__cta()",
    "setmaxnreg": "T.ptx.setmaxnreg.inc.sync.aligned.u32(count)",
    "mbarrier.init": "T.ptx.mbarrier.init.shared.b64(bar, count)",
    "mbarrier.arrive": "T.ptx.mbarrier.arrive.shared.b64(state, bar)",
    "mbarrier.arrive.expect_tx": "T.ptx.mbarrier.arrive.expect_tx.shared.b64(state, bar, bytes)",
    "mbarrier.try_wait": "T.cuda.mbarrier_wait(bar, phase)",
    "mbarrier.try_wait_once": "T.ptx.mbarrier.try_wait.parity.shared.b64(done, bar, phase)",
}
NAMESPACE = Namespace(_OWN, _NEWER, {"pred": pred, "addr": addr, "SINK": SINK}, _UPSTREAM, _GROUPS)
