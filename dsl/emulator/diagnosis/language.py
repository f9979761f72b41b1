"""The language of the author's file, and the statements of it that an edit inserts or changes.

The words of a fix are in vocabulary.py.
"""

from __future__ import annotations

import functools
import linecache
import re

from dsl.emulator.diagnosis import vocabulary
from dsl.emulator.diagnosis.vocabulary import BLOCK, CUDA, CUTE, QUADRANTS, TIRX, TRITON, WARP

_IMPORTS = {CUTE: "cutlass", QUADRANTS: "quadrants", TIRX: "tvm(?:_tirx)?", TRITON: "triton"}
# the usual name of the module whose functions are called, and the modules of which a file has one
_MODULES = {
    CUTE: ("cute", ["cutlass.cute"]),
    QUADRANTS: ("qd", ["quadrants"]),
    TIRX: ("T", ["tvm.script.tirx", "tvm_tirx.script.tirx"]),
    TRITON: ("tl", ["triton.language"]),
}
# of CUDA C++, by a part of the names
_HEADERS = {"__pipeline_": "cuda_pipeline", "cuda::ptx::": "cuda/ptx", "cooperative_groups::": "cooperative_groups.h"}
_IMPORT = r"(?m)^\s*(?:import|from)\s+{}\b"
_NO_OTHER = ("",) * 4  # of Quadrants, TIRx, Triton and CUDA C++
# Statements: in PTX, then in each language; '' if it has none. {} is a number. Each line is one statement.
STATEMENTS = {
    "barrier of the block": ("bar.sync 0", *BLOCK),
    "barrier of the warp": ("bar.warp.sync -1", *WARP),
    "barrier of the cluster": (
        "barrier.cluster.arrive\nbarrier.cluster.wait",
        "cute.arch.cluster_arrive()\ncute.arch.cluster_wait()",
        *_NO_OTHER[:3],
        "cooperative_groups::this_cluster().sync()",
    ),
    "arrival at the cluster": ("barrier.cluster.arrive", "cute.arch.cluster_arrive()", *_NO_OTHER),
    "fence of the block": (
        "fence.acq_rel.cta",
        "cute.arch.fence_acq_rel_cta()",
        "qd.simt.block.mem_fence()",
        'T.ptx.fence("acq_rel", "cta")',
        "",
        "__threadfence_block()",
    ),
    "fence of the GPU": (
        "fence.acq_rel.gpu",
        "cute.arch.fence_acq_rel_gpu()",
        "",
        "T.cuda.thread_fence()",
        "",
        "__threadfence()",
    ),
    "fence of the cluster": (
        "fence.acq_rel.cluster",
        "cute.arch.fence_acq_rel_cluster()",
        "",
        'T.ptx.fence("acq_rel", "cluster")',
        "",
        "cuda::ptx::fence(cuda::ptx::sem_acq_rel, cuda::ptx::scope_cluster)",
    ),
    "fence of mbarriers": (
        "fence.mbarrier_init.release.cluster",
        "cute.arch.mbarrier_init_fence()",
        "",
        "T.ptx.fence.mbarrier_init()",
        "",
        "cuda::ptx::fence_mbarrier_init(cuda::ptx::sem_release, cuda::ptx::scope_cluster)",
    ),
    "proxy fence of shared memory": (
        "fence.proxy.async.shared::cta",
        'cute.arch.fence_proxy("async.shared", space="cta")',
        "",
        'T.ptx.fence.proxy_async("shared::cta")',
        "",
        "cuda::ptx::fence_proxy_async(cuda::ptx::space_shared)",
    ),
    "proxy fence": (
        "fence.proxy.async",
        'cute.arch.fence_proxy("async")',
        "",
        "T.ptx.fence.proxy_async()",
        "",
        "cuda::ptx::fence_proxy_async()",
    ),
    "commit of copies": (
        "cp.async.commit_group",
        "cute.arch.cp_async_commit_group()",
        "",
        "",
        "",
        "__pipeline_commit()",
    ),
    "wait for copies": (
        "cp.async.wait_group 0",
        "cute.arch.cp_async_wait_group(0)",
        "",
        "",
        "",
        "__pipeline_wait_prior(0)",
    ),
    "commit of bulk stores": (
        "cp.async.bulk.commit_group",
        "cute.arch.cp_async_bulk_commit_group()",
        *_NO_OTHER[:3],
        "cuda::ptx::cp_async_bulk_commit_group()",
    ),
    "wait for reads of bulk stores": (
        "cp.async.bulk.wait_group.read 0",
        "cute.arch.cp_async_bulk_wait_group(0, read=True)",
        *_NO_OTHER[:3],
        "cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>())",
    ),
    "wait for bulk stores": (
        "cp.async.bulk.wait_group 0",
        "cute.arch.cp_async_bulk_wait_group(0)",
        *_NO_OTHER[:3],
        "cuda::ptx::cp_async_bulk_wait_group(cuda::ptx::n32_t<0>())",
    ),
    "wait for the launch before": (
        "griddepcontrol.wait",
        "cute.arch.griddepcontrol_wait()",
        "",
        "T.ptx.griddepcontrol.wait()",
        "tl.extra.cuda.gdc_wait()",
        "cudaGridDependencySynchronize()",
    ),
    "fence of a wgmma": ("wgmma.fence.sync.aligned", "cute.nvgpu.warpgroup.fence()", *_NO_OTHER),
    "commit of a wgmma": ("wgmma.commit_group.sync.aligned", "cute.nvgpu.warpgroup.commit_group()", *_NO_OTHER),
    "wait for tensor memory loads": (
        "tcgen05.wait::ld.sync.aligned",
        "cute.arch.fence_view_async_tmem_load()",
        *_NO_OTHER,
    ),
    "wait for tensor memory stores": (
        "tcgen05.wait::st.sync.aligned",
        "cute.arch.fence_view_async_tmem_store()",
        *_NO_OTHER,
    ),
    "fence after a relaxed wait": ("tcgen05.fence::after_thread_sync", "", *_NO_OTHER),
    "wait for a wgmma": ("wgmma.wait_group.sync.aligned {}", "cute.nvgpu.warpgroup.wait_group({})", *_NO_OTHER),
}
OF_ALL = frozenset({"barrier of the block", "barrier of the cluster"})  # that all threads have to come to


def _orders(order: str) -> dict[int, tuple[str, str]]:
    """The change of the order of an access that is relaxed."""
    named = r"(?<=sem=[\"'])relaxed(?=[\"'])", order
    return {CUTE: named, TRITON: named, CUDA: (r"\bmemory_order_relaxed\b", f"memory_order_{order}")}


# Changes of a line, by what they make of it: a pattern and what takes its place, for None (PTX) and languages.
CHANGES: dict[str, dict[int | None, tuple[str, str]]] = {
    "a barrier of the block": {
        None: (r"\bbar\.warp\.sync [^;]*", "bar.sync 0"),
        CUTE: (r"\bcute\.arch\.sync_warp\([^()]*\)", "cute.arch.sync_threads()"),
        TIRX: (r"\bT\.cuda\.warp_sync\(\)", "T.cuda.cta_sync()"),
        CUDA: (r"\b__syncwarp\([^()]*\)", "__syncthreads()"),
    },
    "a barrier of the whole warp": {
        None: (r"(@!?\S+ )?\bbar\.warp\.sync [^;]*", "bar.warp.sync -1"),
        CUTE: (r"\bcute\.arch\.sync_warp\([^()]*\)", "cute.arch.sync_warp()"),
        CUDA: (r"\b__syncwarp\([^()]*\)", "__syncwarp()"),
    },
    "a barrier that waits": {
        None: (r"\b(bar|barrier)\.arrive\b", r"\1.sync"),
        CUTE: (r"\bcute\.arch\.barrier_arrive\(", "cute.arch.barrier("),
        TIRX: (r"\bT\.ptx\.bar\.arrive\(", "T.ptx.bar.sync("),
    },
    "an arrival at the cluster that orders memory": {
        None: (r"\bbarrier\.cluster\.arrive\.relaxed\b", "barrier.cluster.arrive"),
        CUTE: (r"\bcute\.arch\.cluster_arrive_relaxed\(", "cute.arch.cluster_arrive("),
    },
    "a release": {None: (r"\b(st|red|atom|mbarrier\.\w+)\.relaxed\b", r"\1.release"), **_orders("release")},
    "an acquire": {None: (r"\b(ld|atom)\.relaxed\b", r"\1.acquire"), **_orders("acquire")},
    "a release and an acquire": {None: (r"\batom\.relaxed\b", "atom.acq_rel"), **_orders("acq_rel")},
    "an arrival for the cluster": {
        None: (r"\b(mbarrier\.arrive(?:_drop)?)(?:\.release\.cta)?(?!\.release|\.relaxed)", r"\1.release.cluster")
    },
    "the scope of the GPU": {
        None: (r"(?<=\.)(cta|cluster)(?=\.)", "gpu"),
        CUTE: (r"(?<=[\"'])(cta|cluster)(?=[\"'])", "gpu"),
        TRITON: (r"(?<=scope=[\"'])cta(?=[\"'])", "gpu"),
    },
    "a load of what may change": {None: (r"\bld\.global((?:\.[\w:]+)*?)\.nc\b", r"ld.global\1")},
}


def translated(fix: str, file: str, ptx: str = "") -> str:
    """The fix in the language of the file of the author's line, or in the language that the PTX was made of; `file` is
    '' if no file is known."""
    return vocabulary.said(fix, of_launch(file, ptx))


def of_launch(file: str, ptx: str) -> int | None:
    """The language of a file, or the language that the PTX was made of."""
    kind = of(file)
    return of_ptx(ptx) if kind is None else kind


@functools.lru_cache(64)
def of(file: str) -> int | None:
    """The language of a source file, by its name and imports; None if it is not known."""
    if file.endswith((".cu", ".cuh")):
        return CUDA
    text = "".join(linecache.getlines(file)) if file.endswith(".py") else ""
    return next((language for language, name in _IMPORTS.items() if re.search(_IMPORT.format(name), text)), None)


@functools.lru_cache(16)
def of_ptx(ptx: str) -> int | None:
    """The language that a PTX text was made of, by what its compiler writes; None if it is not known.

    The sources need not be there. NVIDIA's compilers for CUDA C++ and for CuTe DSL write the same comment, and Triton
    is the one that calls its shared memory `global_smem`.
    """
    if "// Generated by NVIDIA NVVM Compiler" in ptx:
        if "kernel_cutlass_" in ptx:
            return CUTE
        return None if re.search(r'\.file\s+\d+\s+"[^"]*\.py"', ptx) or "cudapy" in ptx else CUDA
    is_llvm = "// Generated by LLVM NVPTX Back-End" in ptx
    return TRITON if is_llvm and re.search(r"\.extern\s+\.shared[^;]*\bglobal_smem\[\]", ptx) else None


def statements(name: str, language: int | None, text: str, number: int = 0) -> list[str]:
    """The statements of a name in a language, None for PTX, as they are written in a file with this text; [] if the
    language has none, or the file does not import what it takes."""
    code = _spelled(STATEMENTS[name][0 if language is None else language + 1].format(number), language, text)
    if language == CUDA and any(part in code and header not in text for part, header in _HEADERS.items()):
        return []
    end = ";" if language in (None, CUDA) else ""
    return [f"{each}{end}" for each in code.split("\n")] if code else []


def changed(name: str, language: int | None, text: str, line: str) -> str | None:
    """A line of a file with this text with a change, if the language has it and it fits once."""
    if (change := CHANGES[name].get(language)) is None:
        return None
    old, new = (_spelled(each, language, text) for each in change)
    made, count = re.subn(old, new, line)
    return made if old and count == 1 else None


def _spelled(code: str, language: int | None, text: str) -> str:
    """Code, or a pattern of it, with the name that a file has for the module of a language; '' if it has none."""
    if language not in _MODULES:
        return code
    usual, modules = _MODULES[language]
    alias = next(filter(None, (_alias(module, text) for module in modules)), None)
    return re.sub(rf"(?m)^(\\b)?{usual}(?=\\?\.)", lambda match: f"{match[1] or ''}{alias}", code) if alias else ""


def _alias(module: str, text: str) -> str | None:
    """The name under which a file has a module; None if it has not."""
    package, _, last = module.rpartition(".")
    if found := re.search(rf"(?m)^\s*import\s+(?:[^\n]*,\s*)?{re.escape(module)}\s+as\s+(\w+)", text):
        return found[1]
    names = re.search(rf"(?m)^\s*from\s+{re.escape(package)}\s+import\s[^\n]*?\b{last}\b(?:\s+as\s+(\w+))?", text)
    if package and names:
        return names[1] or last
    return module if re.search(rf"(?m)^\s*import\s+(?:[^\n]*,\s*)?{re.escape(module)}\s*(?:,|#|;|$)", text) else None
