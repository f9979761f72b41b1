"""The words of the author's language for the instructions that a fix asks for, and the statements that an edit inserts.

Fixes are written for PTX. They name the function that the author calls, if the program is of a DSL, of Triton or of
CUDA C++; an instruction for which a language has no function keeps its name.
"""

from __future__ import annotations

import functools
import linecache
import re

CUTE, QUADRANTS, TIRX, TRITON, CUDA = range(5)
_IMPORTS = {CUTE: "cutlass", QUADRANTS: "quadrants", TIRX: "tvm", TRITON: "triton"}
# the usual name of the module whose functions are called, and the module
_MODULES = {
    CUTE: ("cute", "cutlass.cute"),
    QUADRANTS: ("qd", "quadrants"),
    TIRX: ("T", "tvm.script.tirx"),
    TRITON: ("tl", "triton.language"),
}
_HEADERS = {"__pipeline_": "cuda_pipeline", "cuda::ptx::": "cuda/ptx"}  # of CUDA C++, by a part of the names
_IMPORT = r"(?m)^\s*(?:import|from)\s+{}\b"
# in the order of the languages; '': it has none
_BLOCK = (
    "cute.arch.sync_threads()",
    "qd.simt.block.sync()",
    "T.cuda.cta_sync()",
    "tl.debug_barrier()",
    "__syncthreads()",
)
_WARP = ("cute.arch.sync_warp()", "", "T.cuda.warp_sync()", "", "__syncwarp()")
_CLUSTER = ("cute.arch.cluster_arrive() and cluster_wait()", "", "", "", "cluster.sync()")
_CP_ASYNC_WAIT = ("cute.arch.cp_async_wait_group(0)", "", "", "", "__pipeline_wait_prior(0)")
# a phrase of fixes: the function of each language
WORDS = {
    "(bar.sync)": _BLOCK,
    "(bar.sync, cute.arch.sync_threads)": _BLOCK,
    "(bar.warp.sync)": _WARP,
    "(bar.warp.sync, `cute.arch.sync_warp`)": _WARP,
    "barrier.cluster.arrive and .wait (cute.arch.cluster_arrive and cluster_wait)": _CLUSTER,
    "(cp.async.wait_group 0)": _CP_ASYNC_WAIT,
    "(mapa)": (
        "cute.make_ptr(cutlass.Int64, cute.arch.map_dsmem_ptr(barrier, rank).toint(), cute.AddressSpace.smem)",
        "",
        "",
        "",
        "cluster.map_shared_rank(&barrier, rank)",
    ),
    "fence.proxy.async (`cute.arch.fence_proxy`)": (
        "cute.arch.fence_proxy",
        "",
        "T.ptx.fence.proxy_async",
        "",
        "cuda::ptx::fence_proxy_async",
    ),
}
_NO_OTHER = ("",) * 4  # of Quadrants, TIRx, Triton and CUDA C++
# Statements: in PTX, then in each language; '' if it has none. {} is a number. Each line is one statement.
STATEMENTS = {
    "barrier of the block": ("bar.sync 0", *_BLOCK),
    "barrier of the warp": ("bar.warp.sync -1", *_WARP),
    "barrier of the cluster": (
        "barrier.cluster.arrive\nbarrier.cluster.wait",
        "cute.arch.cluster_arrive()\ncute.arch.cluster_wait()",
        *_NO_OTHER,
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
    "fence of the cluster": ("fence.acq_rel.cluster", "cute.arch.fence_acq_rel_cluster()", *_NO_OTHER),
    "fence of mbarriers": (
        "fence.mbarrier_init.release.cluster",
        "cute.arch.mbarrier_init_fence()",
        "",
        "T.ptx.fence.mbarrier_init()",
        "",
        "",
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
    "wait for copies": ("cp.async.wait_group 0", *_CP_ASYNC_WAIT),
    "commit of bulk stores": ("cp.async.bulk.commit_group", "cute.arch.cp_async_bulk_commit_group()", *_NO_OTHER),
    "wait for reads of bulk stores": (
        "cp.async.bulk.wait_group.read 0",
        "cute.arch.cp_async_bulk_wait_group(0, read=True)",
        *_NO_OTHER,
    ),
    "wait for bulk stores": ("cp.async.bulk.wait_group 0", "cute.arch.cp_async_bulk_wait_group(0)", *_NO_OTHER),
    "fence of a wgmma": ("wgmma.fence.sync.aligned", "cute.nvgpu.warpgroup.fence()", *_NO_OTHER),
    "commit of a wgmma": ("wgmma.commit_group.sync.aligned", "cute.nvgpu.warpgroup.commit_group()", *_NO_OTHER),
    "wait for a wgmma": ("wgmma.wait_group.sync.aligned {}", "cute.nvgpu.warpgroup.wait_group({})", *_NO_OTHER),
}
OF_ALL = frozenset({"barrier of the block", "barrier of the cluster"})  # that all threads have to come to
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
    "a release": {None: (r"\b(st|red|atom|mbarrier\.\w+)\.relaxed\b", r"\1.release")},
    "an acquire": {None: (r"\b(ld|atom)\.relaxed\b", r"\1.acquire")},
    "an arrival for the cluster": {
        None: (r"\b(mbarrier\.arrive(?:_drop)?)(?:\.release\.cta)?(?!\.release|\.relaxed)", r"\1.release.cluster")
    },
    "the scope of the GPU": {
        None: (r"(?<=\.)(cta|cluster)(?=\.)", "gpu"),
        CUTE: (r"(?<=[\"'])(cta|cluster)(?=[\"'])", "gpu"),
    },
    "a load of what may change": {None: (r"\bld\.global((?:\.[\w:]+)*?)\.nc\b", r"ld.global\1")},
}


def translated(fix: str, file: str) -> str:
    """The fix in the language of the file of the author's line; `file` is '' where none is known."""
    language = of(file)
    if language is None:
        return fix
    for phrase, functions in WORDS.items():
        if functions[language]:
            name = f"`{functions[language]}`"
            fix = fix.replace(phrase, f"({name})" if phrase.startswith("(") else name)
    return fix


@functools.lru_cache(64)
def of(file: str) -> int | None:
    """The language of a source file, by its name and imports; None if it is not known."""
    if file.endswith((".cu", ".cuh")):
        return CUDA
    text = "".join(linecache.getlines(file)) if file.endswith(".py") else ""
    return next((language for language, name in _IMPORTS.items() if re.search(_IMPORT.format(name), text)), None)


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
    usual, module = _MODULES[language]
    alias = _alias(module, text)
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
