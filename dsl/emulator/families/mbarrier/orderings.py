"""The order that the instructions of this family make: see check/ordering.py."""

from __future__ import annotations

from dsl.emulator.check.numbers import scope
from dsl.emulator.check.ordering import THREADS, Ordering

_ARRIVE = "9.7.13.15.13 mbarrier.arrive, 9.7.13.15.14 mbarrier.arrive_drop"
_WAIT = "9.7.13.15.16 mbarrier.test_wait, mbarrier.try_wait"

ORDERINGS = (
    Ordering(
        names="mbarrier.init mbarrier.inval",
        orders="nothing: a barrier has to follow `mbarrier.init`, for other blocks `fence.mbarrier_init` and a barrier "
        "of the cluster",
        source="9.7.13.15.9 mbarrier.init, 9.7.13.15.10 mbarrier.inval",
        kinds=THREADS,
    ),
    Ordering(
        names="mbarrier.pending_count",
        orders="nothing: it reads a register",
        source="9.7.13.15.17 mbarrier.pending_count",
        kinds=THREADS,
    ),
    Ordering(
        names="mbarrier.expect_tx mbarrier.complete_tx",
        unless="arrive arrive_drop",
        reads="relaxed",
        orders="nothing: bytes that are expected or counted order no accesses",
        source="9.7.13.15.11 mbarrier.expect_tx, 9.7.13.15.12 mbarrier.complete_tx: always `.relaxed`",
        kinds=THREADS,
        unsaid=scope.UNSAID,
    ),
    Ordering(
        names="mbarrier.arrive mbarrier.arrive_drop",
        reads="release",
        orders="who arrived in a phase, with who saw its end",
        scope="the scope that it names; the block if it names none, and see below for another block's mbarrier",
        source=f"{_ARRIVE}: a release, of `.cta` where it names no scope",
        differs="kinder: without a scope, which the ISA reads as `.cta`, an arrival at another block's mbarrier orders "
        "how far its thread has come, since NVIDIA's pipelines give slots back so. Its writes need `.release.cluster` "
        "or `fence.acq_rel.cluster` before it. With `.cta` it orders nothing there",
        kinds=THREADS,
        unsaid=scope.UNSAID,
        hides="barrier.cluster.arrive barrier.cluster.arrive.relaxed barrier.cluster.wait",
    ),
    Ordering(
        names="mbarrier.arrive.relaxed mbarrier.arrive_drop.relaxed",
        orders="only what a fence before it had, with who saw the end of the phase",
        scope="the scope that it names; no more than the scope of the fence",
        source=f"{_ARRIVE}: `.relaxed` gives memory no order",
        kinds=THREADS,
        unsaid=scope.UNSAID,
    ),
    Ordering(
        names="mbarrier.test_wait mbarrier.try_wait",
        reads="acquire",
        orders="who arrived in the phase, and the copies that it counted, with who saw its end; a look whose answer "
        "nothing reads orders nothing, nor does one that gives false",
        scope="the cluster",
        source=f"{_WAIT}: an acquire, if it gives true",
        differs="kinder: a wait counts for the cluster, also with `.acquire.cta`, which NVIDIA's primitives write",
        kinds=THREADS,
        unsaid=scope.UNSAID,
        hides="barrier.cluster.arrive barrier.cluster.arrive.relaxed barrier.cluster.wait",
    ),
    Ordering(
        names="mbarrier.test_wait.relaxed mbarrier.try_wait.relaxed",
        orders="the same, once a fence follows it",
        scope="the cluster",
        source=f"{_WAIT}: `.relaxed` gives memory no order",
        kinds=THREADS,
        unsaid=scope.UNSAID,
    ),
)
