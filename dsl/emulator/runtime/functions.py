"""The functions of the runtime that generated code calls, and the types that LLVM sees;
tests/emulator/runtime/test_functions.py compares them with what clang makes of the C++."""

from __future__ import annotations

import itertools

from dsl.emulator.runtime import fragments, rounding
from dsl.emulator.runtime.fragments import Mma
from dsl.emulator.runtime.tensor_core import TENSOR_CORES, is_modelled

_KEPT = "ptr captures(none)"
_NOTE = "i32 (ptr, i32, i32, i64, i32)"


def of_mma(form: Mma, core: str) -> str:
    """What computes a form of mma for a warp, as the tensor cores of that name do."""
    return f"emu_{form.name}" + f"_{core}" * is_modelled(form)


def of_matrices(instruction: str, count: int, transposes: bool) -> str:
    """The same of ldmatrix and stmatrix."""
    return f"emu_{instruction}_x{count}" + "_trans" * transposes


MOVMATRIX = "emu_movmatrix_trans"


def _of_warps() -> set[str]:
    """All that a warp's lanes compute together."""
    forms = [Mma(*shape, *types) for shape, rows in fragments.SHAPES.items() for types in rows]
    forms += [Mma(form.m, form.n, form.k, form.a, form.b, form.c, True) for form in forms if form.c == "s32"]
    matrices = itertools.product(("ldmatrix", "stmatrix"), (1, 2, 4), (False, True))
    return {of_mma(form, core) for form in forms for core in TENSOR_CORES} | {of_matrices(*each) for each in matrices}


SIGNATURES = {
    # check/bounds.cc
    "emu_fault": "void (ptr, i32, i32, i32, i64, i64, i64)",
    "emu_slow": "{ i64, i64 } (ptr, i64, i64, i32, i32, i32)",
    "emu_fits": "i1 (ptr, i64, i64, i64, i32, i32)",
    "emu_range": "i1 (ptr, i64, i64, i64, i32, i32, i32)",
    # blocks.cc, clusters.cc
    "emu_run_grid": "void (ptr, ptr)",
    "emu_cluster_wake": "void (ptr)",
    "emu_run_clusters": "void (ptr, ptr)",
    "emu_cluster_bad": "void (ptr, i32, i32, i64, i64, i32)",
    "emu_cluster_rank": "i32 (ptr, i64)",
    # stop_flag.cc: it touches nothing that a kernel's code reads otherwise, so that loops keep in registers what they
    # had there
    "emu_take_signals": "i32 (i64) nounwind memory(inaccessiblemem: readwrite)",
    # schedule.cc, thread_start.cc, thread_exit.cc
    "emu_wait_warp": "i32 (ptr, i32, i32, i32, i64, i32, i32, i32)",
    "emu_exit": "void (ptr, i32)",
    "emu_run_block": "void (ptr, ptr)",
    "emu_frame": "ptr (ptr, i32, i64)",
    "emu_leave": f"i32 (ptr, {_KEPT}, {_KEPT}, {_KEPT}, {_KEPT}, {_KEPT})",
    # warp_collectives.cc, barriers.cc
    "emu_wait_active": "void (ptr, i32, i32)",
    "emu_wait_barrier": "i32 (ptr, i32, i32, i32, i32, i32)",
    "emu_arrive": "i32 (ptr, i32, i32, i32, i32)",
    "emu_arrive_cluster": "i32 (ptr, i32, i32)",
    "emu_wait_cluster": "i32 (ptr, i32, i32)",
    # mbarrier_log.cc
    **{f"emu_note_{what}": _NOTE for what in (0, 1, 2, 4, 6, 8, 16, 32)},
    "emu_no_mbarrier": _NOTE,
    # cp_async_queue.cc
    "emu_queue_copy": "void (ptr, i32, i64, i64, i32, i32)",
    "emu_queue_commit": "void (ptr, i32)",
    "emu_queue_wait": "void (ptr, i32, i32)",
    # bulk_copies.cc, box_copies.cc, tensor_map_fields.cc
    "emu_bulk_copy": "i32 (ptr, i32, i32, i32, i64, i64, i32, i64, i32)",
    "emu_bulk_box": f"i32 (ptr, i32, i32, i32, i64, i64, i64, i32, i32{', i32' * 8})",
    "emu_bulk_peer": "i32 (ptr, i32, i32, i32, i64, i64, i32, i64)",
    "emu_async_store": "i32 (ptr, i32, i32, i32, i64, i64, i32, i64, i64)",
    "emu_bulk_commit": "void (ptr, i32)",
    "emu_bulk_wait": "void (ptr, i32, i32)",
    "emu_bulk_exit": "void (ptr, i32)",
    "emu_bulk_arrive": "void (ptr)",
    "emu_box_bytes": "i32 (i64)",
    "emu_map_replace": "i32 (ptr, i64, i32, i32, i64, i32, i32)",
    # mma.cc, wgmma.cc
    **dict.fromkeys(sorted(_of_warps() | {MOVMATRIX}), "void (ptr, i32)"),
    "emu_wgmma": "void (ptr, i32)",
    # rounding.cc
    **rounding.SIGNATURES,
    # relaunch.cc
    "emu_relaunch": "i32 (ptr, ptr, ptr, ptr)",
    "emu_take": "i32 (ptr)",
    # check/shadow
    "emu_near": "void (ptr, i64)",
    "emu_begin_checks": "void (ptr)",
    # check/race
    "emu_race": "i32 (ptr, i32, i32, i64, i32, i32)",
    "emu_order": "i32 (ptr, i32, i32, i64, i64)",
    "emu_free_entries": "void (ptr)",
    "emu_race_landed": "void (ptr, i32, i64, i32)",
    # check/block_meetings
    "emu_order_barrier": "void (ptr, i32)",
    # check/trail
    "emu_trail": "void (ptr, i32, i32, i64)",
    "emu_round": "void (ptr, i32)",
    # check/undefined
    "emu_unwritten": "i32 (ptr, i64, i32)",
    "emu_written": "void (ptr, i32, i32, i64, i32, i64)",
    "emu_undefined": "i32 (ptr, i32, i32, i64, i32)",
    "emu_landed": "void (ptr, i32, i64, i32)",
    # check/wgmma_reads
    "emu_matrix_read": "i32 (ptr, i32, i32, i64)",
    "emu_matrix_written": "i32 (ptr, i32, i32, i64, i32)",
    # check/bulk_flight
    "emu_bulk_proxied": "i32 (ptr, i32, i32, i64, i32)",
    "emu_bulk_begins": "i32 (ptr, i32, i32, i64, i32, i32, i64, i32, i64)",
    "emu_map_asked": "i32 (ptr, i32, i32, i64, i32)",
}
