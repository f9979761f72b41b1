"""The order that the instructions of this family make: see check/ordering.py."""

from __future__ import annotations

from dsl.emulator.check.numbers import orders, scope
from dsl.emulator.check.ordering import BY_MEMORY, Ordering
from dsl.emulator.machine import context

_SCOPE = "`.cta` the block, `.cluster` the cluster, else all"
_FENCE = "9.7.13.4 membar, fence"
_PATTERNS = "8.8 Release and acquire patterns"
_GLOBAL, _SHARED = frozenset({"global"}), frozenset({"shared"})


def _proxy_fence(names: str, what: str, spaces: frozenset[str]) -> Ordering:
    return Ordering(
        names=names,
        orders=what,
        scope="the block for shared memory, else all",
        source=f"{_FENCE}: it orders accesses by ordinary instructions and by the async proxy",
        proxy="async",
        spaces=spaces,
        event=context.ORDER_PROXY,
    )


ORDERINGS = (
    Ordering(
        names="ld st",
        orders="nothing: such accesses are weak",
        source="8.4 Operation types: two weak accesses of one place, or a weak one and a strong one, may be a race",
        differs="kinder: two plain writes of the same value from one line are a warning, `RACE_SAME_VALUE`: compilers "
        "make them on purpose. A plain load whose value a loop hands to `cas` as the expected one counts as strong: "
        "`cas` tells whether the guess was right",
    ),
    Ordering(
        names="ld.global.nc",
        orders="nothing, and nothing orders it (`__ldg`, `const __restrict__`): a load of what the launch wrote is a "
        "race",
        source="9.7.9.8 ld, 9.7.9.9 ld.global.nc: the memory must be read-only while the kernel runs",
    ),
    Ordering(
        names="ld.volatile ld.relaxed ld.mmio.relaxed atom atom.relaxed",
        orders="what was written strongly to its place, with plain accesses to that place that run by its result: the "
        "block with the last ticket may reset the counter. It is an acquire with a fence after it",
        scope=_SCOPE,
        source="8.9.2 Observation order, 8.9.5 Causality order: a strong write is before the read that gets its value",
        unsaid=scope.ALL,
    ),
    Ordering(
        names="st.volatile st.relaxed st.mmio.relaxed red red.relaxed",
        orders="nothing alone; it is a release with a fence before it",
        scope=_SCOPE,
        source=f"{_PATTERNS}: a fence and then a strong write release",
        unsaid=scope.ALL,
    ),
    Ordering(
        names="st.release atom.release red.release ld.acquire atom.acquire atom.acq_rel",
        orders="a release and an acquire of what it wrote: the two threads",
        scope=f"{_SCOPE}; each thread must be in the scope of the other",
        source=f"{_PATTERNS}, 8.9.4 Memory synchronization: a release synchronizes with the acquire that observes it",
        unsaid=scope.ALL,
        kinds=BY_MEMORY,
        abroad=orders.BLOCKS,
    ),
    Ordering(
        names="fence fence.acq_rel fence.acquire fence.release",
        orders="a fence and then a strong write release; a strong read and then a fence acquire. A fence alone orders "
        "no two threads",
        scope=_SCOPE,
        source=f"{_PATTERNS}, {_FENCE}: `.acq_rel` where it names no order",
        unsaid=scope.ALL,
        kinds=BY_MEMORY,
        abroad=orders.BLOCKS,
        event=context.ORDER_FENCE,
    ),
    Ordering(
        names="fence.sc membar",
        orders="as `fence.acq_rel`; of two (`__threadfence`), the earlier thread with the later, if an access shows "
        "which is the earlier: one after the first fence, and a conflicting one before the second, by threads that "
        "have heard of the fences or are heard of",
        scope=_SCOPE,
        source=f"8.9.3 Fence-SC order, {_FENCE}: `membar` is `fence.sc`",
        unsaid=scope.ALL,
        kinds=BY_MEMORY,
        abroad=orders.BLOCKS,
        event=context.ORDER_FENCE,
        is_sc=True,
    ),
    Ordering(
        names="fence.acquire.sync_restrict::shared::cluster fence.release.sync_restrict::shared::cta",
        orders="as `fence.acq_rel`",
        scope="the cluster",
        source=f"{_FENCE}: a fence of accesses of shared memory alone",
        differs="kinder: it orders all memory, not only shared memory",
        unsaid=scope.CLUSTER,
        kinds=BY_MEMORY,
        abroad=orders.BLOCKS,
        event=context.ORDER_FENCE,
        hides="fence.acquire.sync_restrict::shared::cluster fence.release.sync_restrict::shared::cta fence "
        "fence.acq_rel fence.acquire fence.release fence.sc membar",
    ),
    Ordering(
        names="fence.mbarrier_init.release",
        unsaid=scope.CLUSTER,
        orders="the `mbarrier.init` of its thread, with who passes a barrier of the cluster after it, and with bulk "
        "copies",
        scope="the cluster",
        source=f"{_FENCE}: it orders `mbarrier.init` before it, for the cluster",
        differs="kinder: a bulk copy that signals an mbarrier without it gets a warning, `MBARRIER_NOT_FENCED`, since "
        "kernels without the fence work",
        spaces=_SHARED,
        event=context.ORDER_INIT_FENCE,
    ),
    Ordering(
        names="fence.proxy.alias",
        orders="nothing: memory has one address here",
        source=f"{_FENCE}: it orders accesses of one place by several virtual addresses",
        proxy="alias",
    ),
    _proxy_fence("fence.proxy.async", "what its thread has seen, with bulk copies and `wgmma`", _GLOBAL | _SHARED),
    _proxy_fence("fence.proxy.async::global fence.proxy.async.global", "the same, of global memory alone", _GLOBAL),
    _proxy_fence(
        "fence.proxy.async::shared::cta fence.proxy.async.shared::cta fence.proxy.async.shared::cluster",
        "the same, of shared memory alone",
        _SHARED,
    ),
    Ordering(
        names="fence.proxy.async::generic.acquire fence.proxy.async::generic.release",
        reads="cluster sync_restrict::shared::cluster sync_restrict::shared::cta",
        orders="nothing",
        source=f"{_FENCE}: it orders the async proxy's accesses of shared memory with ordinary ones, one way",
        differs="stricter: it orders nothing here; a full `fence.proxy.async` and the wait for the phase do",
        proxy="async",
        spaces=_SHARED,
        hides="fence.proxy.async::generic.acquire fence.proxy.async::generic.release",
    ),
    Ordering(
        names="fence.proxy.tensormap::generic.release",
        reads="cta cluster gpu sys",
        orders="nothing here: the acquire is enough",
        source=f"{_FENCE}: a release of ordinary writes of a tensor map to the tensor map's proxy",
        differs="kinder: the ISA asks for it after the writes",
        proxy="tensormap",
        spaces=_GLOBAL,
        hides="fence.proxy.tensormap::generic.release",
    ),
    Ordering(
        names="fence.proxy.tensormap::generic.acquire",
        reads="cta cluster gpu sys",
        orders="writes of the tensor map that its thread has seen, with uses of the map",
        scope="the block",
        source=f"{_FENCE}: an acquire of the tensor map's 128 bytes",
        differs="kinder: the fence of one thread counts for its block, whatever its scope",
        proxy="tensormap",
        spaces=_GLOBAL,
        event=context.ORDER_MAP_FENCED,
    ),
)
