"""The order that the instructions of this family make: see check/ordering.py."""

from __future__ import annotations

from dsl.emulator.check.ordering import BY_BULK, Ordering

ORDERINGS = (
    Ordering(
        names="tensormap.replace",
        orders="nothing: it writes a tensor map as a store does",
        source="9.7.9.28 tensormap.replace: a weak access of the whole map",
        kinds=BY_BULK,
    ),
    Ordering(
        names="tensormap.cp_fenceproxy",
        reads="release tensormap::generic cta cluster gpu sys",
        orders="the map that it copies, with a `fence.proxy.tensormap` acquire of it",
        scope="as that fence",
        source="9.7.13.16 tensormap.cp_fenceproxy: a copy, and then a release to the tensor map's proxy",
        kinds=BY_BULK,
        proxy="tensormap",
        spaces=frozenset({"global"}),
    ),
)
