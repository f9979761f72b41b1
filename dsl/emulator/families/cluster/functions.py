"""Functions of the C++ that generated code calls, with their types in LLVM: see machine/functions.py."""

from __future__ import annotations

SIGNATURES = {
    "emu_cluster_wake": "void (ptr)",
    "emu_run_clusters": "void (ptr, ptr)",
    "emu_cluster_bad": "void (ptr, i32, i32, i64, i64, i32)",
    "emu_cluster_rank": "i32 (ptr, i64)",
    "emu_arrive_cluster": "i32 (ptr, i32, i32)",
    "emu_wait_cluster": "i32 (ptr, i32, i32)",
}
