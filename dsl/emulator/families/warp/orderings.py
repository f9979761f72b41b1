"""The order that the instructions of this family make: see check/ordering.py."""

from __future__ import annotations

from dsl.emulator.check.ordering import Ordering

ORDERINGS = (
    Ordering(
        names="shfl.sync vote.sync match.sync redux.sync",
        orders="what one of the lanes has acquired from memory, with the others; what they had read before it may be "
        "written after it. Their own writes are not known to the others",
        scope="the lanes of its mask",
        source="9.7.9.6 shfl.sync, 9.7.13.9 vote.sync, 9.7.13.10 match.sync, 9.7.13.12 redux.sync: they wait for the "
        "lanes and give no order of memory, as bar.warp.sync does",
        differs="kinder: the ISA gives no order of memory; in NVIDIA's cooperative groups one lane acquires, a shuffle "
        "gives its answer to all lanes, and all read; reductions keep their sum in a place that other lanes have read",
        hides="bar.warp.sync",
    ),
    Ordering(
        names="elect.sync",
        orders="only how far the lanes of its mask have come: what they read before it may be written after it; what "
        "they wrote is not known to the others",
        scope="the lanes of its mask",
        source="9.7.13.14 elect.sync: it waits for the lanes, and gives no order of memory",
        differs="kinder: the ISA gives no order of memory; pipelines let the leader give back a slot that all lanes "
        "have read",
        hides="bar.warp.sync",
    ),
)
