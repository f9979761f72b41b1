"""Functions of the C++ that generated code calls, with their types in LLVM: see machine/functions.py."""

from __future__ import annotations

_KEPT = "ptr captures(none)"
SIGNATURES = {
    "emu_wait_warp": "i32 (ptr, i32, i32, i32, i64, i32, i32, i32)",
    "emu_collect": f"void (ptr, i32, {_KEPT}, {_KEPT}, i32, {_KEPT}, i32, {_KEPT}, i32, {_KEPT}, {_KEPT})",
    "emu_wait_active": "void (ptr, i32, i32)",
}
