"""The functions of the C++ that generated code calls, with their types in LLVM.

tests/emulator/machine/test_functions.py compares them with what clang makes of the C++.
"""

from __future__ import annotations

import functools

from dsl.emulator import families

_KEPT = "ptr captures(none)"
_OWN = {
    "emu_fault": "void (ptr, i32, i32, i32, i64, i64, i64)",
    "emu_slow": "{ i64, i64 } (ptr, i64, i64, i32, i32, i32)",
    "emu_fits": "i1 (ptr, i64, i64, i64, i32, i32)",
    "emu_range": "i1 (ptr, i64, i64, i64, i32, i32, i32)",
    "emu_run_grid": "void (ptr, ptr)",
    # It touches nothing that a kernel's code reads otherwise, so that loops keep in registers what they
    # had there
    "emu_take_signals": "i32 (i64) nounwind memory(inaccessiblemem: readwrite)",
    "emu_exit": "void (ptr, i32)",
    "emu_run_block": "void (ptr, ptr)",
    "emu_frame": "ptr (ptr, i32, i64)",
    "emu_leave": f"i32 (ptr, {_KEPT}, {_KEPT}, {_KEPT})",
    "emu_trim": f"void (ptr, {_KEPT}, {_KEPT})",
    "emu_relaunch": "i32 (ptr, ptr, ptr, ptr)",
    "emu_take": "i32 (ptr)",
    # of check/
    "emu_near": "void (ptr, i64)",
    "emu_begin_checks": "void (ptr)",
    "emu_race": "i32 (ptr, i32, i32, i64, i32, i32)",
    "emu_order": "i32 (ptr, i32, i32, i64, i64)",
    "emu_free_entries": "void (ptr)",
    "emu_race_landed": "void (ptr, i32, i64, i32)",
    "emu_trail": "void (ptr, i32, i32, i64)",
    "emu_round": "void (ptr, i32)",
    "emu_unwritten": "i32 (ptr, i64, i32, i32)",
    "emu_written": "void (ptr, i32, i32, i64, i32, i64)",
    "emu_undefined": "i32 (ptr, i32, i32, i64, i32)",
    "emu_given": "void (ptr, i32)",
    "emu_landed": "void (ptr, i32, i64, i32)",
}


@functools.cache
def signatures() -> dict[str, str]:
    """The types of each function by name, for all families too."""
    return {**_OWN, **{name: types for each in families.parts("functions") for name, types in each.SIGNATURES.items()}}
