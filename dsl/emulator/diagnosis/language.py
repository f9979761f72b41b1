"""The words of the author's language for the instructions that a fix asks for.

Fixes are written for PTX. They name the function that the author calls, if the program is of a DSL, of Triton or of
CUDA C++; an instruction for which a language has no function keeps its name.
"""

from __future__ import annotations

import functools
import linecache
import re

CUTE, QUADRANTS, TIRX, TRITON, CUDA = range(5)
_IMPORTS = {CUTE: "cutlass", QUADRANTS: "quadrants", TIRX: "tvm", TRITON: "triton"}
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
# a phrase of fixes: the function of each language
WORDS = {
    "(bar.sync)": _BLOCK,
    "(bar.sync, cute.arch.sync_threads)": _BLOCK,
    "(bar.warp.sync)": _WARP,
    "(bar.warp.sync, `cute.arch.sync_warp`)": _WARP,
    "barrier.cluster.arrive and .wait (cute.arch.cluster_arrive and cluster_wait)": _CLUSTER,
    "(cp.async.wait_group 0)": ("cute.arch.cp_async_wait_group(0)", "", "", "", "__pipeline_wait_prior(0)"),
    "fence.proxy.async (`cute.arch.fence_proxy`)": (
        "cute.arch.fence_proxy",
        "",
        "",
        "",
        "cuda::ptx::fence_proxy_async",
    ),
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
