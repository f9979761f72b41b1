"""The order that the instructions of this family make: see check/ordering.py."""

from __future__ import annotations

from dsl.emulator.check.ordering import THREADS, Ordering

_SECTION = "9.7.13.1 bar, barrier"

ORDERINGS = (
    Ordering(
        names="bar.sync barrier.sync",
        counted=False,
        reads="cta",
        orders="the block, before and after; threads that have left count as having come",
        scope="the block",
        source=f"{_SECTION}: memory accesses before it are performed for all threads that take part",
    ),
    Ordering(
        names="bar.sync barrier.sync",
        counted=True,
        reads="cta",
        orders="who came before it, with who waited at it",
        scope="as many threads as its count",
        source=f"{_SECTION}: memory accesses before it are performed for all threads that take part",
        kinds=THREADS,
    ),
    Ordering(
        names="bar.red barrier.red",
        reads="cta",
        orders="as `bar.sync`",
        scope="the block, or as many threads as its count",
        source=f"{_SECTION}: as `bar.sync`",
        kinds=THREADS,
    ),
    Ordering(
        names="bar.arrive barrier.arrive",
        reads="cta",
        orders="what its thread did before it, with who waits at the `bar.sync`; the thread goes on and learns nothing",
        scope="as many threads as its count",
        source=f"{_SECTION}: it does not wait, so it gives no order of accesses of others",
        kinds=THREADS,
    ),
    Ordering(
        names="bar.warp.sync",
        orders="the lanes of its mask, before and after (`sync_warp`, `__syncwarp`)",
        scope="the lanes of its mask",
        source="9.7.13.2 bar.warp.sync: it guarantees memory ordering among them",
        kinds=THREADS,
    ),
)
