"""The order that the instructions of this family make: see check/ordering.py."""

from __future__ import annotations

from dsl.emulator.check.numbers import orders
from dsl.emulator.check.ordering import THREADS, Ordering

_SECTION = "9.7.13.3 barrier.cluster"
_BLOCKS = THREADS | orders.BLOCKS

ORDERINGS = (
    Ordering(
        names="barrier.cluster.arrive",
        reads="release",
        orders="what its thread did before it, with who waits",
        scope="all blocks of the cluster",
        source=f"{_SECTION}: a release, with and without `.release`",
        kinds=_BLOCKS,
    ),
    Ordering(
        names="barrier.cluster.arrive.relaxed",
        orders="only what a fence before it had",
        scope="all blocks of the cluster; no more than the scope of the fence",
        source=f"{_SECTION}: `.relaxed` gives memory no order",
        kinds=_BLOCKS,
    ),
    Ordering(
        names="barrier.cluster.wait",
        reads="acquire",
        orders="who arrived, with its thread",
        scope="all blocks of the cluster",
        source=f"{_SECTION}: an acquire, with and without `.acquire`",
        kinds=_BLOCKS,
    ),
    Ordering(
        names="mapa getctarank",
        orders="nothing: they compute addresses",
        source="9.7.9.23 mapa, 9.7.9.24 getctarank",
        kinds=_BLOCKS,
    ),
)
