"""Fixes in the words of the author's language. They are written with PTX's instructions, some with CuTe's functions.

A table's columns are CuTe DSL, Quadrants, TIRx, Triton and CUDA C++. An empty cell is an instruction for which the
language has no function: it keeps its name.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

CUTE, QUADRANTS, TIRX, TRITON, CUDA = range(5)
BLOCK = (
    "cute.arch.sync_threads()",
    "qd.simt.block.sync()",
    "T.cuda.cta_sync()",
    "tl.debug_barrier()",
    "__syncthreads()",
)
WARP = ("cute.arch.sync_warp()", "", "T.cuda.warp_sync()", "", "__syncwarp()")
CLUSTER = ("cute.arch.cluster_arrive() and cluster_wait()", "", "", "", "cluster.sync()")
_TRY_WAIT = ("", "", "T.ptx.mbarrier.try_wait", "", "cuda::ptx::mbarrier_try_wait_parity")
_ARRIVE = ("", "", "T.ptx.mbarrier.arrive", "", "cuda::ptx::mbarrier_arrive")
# a pattern of instructions, the more special ones first: the function of each language
FUNCTIONS = {
    r"bar\.sync (\w+), (\w+)": (
        r"cute.arch.barrier(barrier_id=\1, number_of_threads=\2)", "", r"T.ptx.bar.sync(\1, \2)", "", ""),
    r"bar\.sync": BLOCK,
    r"bar\.warp\.sync": WARP,
    r"bar\.arrive": ("cute.arch.barrier_arrive", "", "T.ptx.bar.arrive", "", ""),
    r"barrier\.cluster\.arrive and \.wait": CLUSTER,
    r"barrier\.cluster\.arrive": ("cute.arch.cluster_arrive()", "", "", "", "cluster.barrier_arrive()"),
    r"barrier\.cluster\.wait": ("cute.arch.cluster_wait()", "", "", "", "cluster.barrier_wait()"),
    r"cp\.async\.wait_group (\d+)": (r"cute.arch.cp_async_wait_group(\1)", "", "", "", r"__pipeline_wait_prior(\1)"),
    r"cp\.async\.commit_group": ("cute.arch.cp_async_commit_group()", "", "", "", "__pipeline_commit()"),
    r"cp\.async\.bulk\.commit_group": (
        "cute.arch.cp_async_bulk_commit_group()", "", "", "", "cuda::ptx::cp_async_bulk_commit_group()"),
    r"cp\.async\.bulk\.wait_group\.read (\d+)": (
        r"cute.arch.cp_async_bulk_wait_group(\1, read=True)", "", "", "",
        r"cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<\1>())"),
    r"cp\.async\.bulk\.wait_group\.read": ("", "", "", "", "cuda::ptx::cp_async_bulk_wait_group_read"),
    r"cp\.async\.bulk\.wait_group": ("", "", "", "", "cuda::ptx::cp_async_bulk_wait_group"),
    r"fence\.proxy\.async": (
        "cute.arch.fence_proxy", "", "T.ptx.fence.proxy_async", "", "cuda::ptx::fence_proxy_async"),
    r"fence\.proxy\.tensormap::generic\.acquire": ("", "", "", "", "cuda::ptx::fence_proxy_tensormap_generic"),
    r"fence\.mbarrier_init(?:\.release\.cluster)?": (
        "", "", "T.ptx.fence.mbarrier_init", "", "cuda::ptx::fence_mbarrier_init"),
    r"fence\.acq_rel\.cluster": ("", "", 'T.ptx.fence("acq_rel", "cluster")', "", "cuda::ptx::fence"),
    r"mbarrier\.init": ("", "", "T.ptx.mbarrier.init", "", "cuda::ptx::mbarrier_init"),
    r"mbarrier\.try_wait": ("cute.arch.mbarrier_wait", *_TRY_WAIT[1:]),
    r"mbarrier\.arrive\.expect_tx": (
        "cute.arch.mbarrier_arrive_and_expect_tx", "", "T.ptx.mbarrier.arrive.expect_tx", "",
        "cuda::ptx::mbarrier_arrive_expect_tx"),
    r"mbarrier\.arrive\.release\.cluster": ("", "", "", "", "cuda::ptx::mbarrier_arrive"),
    r"mbarrier\.arrive": ("cute.arch.mbarrier_arrive", *_ARRIVE[1:]),
    r"mbarrier\.arrive_drop": ("", "", "", "", "cuda::barrier::arrive_and_drop"),
    r"griddepcontrol\.wait": (
        "cute.arch.griddepcontrol_wait()", "", "T.ptx.griddepcontrol.wait()", "gdc_wait()",
        "cudaGridDependencySynchronize()"),
    r"st\.release\.gpu": (
        'cute.arch.store(..., sem="release", scope="gpu")', "", "", 'tl.atomic_xchg(..., sem="release")',
        "cuda::memory_order_release"),
    r"ld\.acquire\.gpu": (
        'cute.arch.load(..., sem="acquire", scope="gpu")', "", "", 'tl.atomic_add(..., 0, sem="acquire")',
        "cuda::memory_order_acquire"),
    r"pipeline\.(?:consumer_wait|producer_acquire)": _TRY_WAIT,
    r"pipeline\.(?:consumer_release|producer_commit)": _ARRIVE,
}  # fmt: skip
# a pattern: the text of each language
_WARP_OR_MORE = (
    r"of the warp \(bar\.warp\.sync\)(?: or of the block \(bar\.sync\)|, or of the block if all its threads come by,|"
    r", or of the warps that come \(bar\.sync ID, COUNT\))?"
)
PHRASES = {
    rf"a barrier {_WARP_OR_MORE}": ("", "", "", f"a barrier of the block (`{BLOCK[TRITON]}`)", ""),
    r"\(a fence (before|after) it, or \.(release|acquire)\)": (
        r'(`cute.arch.fence_acq_rel_gpu()` \1 it, or `sem="\2"`)', "", r"(`T.cuda.thread_fence()` \1 it)",
        r'(`sem="\2"`)', r"(`__threadfence()` \1 it, or `cuda::memory_order_\2`)"),
    r"barrier\.cluster\.arrive and \.wait at the end of the kernel \([^()]*\)": (
        f"`{CLUSTER[CUTE]}` at the end of the kernel", "", "", "", f"`{CLUSTER[CUDA]}` at the end of the kernel"),
    r"\(mapa, mbarrier\.arrive\.release\.cluster\)": (
        "(`cute.arch.mbarrier_arrive` with its rank)", "", "", "",
        "(`cluster.map_shared_rank`, `cuda::ptx::mbarrier_arrive`)"),
    r"\(mapa\)": (
        "(`cute.make_ptr(cutlass.Int64, cute.arch.map_dsmem_ptr(barrier, rank).toint(), cute.AddressSpace.smem)`)",
        "", "", "", "(`cluster.map_shared_rank(&barrier, rank)`)"),
    r"make the (?:write|read) of the flag at .*": (
        "", "read it in a later outermost loop: no function of `qd` orders blocks", "", "", ""),
    r"the scope \.gpu, or \.cluster for blocks of one cluster: \.cta is": (
        '`scope="gpu"`, or `scope="cluster"` for blocks of one cluster: `scope="cta"` is', "", "",
        '`scope="gpu"`: `scope="cta"` is', "`cuda::thread_scope_device`: `cuda::thread_scope_block` is"),
    r"the scope \.gpu( at [^:]*)?: \.(?:cta|cluster) is": (
        r'`scope="gpu"`\1: the narrower one is', "", "", r'`scope="gpu"`\1: the narrower one is',
        r"`cuda::thread_scope_device`\1: the narrower one is"),
    r"\(bar\.sync\): bar\.arrive there": (
        "(`cute.arch.barrier`): `cute.arch.barrier_arrive` there", "",
        "(`T.ptx.bar.sync`): `T.ptx.bar.arrive` there", "", "(the form that waits): the arrival there"),
    r"without use_pdl": ("", "", "", "without launch_pdl", "without programmatic stream serialization"),
    r" \(ask the predicate\)": (" ", " ", " ", " ", " "),
    r"without \.nc \(in CUDA C\+\+ (without `__ldg` and `const __restrict__`)\)": ("", "", "", "", r"\1"),
    r"read it in a kernel launched later; within a launch only a release.*? order blocks": (
        "", "read it in a later outermost loop: within one nothing orders blocks", "", "", ""),
    r"a barrier of the grid": (
        "", "", "", "", "a barrier of the grid (`cooperative_groups::this_grid().sync()`)"),
}  # fmt: skip
# the function of CuTe that a fix names after an instruction
_HINT = r"(?: \(`(?:cute|pipeline)\.[^`]*`\)| \(cute\.[^()]*\)|, `?cute\.arch\.\w+`?)"
_ALWAYS = {r"bar\.sync", r"bar\.warp\.sync", r"barrier\.cluster\.arrive and \.wait", r"fence\.proxy\.async"}  # CuTe too


class _Word(NamedTuple):
    pattern: re.Pattern
    functions: tuple[str, ...]
    is_always: bool


_WORDS = [
    _Word(re.compile(rf"(?<![\w.:`])(`?){name}\1(?![\w:`]|\.\w)(?P<hint>{_HINT})?"), functions, name in _ALWAYS)
    for name, functions in FUNCTIONS.items()
]


def said(fix: str, language: int | None) -> str:
    """A fix in the words of a language; as it is for None, PTX."""
    if language is None:
        return fix
    for pattern, texts in PHRASES.items():
        if texts[language]:
            fix = re.sub(pattern, texts[language].strip(), fix)
    for word in _WORDS:
        fix = word.pattern.sub(functools.partial(_named, word, language), fix)
    return fix if language == CUTE else re.sub(_HINT, "", fix)


def warned(message: str, language: int | None) -> str:
    """A warning: its functions of CuTe become functions of a language, or are left out."""
    if language in (None, CUTE):
        return message
    for word in _WORDS:
        message = word.pattern.sub(
            lambda match, word=word: _named(word, language, match) if match["hint"] else match[0], message
        )
    return re.sub(_HINT, "", message)


def _named(word: _Word, language: int, match: re.Match) -> str:
    function = word.functions[language]
    if not function or (language == CUTE and match["hint"] and not word.is_always):
        return match[0]
    groups = [each or "" for each in match.groups()[1:-1]]
    for number, text in enumerate(groups, 1):
        function = function.replace(f"\\{number}", text)
    return f"`{function}`"
