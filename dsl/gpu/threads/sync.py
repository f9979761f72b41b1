"""Barriers and fences.  PTX ISA: Parallel Synchronization and Communication Instructions."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Int32, static_int
from dsl.core.phrase import Phrase, shown
from dsl.gpu.inline import intrinsic, ptx

MOST_THREADS = 1024  # of a block


def sync_threads() -> None:
    """Wait for all threads of the block.  PTX ISA: bar.sync 0."""
    intrinsic("nvvm.barrier.cta.sync.aligned.all", None, Int32(0))


def barrier(barrier_id=None, number_of_threads=None) -> None:
    """Wait at barrier `barrier_id` (0 to 15) for `number_of_threads`, a multiple of 32.  PTX ISA: barrier.sync."""
    identifier = _identifier(barrier_id)
    if number_of_threads is None:
        intrinsic("nvvm.barrier.cta.sync.aligned.all", None, identifier)
    else:
        _check_count(number_of_threads)
        intrinsic("nvvm.barrier.cta.sync.aligned.count", None, identifier, Int32(number_of_threads))


def sync_threads_reduced(pred, kind: str) -> Int32:
    """Wait for all threads of the block; whether `pred` holds in all ("and") or some ("or") of them, or in how many
    ("popc").  PTX ISA: barrier.red.
    """
    if kind == "popc":
        return ptx("barrier.cta.red.popc.aligned.u32 $0, 0, $1;", Int32, "=r,b", Boolean(pred))
    text = f"{{ .reg .pred p; barrier.cta.red.{kind}.aligned.pred p, 0, $1; selp.b32 $0, 1, 0, p; }}"
    return ptx(text, Int32, "=r,b", Boolean(pred))


def barrier_arrive(barrier_id=None, number_of_threads=None, aligned: bool = True) -> None:
    """Arrive at a barrier without waiting.  PTX ISA: barrier.arrive. Raises where no count is given: PTX needs one.

    `aligned`: all threads of a warp arrive together.
    """
    if number_of_threads is None:
        raise DSLUserCodeError(
            "barrier_arrive needs the number of threads that take part",
            fix="barrier_arrive(barrier_id=1, number_of_threads=64)",
        )
    _check_count(number_of_threads)
    how = "arrive.aligned.count" if aligned else "arrive.count"
    intrinsic(f"nvvm.barrier.cta.{how}", None, _identifier(barrier_id), Int32(number_of_threads))


def _identifier(barrier_id) -> Int32:
    """The number of a barrier, 0 unless given. Raises DSLUserCodeValueError for one that no block has."""
    number = static_int(barrier_id)
    if number is not None and not 0 <= number < 16:
        raise DSLUserCodeValueError(
            f"barrier id must be 0-15, got {number}", fix="give the number of one of the 16 barriers", id="BARRIER_ID"
        )
    return Int32(0 if barrier_id is None else barrier_id)


def _check_count(number_of_threads) -> None:
    count = static_int(number_of_threads)
    if count is not None and (count <= 0 or count % 32):
        raise DSLUserCodeError(
            f"number of threads at a barrier must be a multiple of 32, got {count}",
            fix="round the count up to a multiple of 32",
        )
    if count is not None and count > MOST_THREADS:
        raise DSLUserCodeError(
            f"number of threads at a barrier must be at most {MOST_THREADS}, got {count}",
            fix="give the number of threads of the block that come to this barrier",
        )


def sync_warp(mask=0xFFFFFFFF) -> None:
    """Wait for the lanes of `mask`.  PTX ISA: bar.warp.sync."""
    intrinsic("nvvm.bar.warp.sync", None, Int32(mask))


def fence_acq_rel_cta() -> None:
    """Order memory accesses as seen by the block.  PTX ISA: membar.cta."""
    intrinsic("nvvm.membar.cta", None)


def fence_acq_rel_gpu() -> None:
    """Order memory accesses as seen by the GPU.  PTX ISA: membar.gl."""
    intrinsic("nvvm.membar.gl", None)


def fence_acq_rel_cluster() -> None:
    """Order memory accesses as seen by the cluster.  PTX ISA: fence.acq_rel."""
    ptx("fence.acq_rel.cluster;", None, "")


def fence_acq_rel_sys() -> None:
    """Order memory accesses as seen by the GPUs and the host.  PTX ISA: membar.sys."""
    intrinsic("nvvm.membar.sys", None)


_PROXIES = {  # by kind and space
    ("alias", None): "alias",
    ("async", None): "async",
    ("async.global", None): "async.global",
    ("async.shared", "cta"): "async.shared::cta",
    ("async.shared", "cluster"): "async.shared::cluster",
}


def fence_proxy(kind: str, *, space: str | None = None, use_intrinsic: bool | None = None) -> None:
    """Order this thread's accesses with those through a proxy: "alias", "async" (bulk copies, TMA, wgmma),
    "async.global", or "async.shared" of `space` "cta" or "cluster".  PTX ISA: fence.proxy. Raises DSLUserCodeValueError
    for another.
    """
    proxy = _PROXIES.get((kind, space))
    if proxy is None:
        raise DSLUserCodeValueError(
            f"fence_proxy does not support {shown(kind)}" + (f" in {shown(space)}" if space else ""),
            fix=Phrase('cute.arch.fence_proxy("async.shared", space="cta")', "IN_CUTE"),
            id="FENCE_PROXY",
        )
    ptx(f"fence.proxy.{proxy};", None, "")


def fence_view_async_shared() -> None:
    """Let copies through the async proxy see what this thread wrote to shared memory."""
    fence_proxy("async.shared", space="cta")


def cluster_arrive(*, aligned: bool | None = None) -> None:
    """Arrive at the barrier of the cluster; `cluster_wait` waits.  PTX ISA: barrier.cluster.arrive."""
    ptx(f"barrier.cluster.arrive{'.aligned' if aligned else ''};", None, "")


def cluster_arrive_relaxed(*, aligned: bool | None = None) -> None:
    """As `cluster_arrive`, and orders no memory."""
    ptx(f"barrier.cluster.arrive.relaxed{'.aligned' if aligned else ''};", None, "")


def cluster_wait() -> None:
    """Wait for all threads of the cluster to arrive at its barrier.  PTX ISA: barrier.cluster.wait."""
    ptx("barrier.cluster.wait;", None, "")


def elected() -> Boolean:
    """True in one lane of the warp.  PTX ISA: elect.sync (sm_90)."""
    text = "{ .reg .pred p; elect.sync _|p, -1; selp.b32 $0, 1, 0, p; }"
    return Boolean(ptx(text, Int32, "=r"))


class elect_one:
    """`with elect_one():` runs its body in one lane of the warp.

    The body is traced once, so a Python value it assigns is that value for every lane after it; a traced value it
    computes exists inside alone (VALUE_OF_ANOTHER_REGION). Raises DSLUserCodeError inside another one.
    """

    _open = 0

    def __init__(self) -> None:
        if elect_one._open:
            raise DSLUserCodeError(
                "elects a lane where one is elected already: it would wait for the other lanes, which never come",
                fix="take it out of `with elect_one()`; a copy by TMA elects its lane itself",
                id="ELECT_IN_ELECT",
            )
        self._flag = elected()

    def __enter__(self) -> None:
        branch = mlir.op("scf.if", [], [self._flag.ir()], None, regions=2)
        self._inside = mlir.inside(branch.regions[0].blocks.append())
        self._inside.__enter__()
        elect_one._open += 1

    def __exit__(self, *error: Any) -> None:
        elect_one._open -= 1
        if error[0] is None:
            mlir.op("scf.yield")
        self._inside.__exit__(*error)

    def __bool__(self) -> bool:
        raise DSLUserCodeTypeError(
            "elect_one() is not a condition: which lane it is, is known while running only",
            fix=Phrase("`with cute.arch.elect_one():`", "IN_CUTE"),
            id="PHASE_DYNAMIC_TO_STATIC_BOOL",
        )
