"""The names of T, T.cuda and T.ptx by namespace, and names of CUDA C++ with their equivalents in T."""

from __future__ import annotations

from typing import Any

NAMESPACES: dict[str, dict[str, Any]] = {}  # of "T", "T.cuda" and "T.ptx": script.tirx enters them
CUDA_NAMES = {
    "threadIdx": "T.thread_id([...])",
    "blockIdx": "T.cta_id([...])",
    "blockDim": "the extents of T.thread_id",
    "gridDim": "the extents of T.cta_id",
    "__syncthreads": "T.cuda.cta_sync()",
    "syncthreads": "T.cuda.cta_sync()",
    "__syncwarp": "T.cuda.warp_sync()",
    "syncwarp": "T.cuda.warp_sync()",
    "atomicAdd": "T.cuda.atomic_add(A.ptr_to([i]), x)",
    "atomicCAS": "T.cuda.atomic_cas(...)",
    "fabsf": "T.abs(x)",
    "expf": "T.exp(x)",
    "sqrtf": "T.sqrt(x)",
    "printf": "T.cuda.printf(...)",
}
