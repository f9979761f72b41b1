"""Names of upstream that are not here yet: refused at once, by name."""

from __future__ import annotations

import typing
from collections.abc import Callable

from dsl.core.diagnosis import author_traceback, spelling, unsupported_names
from dsl.cutlass import earlier_releases, upstream

FIX = "see docs/cute.md for what is, or run the file with NVIDIA's compiler"

_CLC = "clusterlaunchcontrol needs Blackwell; on Hopper StaticPersistentTileScheduler deals out the tiles"
_TILED = "it tiles by a product of tcgen05, which needs Blackwell; on Hopper write cpasync.make_tiled_tma_atom"
_COLUMNS = "it tiles by a product of tcgen05, which needs Blackwell; on Hopper write cpasync.make_im2col_tma_atom"
_UMMA = "tcgen05 needs Blackwell; on Hopper PipelineTmaAsync leads from TMA to wgmma"
_TMEM = "tensor memory needs Blackwell; on Hopper wgmma keeps its sums in registers"
BLACKWELL = {  # names of upstream's that no Hopper has, and what it has in their place
    **dict.fromkeys(("PipelineClcFetchAsync", "ClcState", "ClcDynamicPersistentTileScheduler"), _CLC),
    **dict.fromkeys(("ClcDynamicPersistentTileSchedulerParams", "issue_clc_query", "clc_response"), _CLC),
    **dict.fromkeys(("make_tiled_tma_atom_A", "make_tiled_tma_atom_B", "make_tiled_tma_atom_C"), _TILED),
    "make_im2col_tma_atom_A": _COLUMNS,
    **dict.fromkeys(("PipelineUmmaAsync", "PipelineTmaUmma", "PipelineAsyncUmma"), _UMMA),
    **dict.fromkeys(("TmemAllocator", "get_num_tmem_alloc_cols", "alloc_tmem", "dealloc_tmem"), _TMEM),
    "retrieve_tmem_ptr": _TMEM,
    "CopyBulkS2GByteMaskOp": "a bulk copy of some bytes only needs Blackwell; on Hopper store these by their threads",
}
_THEIRS = "run the file with NVIDIA's compiler"
_OTHERS = {
    "PerStagePipelineState": f"keep a PipelineState of make_pipeline_state for each stage, or {_THEIRS}",
    "SyncObject": f"name the class itself: MbarrierArray, NamedBarrier or TmaStoreFence; or {_THEIRS}",
    "MbarrierLayout": f"leave it out, mbarriers have one layout; or {_THEIRS}",
}
_MULTIMEM = f"on one GPU write red_add1, cute.arch.load and cute.arch.store; for memory of several {_THEIRS}"


def _fix_of(name: str) -> str | None:
    """The advice in place of a name, if there is any."""
    return _MULTIMEM if name.startswith("multimem") else BLACKWELL.get(name) or _OTHERS.get(name)


# The names that upstream's modules import from `typing`, and that kernel libraries import from them.
_ANNOTATIONS = frozenset("Any Callable Dict Iterable Iterator List Literal Optional Tuple Type TypeVar Union".split())


def module_getattr(module: str, **instead: str) -> Callable:
    """A module's `__getattr__` that gives names of earlier releases, and refuses others by their upstream spelling, the
    names of `instead` where they are called."""
    refuse = unsupported_names.refuser(module, FIX, instead, upstream.names, _fix_of)

    @author_traceback.stripped
    def get(name: str):
        if name in _ANNOTATIONS:
            return getattr(typing, name)
        value = earlier_releases.find(module, name)
        return refuse(name) if value is None else value

    return get


spelling.register_surface("dsl.cutlass")
spelling.know_upstream(upstream.names, upstream.parameters)
